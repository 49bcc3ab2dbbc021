//! The parser: precedence climbing, with the type of every operand checked on the way.
mod interval;
mod operators;
pub(crate) mod precedence;

use crate::error::ParseError;
use crate::lex::{Token, TokenKind, tokens};
use crate::limits::{MAX_DEPTH, MAX_NODES, MAX_TEXT_BYTES};
use crate::syntax::{Aggregate, Arithmetic, Formula, Id, Node, Temporal, UNBOUNDED};
use operators::{Infix, OperandType, aggregate, temporal};

const OPERAND: &str = "a signal, a number, `not`, a temporal operator or `(`";
const NUMERIC: &str = "a number, a signal or `(`";
const COMPARE: &str = "a comparison (`>=`, `>`, `<=`, `<`, `==`, `!=`)";
const CONNECT: &str = "`and`, `or`, `implies`, `iff`, `xor`, `until`, `since`, `)` or the end of the formula";
const EXTEND: &str = "a comparison, an arithmetic operator or `)`";

impl Formula {
    /// Parses a formula. Names in `constants` are replaced by their values; every other name is a signal.
    ///
    /// Time bounds are in seconds unless they carry a unit (`s`, `ms`); `inf` leaves the upper bound open.
    ///
    /// # Errors
    /// [`ParseError`] at the first column where the text is not a formula or exceeds a limit of this crate
    /// ([`MAX_TEXT_BYTES`], [`MAX_DEPTH`], [`MAX_NODES`], [`MAX_TEMPORAL`](crate::MAX_TEMPORAL)).
    pub fn parse(text: &str, constants: &[(&str, f64)]) -> Result<Self, ParseError> {
        if text.len() > MAX_TEXT_BYTES {
            let expected = format!("a formula of at most {MAX_TEXT_BYTES} bytes");
            return Err(ParseError { column: 1, expected, found: format!("{} bytes", text.len()) });
        }
        let formula = Formula { nodes: Vec::new(), root: 0, signals: Vec::new() };
        let mut parser =
            Parser { tokens: tokens(text)?, at: 0, depth: 0, temporal: 0, aggregates: 0, constants, formula };
        let (root, kind) = parser.expression(0)?;
        if kind == OperandType::Number {
            return Err(parser.unexpected(COMPARE));
        }
        if parser.peek().kind != TokenKind::End {
            return Err(parser.unexpected(CONNECT));
        }
        parser.formula.root = root;
        Ok(parser.formula)
    }
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    depth: usize,
    temporal: usize,
    /// Number of aggregates that enclose the cursor.
    aggregates: usize,
    constants: &'a [(&'a str, f64)],
    formula: Formula,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens[self.at]
    }

    /// Returns the current token and moves past it, but not past the end.
    fn take(&mut self) -> Token<'a> {
        let token = self.tokens[self.at];
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn unexpected(&self, expected: &str) -> ParseError {
        error(self.peek(), expected)
    }

    fn symbol(&mut self, symbol: &'static str, expected: &str) -> Result<(), ParseError> {
        if self.peek().kind != TokenKind::Symbol(symbol) {
            return Err(self.unexpected(expected));
        }
        self.take();
        Ok(())
    }

    fn add(&mut self, node: Node) -> Result<Id, ParseError> {
        if self.formula.nodes.len() >= MAX_NODES {
            return Err(self.unexpected(&format!("at most {MAX_NODES} operands and operators in a formula")));
        }
        self.formula.nodes.push(node);
        Ok(self.formula.nodes.len() - 1)
    }

    /// Parses an expression all of whose outer operators bind at least as tightly as `least`.
    fn expression(&mut self, least: u8) -> Result<(Id, OperandType), ParseError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.unexpected(&format!("at most {MAX_DEPTH} levels of nesting")));
        }
        let (mut left, mut sort) = self.operand()?;
        while let Some(op) = Infix::read(self.peek().kind) {
            let own = op.precedence();
            if own < least {
                break;
            }
            if sort != op.operands() {
                return Err(self.unexpected(if sort == OperandType::Number { COMPARE } else { CONNECT }));
            }
            (left, sort) = self.infix(op, left)?;
            let next = Infix::read(self.peek().kind);
            if !op.chains() && next.is_some_and(|next| next.precedence() == own) {
                return Err(self.unexpected("parentheses: this operator does not chain"));
            }
        }
        self.depth -= 1;
        Ok((left, sort))
    }

    /// Parses the operator at the cursor and its right side.
    fn infix(&mut self, op: Infix, left: Id) -> Result<(Id, OperandType), ParseError> {
        self.take();
        let interval = if let Infix::Pair(_) = op { self.temporal_interval()? } else { UNBOUNDED };
        let right = self.operand_of(op.operands(), op.precedence() + 1)?;
        Ok(match op {
            Infix::Arithmetic(op) => (self.add(Node::Arithmetic(op, left, right))?, OperandType::Number),
            Infix::Compare(op) => (self.add(Node::Compare(op, left, right))?, OperandType::Truth),
            Infix::Logic(op) => (self.add(Node::Logic(op, left, right))?, OperandType::Truth),
            Infix::Pair(op) => (self.add(Node::Pair(op, interval, left, right))?, OperandType::Truth),
        })
    }

    /// Parses an expression that must be of the type `wanted`.
    fn operand_of(&mut self, wanted: OperandType, least: u8) -> Result<Id, ParseError> {
        let start = self.peek();
        let (id, sort) = self.expression(least)?;
        match (wanted, sort) {
            (OperandType::Truth, OperandType::Number) => Err(self.unexpected(COMPARE)),
            (OperandType::Number, OperandType::Truth) => {
                Err(ParseError { found: "a formula".to_owned(), ..error(start, NUMERIC) })
            }
            _ => Ok(id),
        }
    }

    /// Parses a number, a name, or a prefix operator with its operand.
    fn operand(&mut self) -> Result<(Id, OperandType), ParseError> {
        let token = self.peek();
        match token.kind {
            TokenKind::Number(value) => {
                self.take();
                Ok((self.add(Node::Number(value))?, OperandType::Number))
            }
            TokenKind::Symbol("(") => {
                self.take();
                let inner = self.expression(0)?;
                self.symbol(")", if inner.1 == OperandType::Number { EXTEND } else { CONNECT })?;
                Ok(inner)
            }
            TokenKind::Symbol("-") => {
                self.take();
                let operand = self.operand_of(OperandType::Number, precedence::MINUS)?;
                if let Node::Number(value) = &mut self.formula.nodes[operand] {
                    *value = -*value;
                    return Ok((operand, OperandType::Number));
                }
                Ok((self.add(Node::Minus(operand))?, OperandType::Number))
            }
            TokenKind::Symbol("!") | TokenKind::Word("not") => {
                self.take();
                let operand = self.operand_of(OperandType::Truth, precedence::NOT)?;
                Ok((self.add(Node::Not(operand))?, OperandType::Truth))
            }
            TokenKind::Word(word) => self.word(word),
            TokenKind::Name(name) => {
                self.take();
                let node = Node::Signal(self.signal(name));
                Ok((self.add(node)?, OperandType::Number))
            }
            _ => Err(self.unexpected(OPERAND)),
        }
    }

    fn word(&mut self, word: &'a str) -> Result<(Id, OperandType), ParseError> {
        if let Some(op) = temporal(word) {
            self.take();
            let interval = self.temporal_interval()?;
            if op == Temporal::Next && interval != UNBOUNDED {
                self.at -= 1;
                return Err(self.unexpected("no time bound after `next`"));
            }
            let operand = self.operand_of(OperandType::Truth, precedence::NOT)?;
            return Ok((self.add(Node::Temporal(op, interval, operand))?, OperandType::Truth));
        }
        if Infix::read(TokenKind::Word(word)).is_some() {
            return Err(self.unexpected(OPERAND));
        }
        let token = self.take();
        if let (Some(op), TokenKind::Symbol("[" | "(")) = (aggregate(word), self.peek().kind) {
            return Ok((self.aggregate(op)?, OperandType::Number));
        }
        match word {
            "abs" => {
                let [operand] = self.arguments()?;
                Ok((self.add(Node::Abs(operand))?, OperandType::Number))
            }
            "min" | "max" => {
                let op = if word == "min" { Arithmetic::Min } else { Arithmetic::Max };
                let [a, b] = self.arguments()?;
                Ok((self.add(Node::Arithmetic(op, a, b))?, OperandType::Number))
            }
            _ => {
                let node = match self.constant(token)? {
                    Some(value) => Node::Number(value),
                    None => Node::Signal(self.signal(word)),
                };
                Ok((self.add(node)?, OperandType::Number))
            }
        }
    }

    fn constant(&self, token: Token<'_>) -> Result<Option<f64>, ParseError> {
        let Some((_, value)) = self.constants.iter().find(|(name, _)| *name == token.text) else { return Ok(None) };
        if !value.is_finite() {
            return Err(ParseError { found: format!("{value}"), ..error(token, "a constant with a finite value") });
        }
        Ok(Some(*value))
    }

    fn signal(&mut self, name: &str) -> usize {
        let signals = &mut self.formula.signals;
        signals.iter().position(|known| known == name).unwrap_or_else(|| {
            signals.push(name.to_owned());
            signals.len() - 1
        })
    }

    /// Parses the window and the operand of an aggregate.
    fn aggregate(&mut self, op: Aggregate) -> Result<Id, ParseError> {
        let interval = self.aggregate_interval()?;
        self.symbol("(", "`(`")?;
        self.aggregates += 1;
        let operand =
            self.operand_of(if op == Aggregate::Mean { OperandType::Number } else { OperandType::Truth }, 0)?;
        self.aggregates -= 1;
        self.symbol(")", "`)`")?;
        self.add(Node::Aggregate(op, interval, operand))
    }

    /// Parses `(a, b, ..)` with exactly `N` arguments.
    fn arguments<const N: usize>(&mut self) -> Result<[Id; N], ParseError> {
        self.symbol("(", "`(`")?;
        let mut out = [0; N];
        for (i, slot) in out.iter_mut().enumerate() {
            if i > 0 {
                self.symbol(",", "`,` and another argument")?;
            }
            *slot = self.operand_of(OperandType::Number, 0)?;
        }
        self.symbol(")", "`)`")?;
        Ok(out)
    }
}

fn error(token: Token<'_>, expected: &str) -> ParseError {
    ParseError { column: token.column, expected: expected.to_owned(), found: token.shown() }
}
