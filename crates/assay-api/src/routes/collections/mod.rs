//! Collections of scenarios: `/collections`.

pub(in crate::routes) mod get;
pub(in crate::routes) mod list;
