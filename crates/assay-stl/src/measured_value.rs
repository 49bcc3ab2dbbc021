//! Conversion of a margin back to the quantity that was compared with a limit.
use crate::syntax::{ComparisonOp, Formula, Node, Temporal, UNBOUNDED};

impl Formula {
    /// Returns the measured quantity that gives the margin `robustness`, in the quantity's unit: `limit - robustness`
    /// for `always (x <= limit)`, `limit + robustness` for `always (x >= limit)`. `None` for any other formula, and
    /// for a margin that is not finite.
    pub fn measured_value(&self, robustness: f64) -> Option<f64> {
        let body = match &self.nodes[self.root] {
            Node::Temporal(Temporal::Always, interval, body) if *interval == UNBOUNDED => *body,
            _ => self.root,
        };
        let Node::Compare(comparison, _, right) = &self.nodes[body] else { return None };
        let Node::Number(limit) = &self.nodes[*right] else { return None };
        let measured = match comparison {
            ComparisonOp::Le | ComparisonOp::Lt => limit - robustness,
            ComparisonOp::Ge | ComparisonOp::Gt => limit + robustness,
            ComparisonOp::Eq | ComparisonOp::Ne => return None,
        };
        measured.is_finite().then_some(measured)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use crate::Formula;

    fn measured(text: &str, robustness: f64) -> Option<f64> {
        Formula::parse(text, &[("limit", 50.0)]).unwrap().measured_value(robustness)
    }

    #[test]
    fn comparisons_with_a_limit() {
        assert_eq!(measured("always (force <= limit)", -12.0), Some(62.0));
        assert_eq!(measured("always (abs(force) < limit)", 10.0), Some(40.0));
        assert_eq!(measured("always (gap >= limit)", -1.0), Some(49.0));
        assert_eq!(measured("gap > 2", 1.0), Some(3.0));
        assert_eq!(measured("always (force <= other)", 1.0), None);
        assert_eq!(measured("always[0:1] (force <= limit)", 1.0), None);
        assert_eq!(measured("always (a > 1 and b > 1)", 1.0), None);
        assert_eq!(measured("always (force <= limit)", f64::NEG_INFINITY), None);
    }
}
