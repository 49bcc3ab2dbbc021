//! Runtimes that policies can run in: `/runtimes`.

pub(in crate::routes) mod list;
