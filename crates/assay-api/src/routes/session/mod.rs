//! Browser sessions: `/session`.

pub(in crate::routes) mod create;
pub(in crate::routes) mod delete;
