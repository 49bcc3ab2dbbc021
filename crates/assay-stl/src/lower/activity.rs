//! The second formula, which tells whether the first was exercised at all.
use super::{Form, Lower, meaning};
use crate::error::BindError;
use crate::fold::Fold;
use crate::plan::{Op, OpId, Steps};
use crate::syntax::{Id, Logic, Node, Pair};

/// When a formula counts as exercised.
#[derive(Debug, Clone, Copy)]
pub(super) enum Activity {
    Always,
    Op(OpId),
}

impl Lower<'_> {
    /// Where node `id` is exercised: its predicates always are, an implication where its premise holds, a temporal
    /// operator where its operand is, somewhere in its window.
    pub(super) fn active(&mut self, id: Id) -> Result<Activity, BindError> {
        Ok(match self.formula.nodes[id] {
            Node::Not(kid) => self.active(kid)?,
            Node::Logic(Logic::Implies, a, b) => {
                let premise = self.node(a, Form { positive: true, crisp: true })?;
                match self.active(b)? {
                    Activity::Always => Activity::Op(premise),
                    Activity::Op(conclusion) => Activity::Op(self.pick(Fold::Min, &[premise, conclusion])),
                }
            }
            Node::Logic(_, a, b) => self.either(a, b)?,
            Node::Temporal(temporal, interval, kid) => {
                let (_, ahead) = meaning(temporal);
                let (steps, kid) = (self.steps(temporal, interval)?, self.active(kid)?);
                self.somewhere(ahead, steps, kid)
            }
            Node::Pair(pair, interval, a, b) => {
                let (steps, kid) = (self.interval(interval)?, self.either(a, b)?);
                self.somewhere(pair == Pair::Until, steps, kid)
            }
            _ => Activity::Always,
        })
    }

    fn either(&mut self, a: Id, b: Id) -> Result<Activity, BindError> {
        Ok(match (self.active(a)?, self.active(b)?) {
            (Activity::Op(a), Activity::Op(b)) => Activity::Op(self.pick(Fold::Max, &[a, b])),
            _ => Activity::Always,
        })
    }

    fn somewhere(&mut self, ahead: bool, steps: Steps, kid: Activity) -> Activity {
        let fold = Fold::Max;
        let kid = match kid {
            Activity::Always if steps.from == 0 => return Activity::Always,
            Activity::Always => self.add(Op::Fixed(f64::INFINITY)),
            Activity::Op(kid) => kid,
        };
        Activity::Op(self.add(if ahead { Op::Ahead { fold, steps, kid } } else { Op::Behind { fold, steps, kid } }))
    }
}
