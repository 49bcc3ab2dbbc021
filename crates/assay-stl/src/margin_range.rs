//! Bounds on a formula's margin that follow from the ranges of its signals alone.
use crate::syntax::{Aggregate, Arithmetic, ComparisonOp, Formula, Logic, Node};

/// Least and greatest possible value.
type Range = (f64, f64);

const UNKNOWN: Range = (f64::NEG_INFINITY, f64::INFINITY);

impl Formula {
    /// Returns bounds on the formula's robustness over all traces whose signals keep to `range`, by interval
    /// arithmetic: for signals that occur once they are attained.
    pub fn margin_range(&self, range: impl Fn(&str) -> (f64, f64)) -> (f64, f64) {
        let mut ranges: Vec<Range> = Vec::with_capacity(self.nodes.len());
        // Children precede their parents.
        for node in &self.nodes {
            let of = |id: &usize| ranges[*id];
            ranges.push(match node {
                Node::Number(number) => (*number, *number),
                Node::Signal(index) => range(&self.signals[*index]),
                Node::Minus(a) | Node::Not(a) => negated(of(a)),
                Node::Abs(a) => absolute(of(a)),
                Node::Arithmetic(op, a, b) => arithmetic(*op, of(a), of(b)),
                Node::Aggregate(Aggregate::Mean, _, a) | Node::Temporal(_, _, a) => of(a),
                Node::Aggregate(Aggregate::Duration | Aggregate::Count, _, _) => (0.0, f64::INFINITY),
                Node::Compare(op, a, b) => compared(*op, of(a), of(b)),
                Node::Logic(op, a, b) => logic(*op, of(a), of(b)),
                // The left side can only lower the margin.
                Node::Pair(_, _, a, b) => (of(a).0.min(of(b).0), of(b).1),
            });
        }
        ranges.get(self.root).copied().unwrap_or(UNKNOWN)
    }
}

fn negated((low, high): Range) -> Range {
    (-high, -low)
}

fn absolute((low, high): Range) -> Range {
    let least = if low <= 0.0 && high >= 0.0 { 0.0 } else { low.abs().min(high.abs()) };
    (least, low.abs().max(high.abs()))
}

fn arithmetic(op: Arithmetic, a: Range, b: Range) -> Range {
    match op {
        Arithmetic::Add => known((a.0 + b.0, a.1 + b.1)),
        Arithmetic::Sub => known((a.0 - b.1, a.1 - b.0)),
        Arithmetic::Min => (a.0.min(b.0), a.1.min(b.1)),
        Arithmetic::Max => (a.0.max(b.0), a.1.max(b.1)),
        // Nothing times a value without a bound is nothing.
        Arithmetic::Mul => corners(a, b, |a, b| if a == 0.0 || b == 0.0 { 0.0 } else { a * b }),
        Arithmetic::Div if b.0 > 0.0 || b.1 < 0.0 => corners(a, b, |a, b| a / b),
        Arithmetic::Div => UNKNOWN,
    }
}

fn corners(a: Range, b: Range, op: fn(f64, f64) -> f64) -> Range {
    let all = [op(a.0, b.0), op(a.0, b.1), op(a.1, b.0), op(a.1, b.1)];
    if all.iter().any(|corner| corner.is_nan()) {
        return UNKNOWN;
    }
    (all.into_iter().fold(f64::INFINITY, f64::min), all.into_iter().fold(f64::NEG_INFINITY, f64::max))
}

fn compared(op: ComparisonOp, a: Range, b: Range) -> Range {
    let difference = arithmetic(Arithmetic::Sub, a, b);
    match op {
        ComparisonOp::Ge | ComparisonOp::Gt => difference,
        ComparisonOp::Le | ComparisonOp::Lt => negated(difference),
        ComparisonOp::Eq => negated(absolute(difference)),
        ComparisonOp::Ne => absolute(difference),
    }
}

fn logic(op: Logic, a: Range, b: Range) -> Range {
    match op {
        Logic::And => (a.0.min(b.0), a.1.min(b.1)),
        Logic::Or => (a.0.max(b.0), a.1.max(b.1)),
        Logic::Implies => logic(Logic::Or, negated(a), b),
        Logic::Iff | Logic::Xor => UNKNOWN,
    }
}

/// Replaces an undefined bound (infinity minus infinity) with no bound.
fn known((low, high): Range) -> Range {
    (if low.is_nan() { f64::NEG_INFINITY } else { low }, if high.is_nan() { f64::INFINITY } else { high })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use crate::Formula;

    /// `force` is at least 0, `gap` at most 0.5, `x` anything.
    fn best(text: &str) -> f64 {
        let range = |name: &str| match name {
            "force" => (0.0, f64::INFINITY),
            "gap" => (f64::NEG_INFINITY, 0.5),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        };
        Formula::parse(text, &[("limit", 50.0)]).unwrap().margin_range(range).1
    }

    #[test]
    fn the_best_margin_follows_from_the_ranges() {
        let rows = [
            ("always (force <= limit)", 50.0),
            ("always (max(force / 2, force) <= limit)", 50.0),
            ("always (force <= 2 * limit and mean[0:0.5] (force) <= limit)", 50.0),
            ("always (gap >= 0.1)", 0.4),
            ("always (gap / 0.5 >= 0.1 or x <= limit)", f64::INFINITY),
            ("always (force > 1 implies eventually[0:1] (force <= limit))", 50.0),
            ("always (duration[0:10](gap < 0.15) <= 3)", 3.0),
            ("always (gap - force * force / 3 >= 0)", 0.5),
            ("always (abs(x) <= limit)", 50.0),
            ("always (x <= limit)", f64::INFINITY),
            ("always (1 / force <= limit)", f64::INFINITY),
            ("always (not (force >= limit))", 50.0),
            ("(gap >= 0) until (force <= limit)", 50.0),
        ];
        for (text, expected) in rows {
            assert!(best(text) == expected, "{text}: {}", best(text));
        }
    }
}
