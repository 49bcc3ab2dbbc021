//! The syntax tree of a formula: an array of nodes, children before parents, so that nothing recurses on the text's
//! depth.

/// Index of a node in its formula.
pub(crate) type Id = usize;

/// A time interval in seconds; `to` is `None` if it is unbounded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Interval {
    pub(crate) from: f64,
    pub(crate) to: Option<f64>,
}

/// The interval of an operator written without one.
pub(crate) const UNBOUNDED: Interval = Interval { from: 0.0, to: None };

/// Operations on numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
}

/// Comparisons of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ComparisonOp {
    Ge,
    Gt,
    Le,
    Lt,
    Eq,
    Ne,
}

/// Operations on two truth values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
    Implies,
    Iff,
    Xor,
}

/// One-sided temporal operators. `Next` has no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Temporal {
    Always,
    Eventually,
    Historically,
    Once,
    Next,
}

/// Two-sided temporal operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pair {
    Until,
    Since,
}

/// Operations over past samples that yield a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aggregate {
    /// The mean of a number.
    Mean,
    /// The time in seconds for which a condition held.
    Duration,
    /// The number of times that a condition began to hold.
    Count,
}

/// One node of a formula.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Number(f64),
    /// Index into [`Formula::signals`].
    Signal(usize),
    Minus(Id),
    Abs(Id),
    Arithmetic(Arithmetic, Id, Id),
    Aggregate(Aggregate, Interval, Id),
    Compare(ComparisonOp, Id, Id),
    Not(Id),
    Logic(Logic, Id, Id),
    Temporal(Temporal, Interval, Id),
    Pair(Pair, Interval, Id, Id),
}

/// A parsed formula. `Display` writes it back in a form that parses to the same formula.
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    pub(crate) nodes: Vec<Node>,
    pub(crate) root: Id,
    pub(crate) signals: Vec<String>,
}

impl Formula {
    /// Returns the names of the signals that it uses, each once, in order of first use.
    pub fn signals(&self) -> &[String] {
        &self.signals
    }
}
