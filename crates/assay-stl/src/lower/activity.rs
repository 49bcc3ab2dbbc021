//! The activity formula, which is positive where the main formula was exercised at all (see
//! `TraceEvaluation::vacuous`).
use super::lowering::{Lowering, NodeForm, meaning};
use crate::error::BindError;
use crate::fold::Fold;
use crate::plan::{Op, OpId, Steps};
use crate::syntax::{Id, Logic, Node, Pair};

/// The samples at which a formula counts as exercised.
#[derive(Debug, Clone, Copy)]
pub(super) enum ExercisedAt {
    Always,
    Op(OpId),
}

impl Lowering<'_> {
    /// Returns where node `id` is exercised: predicates always are, an implication is where its premise holds, a
    /// temporal operator is where its operand is exercised anywhere in its window.
    pub(super) fn active(&mut self, id: Id) -> Result<ExercisedAt, BindError> {
        Ok(match self.formula.nodes[id] {
            Node::Not(operand) => self.active(operand)?,
            Node::Logic(Logic::Implies, a, b) => {
                let premise = self.node(a, NodeForm { positive: true, crisp: true })?;
                match self.active(b)? {
                    ExercisedAt::Always => ExercisedAt::Op(premise),
                    ExercisedAt::Op(conclusion) => ExercisedAt::Op(self.extremum(Fold::Min, &[premise, conclusion])),
                }
            }
            Node::Logic(_, a, b) => self.either(a, b)?,
            Node::Temporal(temporal, interval, operand) => {
                let (_, ahead) = meaning(temporal);
                let (steps, operand) = (self.steps(temporal, interval)?, self.active(operand)?);
                self.somewhere(ahead, steps, operand)
            }
            Node::Pair(pair, interval, a, b) => {
                let (steps, operand) = (self.interval(interval)?, self.either(a, b)?);
                self.somewhere(pair == Pair::Until, steps, operand)
            }
            _ => ExercisedAt::Always,
        })
    }

    fn either(&mut self, a: Id, b: Id) -> Result<ExercisedAt, BindError> {
        Ok(match (self.active(a)?, self.active(b)?) {
            (ExercisedAt::Op(a), ExercisedAt::Op(b)) => ExercisedAt::Op(self.extremum(Fold::Max, &[a, b])),
            _ => ExercisedAt::Always,
        })
    }

    fn somewhere(&mut self, ahead: bool, steps: Steps, operand: ExercisedAt) -> ExercisedAt {
        let fold = Fold::Max;
        let operand = match operand {
            ExercisedAt::Always if steps.from == 0 => return ExercisedAt::Always,
            ExercisedAt::Always => self.add(Op::Fixed(f64::INFINITY)),
            ExercisedAt::Op(operand) => operand,
        };
        ExercisedAt::Op(self.add(if ahead {
            Op::Ahead { fold, steps, operand }
        } else {
            Op::Behind { fold, steps, operand }
        }))
    }
}
