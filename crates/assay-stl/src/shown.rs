//! Formulas as text, with the parentheses their precedence needs.
use std::fmt;

use crate::parse::precedence;
use crate::syntax::{Aggregate, Arithmetic, Comparison, Formula, Id, Interval, Logic, Node, Pair, Temporal, UNBOUNDED};

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show(f, self.root, 0)
    }
}

impl Formula {
    /// Writes node `id`, in parentheses where it binds less tightly than `least`.
    fn show(&self, f: &mut fmt::Formatter<'_>, id: Id, least: u8) -> fmt::Result {
        let own = self.binding(id);
        let wrapped = own < least;
        f.write_str(if wrapped { "(" } else { "" })?;
        match &self.nodes[id] {
            Node::Number(value) => write!(f, "{value:?}")?,
            Node::Signal(index) => f.write_str(&self.signals[*index])?,
            Node::Minus(kid) => self.prefix(f, "-", *kid, precedence::MINUS)?,
            Node::Abs(kid) => self.prefix(f, "abs", *kid, u8::MAX)?,
            Node::Arithmetic(op @ (Arithmetic::Min | Arithmetic::Max), a, b) => {
                f.write_str(if *op == Arithmetic::Min { "min(" } else { "max(" })?;
                self.show(f, *a, 0)?;
                f.write_str(", ")?;
                self.show(f, *b, 0)?;
                f.write_str(")")?;
            }
            Node::Arithmetic(op, a, b) => self.infix(f, arithmetic(*op), UNBOUNDED, [(*a, own), (*b, own + 1)])?,
            Node::Aggregate(op, interval, kid) => {
                f.write_str(aggregate(*op))?;
                show_interval(f, *interval)?;
                f.write_str("(")?;
                self.show(f, *kid, 0)?;
                f.write_str(")")?;
            }
            Node::Compare(op, a, b) => self.infix(f, comparison(*op), UNBOUNDED, [(*a, own + 1), (*b, own + 1)])?,
            Node::Not(kid) => self.prefix(f, "not ", *kid, precedence::NOT)?,
            Node::Logic(op, a, b) => {
                let left = own + u8::from(*op == Logic::Implies);
                self.infix(f, logic(*op), UNBOUNDED, [(*a, left), (*b, own + 1)])?;
            }
            Node::Temporal(op, interval, kid) => {
                f.write_str(temporal(*op))?;
                show_interval(f, *interval)?;
                // A comparison would need no parentheses, but reads better in them.
                let bare = !matches!(self.nodes[*kid], Node::Compare(..));
                self.prefix(f, " ", *kid, if bare { precedence::NOT } else { u8::MAX })?;
            }
            Node::Pair(op, interval, a, b) => {
                let word = if *op == Pair::Until { "until" } else { "since" };
                self.infix(f, word, *interval, [(*a, own + 1), (*b, own + 1)])?;
            }
        }
        f.write_str(if wrapped { ")" } else { "" })
    }

    fn prefix(&self, f: &mut fmt::Formatter<'_>, word: &str, kid: Id, least: u8) -> fmt::Result {
        f.write_str(word)?;
        self.show(f, kid, least)
    }

    fn infix(&self, f: &mut fmt::Formatter<'_>, word: &str, interval: Interval, kids: [(Id, u8); 2]) -> fmt::Result {
        self.show(f, kids[0].0, kids[0].1)?;
        write!(f, " {word}")?;
        show_interval(f, interval)?;
        f.write_str(" ")?;
        self.show(f, kids[1].0, kids[1].1)
    }

    fn binding(&self, id: Id) -> u8 {
        match &self.nodes[id] {
            // In parentheses only as an argument: `abs(x)`.
            Node::Number(_) | Node::Signal(_) | Node::Minus(_) | Node::Abs(_) | Node::Aggregate(..) => {
                precedence::MINUS
            }
            Node::Arithmetic(op, ..) => precedence::arithmetic(*op),
            Node::Compare(..) => precedence::COMPARISON,
            Node::Not(_) | Node::Temporal(..) => precedence::NOT,
            Node::Logic(op, ..) => precedence::logic(*op),
            Node::Pair(op, ..) => precedence::pair(*op),
        }
    }
}

fn show_interval(f: &mut fmt::Formatter<'_>, interval: Interval) -> fmt::Result {
    match interval.to {
        Some(to) => write!(f, "[{:?}:{to:?}]", interval.from),
        None if interval.from > 0.0 => write!(f, "[{:?}:inf]", interval.from),
        None => Ok(()),
    }
}

fn aggregate(op: Aggregate) -> &'static str {
    match op {
        Aggregate::Mean => "mean",
        Aggregate::Duration => "duration",
        Aggregate::Count => "count",
    }
}

fn arithmetic(op: Arithmetic) -> &'static str {
    match op {
        Arithmetic::Add => "+",
        Arithmetic::Sub => "-",
        Arithmetic::Mul => "*",
        Arithmetic::Div => "/",
        Arithmetic::Min => "min",
        Arithmetic::Max => "max",
    }
}

fn comparison(op: Comparison) -> &'static str {
    match op {
        Comparison::Ge => ">=",
        Comparison::Gt => ">",
        Comparison::Le => "<=",
        Comparison::Lt => "<",
        Comparison::Eq => "==",
        Comparison::Ne => "!=",
    }
}

fn logic(op: Logic) -> &'static str {
    match op {
        Logic::And => "and",
        Logic::Or => "or",
        Logic::Implies => "implies",
        Logic::Iff => "iff",
        Logic::Xor => "xor",
    }
}

fn temporal(op: Temporal) -> &'static str {
    match op {
        Temporal::Always => "always",
        Temporal::Eventually => "eventually",
        Temporal::Historically => "historically",
        Temporal::Once => "once",
        Temporal::Next => "next",
    }
}
