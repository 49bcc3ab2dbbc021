//! Signed statements: the signing keys ([`keyring`]) and the statement about a job ([`statement`]).

pub(crate) mod keyring;
pub(crate) mod statement;
