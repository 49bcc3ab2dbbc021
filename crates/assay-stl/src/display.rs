//! Formatting of formulas, with the parentheses that operator precedence requires.
use std::fmt;

use crate::parse::precedence;
use crate::syntax::{
    Aggregate, Arithmetic, ComparisonOp, Formula, Id, Interval, Logic, Node, Pair, Temporal, UNBOUNDED,
};

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
            Node::Signal(index) => show_name(f, &self.signals[*index])?,
            Node::Minus(operand) => self.prefix(f, "-", *operand, precedence::MINUS)?,
            Node::Abs(operand) => self.prefix(f, "abs", *operand, u8::MAX)?,
            Node::Arithmetic(op @ (Arithmetic::Min | Arithmetic::Max), a, b) => {
                f.write_str(if *op == Arithmetic::Min { "min(" } else { "max(" })?;
                self.show(f, *a, 0)?;
                f.write_str(", ")?;
                self.show(f, *b, 0)?;
                f.write_str(")")?;
            }
            Node::Arithmetic(op, a, b) => self.infix(f, arithmetic(*op), UNBOUNDED, [(*a, own), (*b, own + 1)])?,
            Node::Aggregate(op, interval, operand) => {
                f.write_str(aggregate(*op))?;
                show_interval(f, *interval)?;
                f.write_str("(")?;
                self.show(f, *operand, 0)?;
                f.write_str(")")?;
            }
            Node::Compare(op, a, b) => self.infix(f, comparison(*op), UNBOUNDED, [(*a, own + 1), (*b, own + 1)])?,
            Node::Not(operand) => self.prefix(f, "not ", *operand, precedence::NOT)?,
            Node::Logic(op, a, b) => {
                let left = own + u8::from(*op == Logic::Implies);
                self.infix(f, logic(*op), UNBOUNDED, [(*a, left), (*b, own + 1)])?;
            }
            Node::Temporal(op, interval, operand) => {
                f.write_str(temporal(*op))?;
                show_interval(f, *interval)?;
                // A comparison needs no parentheses, but reads better with them.
                let bare = !matches!(self.nodes[*operand], Node::Compare(..));
                self.prefix(f, " ", *operand, if bare { precedence::NOT } else { u8::MAX })?;
            }
            Node::Pair(op, interval, a, b) => {
                let word = if *op == Pair::Until { "until" } else { "since" };
                self.infix(f, word, *interval, [(*a, own + 1), (*b, own + 1)])?;
            }
        }
        f.write_str(if wrapped { ")" } else { "" })
    }

    fn prefix(&self, f: &mut fmt::Formatter<'_>, word: &str, operand: Id, least: u8) -> fmt::Result {
        f.write_str(word)?;
        self.show(f, operand, least)
    }

    fn infix(
        &self,
        f: &mut fmt::Formatter<'_>,
        word: &str,
        interval: Interval,
        operands: [(Id, u8); 2],
    ) -> fmt::Result {
        self.show(f, operands[0].0, operands[0].1)?;
        write!(f, " {word}")?;
        show_interval(f, interval)?;
        f.write_str(" ")?;
        self.show(f, operands[1].0, operands[1].1)
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

/// Writes the name of a signal, in quotation marks unless it is read as one without them.
fn show_name(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    let alone = Formula::parse(&format!("{name} > 0"), &[]);
    let is_plain = alone.is_ok_and(|formula| formula.nodes.len() == 3 && formula.signals == [name]);
    if is_plain { f.write_str(name) } else { write!(f, "\"{name}\"") }
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

fn comparison(op: ComparisonOp) -> &'static str {
    match op {
        ComparisonOp::Ge => ">=",
        ComparisonOp::Gt => ">",
        ComparisonOp::Le => "<=",
        ComparisonOp::Lt => "<",
        ComparisonOp::Eq => "==",
        ComparisonOp::Ne => "!=",
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
