//! Lowering of comparisons and arithmetic to flat programs.
use super::lowering::{Lowering, NodeForm};
use crate::error::BindError;
use crate::plan::{AggregateSource, DerivedColumn, Op, OpId};
use crate::predicate::{Instruction, Predicate, Semantics};
use crate::syntax::{Aggregate, Arithmetic, ComparisonOp, Id, Interval, Node};

impl Lowering<'_> {
    /// Lowers a comparison to a margin that is positive where the comparison, or in a negated form its negation, holds.
    pub(super) fn predicate(
        &mut self,
        comparison: ComparisonOp,
        a: Id,
        b: Id,
        form: NodeForm,
    ) -> Result<OpId, BindError> {
        use ComparisonOp::{Eq, Ge, Gt, Le, Lt, Ne};
        let holds = match (comparison, form.positive) {
            (op, true) => op,
            (Ge, false) => Lt,
            (Gt, false) => Le,
            (Le, false) => Gt,
            (Lt, false) => Ge,
            (Eq, false) => Ne,
            (Ne, false) => Eq,
        };
        let mut code = Vec::new();
        let (first, second) = if matches!(holds, Le | Lt) { (b, a) } else { (a, b) };
        self.number(first, &mut code)?;
        self.number(second, &mut code)?;
        code.push(Instruction::Sub);
        if matches!(holds, Eq | Ne) {
            code.push(Instruction::Abs);
        }
        if holds == Eq {
            code.push(Instruction::Minus);
        }
        let semantics = if form.crisp {
            Semantics::Boolean { strict: matches!(holds, Gt | Lt | Ne) }
        } else {
            Semantics::Quantitative
        };
        self.predicates.push(Predicate::new(code, semantics));
        Ok(self.add(Op::Predicate(self.predicates.len() - 1)))
    }

    /// Appends the code of a number, folding constants.
    fn number(&mut self, id: Id, code: &mut Vec<Instruction>) -> Result<(), BindError> {
        use Instruction::Constant;
        let start = code.len();
        match self.formula.nodes[id] {
            Node::Number(value) => code.push(Constant(value)),
            Node::Signal(index) => code.push(Instruction::Load(self.columns[index])),
            Node::Minus(operand) | Node::Abs(operand) => {
                let step =
                    if matches!(self.formula.nodes[id], Node::Abs(_)) { Instruction::Abs } else { Instruction::Minus };
                self.number(operand, code)?;
                match code[start..] {
                    [Constant(value)] => {
                        code[start] = Constant(if step == Instruction::Abs { value.abs() } else { -value });
                    }
                    _ => code.push(step),
                }
            }
            Node::Arithmetic(op, a, b) => {
                let step = instruction(op);
                self.number(a, code)?;
                self.number(b, code)?;
                match code[start..] {
                    [Constant(a), Constant(b)] => {
                        code.truncate(start);
                        code.push(Constant(step.apply(a, b)));
                    }
                    _ => code.push(step),
                }
            }
            Node::Aggregate(aggregate, interval, operand) => {
                let column = self.derived(aggregate, interval, operand)?;
                code.push(Instruction::Load(column));
            }
            // The parser rejects a formula where a number is expected.
            _ => code.push(Constant(f64::NAN)),
        }
        Ok(())
    }

    /// Adds the derived column of an aggregate and returns its index.
    fn derived(&mut self, aggregate: Aggregate, interval: Interval, operand: Id) -> Result<usize, BindError> {
        let source = match aggregate {
            Aggregate::Mean => {
                let mut code = Vec::new();
                self.number(operand, &mut code)?;
                AggregateSource::Number(Predicate::new(code, Semantics::Quantitative))
            }
            Aggregate::Duration | Aggregate::Count => {
                let form = NodeForm { positive: true, crisp: true };
                AggregateSource::Truth { holds: self.node(operand, form)?, fails: self.node(operand, form.negated())? }
            }
        };
        let width = self.interval(interval)?.width();
        self.derived.push(DerivedColumn { aggregate, width, source, period_s: self.period_s });
        Ok(self.width + self.derived.len() - 1)
    }
}

fn instruction(op: Arithmetic) -> Instruction {
    match op {
        Arithmetic::Add => Instruction::Add,
        Arithmetic::Sub => Instruction::Sub,
        Arithmetic::Mul => Instruction::Mul,
        Arithmetic::Div => Instruction::Div,
        Arithmetic::Min => Instruction::Min,
        Arithmetic::Max => Instruction::Max,
    }
}
