//! Accesses of administrators and reviewers to what belongs to other accounts.

pub(in crate::routes) mod list;
