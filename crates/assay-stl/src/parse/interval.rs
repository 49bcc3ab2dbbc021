//! Parsing of `[a:b]` after a temporal operator or an aggregate.
use super::{Parser, error};
use crate::error::ParseError;
use crate::lex::TokenKind;
use crate::limits::MAX_TEMPORAL;
use crate::syntax::{Interval, UNBOUNDED};

impl Parser<'_> {
    /// Parses the optional `[a:b]` after a temporal operator, which is counted here.
    pub(super) fn temporal_interval(&mut self) -> Result<Interval, ParseError> {
        if self.aggregates > 0 {
            self.at -= 1;
            return Err(self.unexpected("no temporal operator inside of `mean`, `duration` or `count`"));
        }
        self.bound_window()
    }

    /// Parses the optional `[0:b]` after an aggregate: the past samples up to the current one.
    pub(super) fn aggregate_interval(&mut self) -> Result<Interval, ParseError> {
        let start = self.peek();
        let interval = self.bound_window()?;
        if interval.from != 0.0 {
            return Err(error(start, "a window that begins at 0"));
        }
        Ok(interval)
    }

    fn bound_window(&mut self) -> Result<Interval, ParseError> {
        self.temporal += 1;
        if self.temporal > MAX_TEMPORAL {
            return Err(self.unexpected(&format!("at most {MAX_TEMPORAL} temporal operators in a formula")));
        }
        if self.peek().kind != TokenKind::Symbol("[") {
            return Ok(UNBOUNDED);
        }
        self.take();
        let from = self.time(false)?;
        match self.peek().kind {
            TokenKind::Symbol(":" | ",") => self.take(),
            _ => return Err(self.unexpected("`:` or `,` and an upper bound, or a unit (`s`, `ms`)")),
        };
        let start = self.peek();
        let to = self.time(true)?;
        if to < from {
            return Err(error(start, &format!("an upper bound of at least {from} s")));
        }
        self.symbol("]", "`]` or a unit (`s`, `ms`)")?;
        Ok(Interval { from, to: to.is_finite().then_some(to) })
    }

    /// Parses a time in seconds; `inf` is accepted only if `open`.
    fn time(&mut self, open: bool) -> Result<f64, ParseError> {
        let expected =
            if open { "a time bound (a number, a constant or `inf`)" } else { "a time bound (a number or a constant)" };
        let token = self.peek();
        let value = match token.kind {
            TokenKind::Number(value) => value,
            TokenKind::Word("inf") if open => f64::INFINITY,
            TokenKind::Word(_) => match self.constant(token)? {
                Some(value) if value >= 0.0 => value,
                Some(value) => {
                    return Err(ParseError { found: format!("{value}"), ..error(token, "a time bound of at least 0") });
                }
                None => return Err(self.unexpected(expected)),
            },
            _ => return Err(self.unexpected(expected)),
        };
        self.take();
        let scale = match self.peek().kind {
            TokenKind::Word("s") => 1.0_f64,
            TokenKind::Word("ms") => 1000.0,
            _ => return Ok(value),
        };
        self.take();
        Ok(value / scale)
    }
}
