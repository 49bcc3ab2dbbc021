//! Signed statements: the keys that sign ([`keyring`]) and the statement about a job ([`statement`]).

pub(crate) mod keyring;
pub(crate) mod statement;
