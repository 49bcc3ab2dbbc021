//! Operator precedence, in the order of rtamt; a larger number binds more tightly.
use crate::syntax::{Arithmetic, Logic, Pair};

pub(crate) const NOT: u8 = 8;
pub(crate) const COMPARISON: u8 = 9;
pub(crate) const MINUS: u8 = 12;

pub(crate) fn logic(op: Logic) -> u8 {
    match op {
        Logic::Xor => 1,
        Logic::Iff => 2,
        Logic::Implies => 3,
        Logic::Or => 4,
        Logic::And => 5,
    }
}

pub(crate) fn pair(op: Pair) -> u8 {
    match op {
        Pair::Since => 6,
        Pair::Until => 7,
    }
}

pub(crate) fn arithmetic(op: Arithmetic) -> u8 {
    match op {
        Arithmetic::Add | Arithmetic::Sub => 10,
        Arithmetic::Mul | Arithmetic::Div => 11,
        Arithmetic::Min | Arithmetic::Max => MINUS,
    }
}
