//! Curated scenarios: `/scenarios`.

pub(in crate::routes) mod get;
pub(in crate::routes) mod list;
pub(in crate::routes) mod spec;
