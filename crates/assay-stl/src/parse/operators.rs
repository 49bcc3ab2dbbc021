//! Infix and prefix operators.
use super::precedence;
use crate::lex::TokenKind;
use crate::syntax::{Aggregate, Arithmetic, ComparisonOp, Logic, Pair, Temporal};

/// The type of an expression: a number or a truth value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperandType {
    Number,
    Truth,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Infix {
    Arithmetic(Arithmetic),
    Compare(ComparisonOp),
    Logic(Logic),
    Pair(Pair),
}

impl Infix {
    pub(super) fn read(kind: TokenKind<'_>) -> Option<Self> {
        let (TokenKind::Word(text) | TokenKind::Symbol(text)) = kind else { return None };
        Some(match text {
            "+" => Infix::Arithmetic(Arithmetic::Add),
            "-" => Infix::Arithmetic(Arithmetic::Sub),
            "*" => Infix::Arithmetic(Arithmetic::Mul),
            "/" => Infix::Arithmetic(Arithmetic::Div),
            ">=" => Infix::Compare(ComparisonOp::Ge),
            ">" => Infix::Compare(ComparisonOp::Gt),
            "<=" => Infix::Compare(ComparisonOp::Le),
            "<" => Infix::Compare(ComparisonOp::Lt),
            "==" => Infix::Compare(ComparisonOp::Eq),
            "!=" | "!==" => Infix::Compare(ComparisonOp::Ne),
            "and" | "&" => Infix::Logic(Logic::And),
            "or" | "|" => Infix::Logic(Logic::Or),
            "implies" | "->" => Infix::Logic(Logic::Implies),
            "iff" | "<->" => Infix::Logic(Logic::Iff),
            "xor" => Infix::Logic(Logic::Xor),
            "until" | "U" => Infix::Pair(Pair::Until),
            "since" | "S" => Infix::Pair(Pair::Since),
            _ => return None,
        })
    }

    pub(super) fn precedence(self) -> u8 {
        match self {
            Infix::Arithmetic(op) => precedence::arithmetic(op),
            Infix::Compare(_) => precedence::COMPARISON,
            Infix::Logic(op) => precedence::logic(op),
            Infix::Pair(op) => precedence::pair(op),
        }
    }

    pub(super) fn operands(self) -> OperandType {
        if matches!(self, Infix::Arithmetic(_) | Infix::Compare(_)) { OperandType::Number } else { OperandType::Truth }
    }

    pub(super) fn chains(self) -> bool {
        !matches!(self, Infix::Compare(_) | Infix::Pair(_) | Infix::Logic(Logic::Implies))
    }
}

pub(super) fn aggregate(word: &str) -> Option<Aggregate> {
    Some(match word {
        "mean" => Aggregate::Mean,
        "duration" => Aggregate::Duration,
        "count" => Aggregate::Count,
        _ => return None,
    })
}

pub(super) fn temporal(word: &str) -> Option<Temporal> {
    Some(match word {
        "always" | "G" => Temporal::Always,
        "eventually" | "F" => Temporal::Eventually,
        "historically" | "H" => Temporal::Historically,
        "once" | "O" => Temporal::Once,
        "next" | "X" => Temporal::Next,
        _ => return None,
    })
}
