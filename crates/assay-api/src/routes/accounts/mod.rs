//! Accounts: `/accounts`, for operators.

pub(in crate::routes) mod list;
