//! API keys: `/keys`.

pub(in crate::routes) mod create;
pub(in crate::routes) mod list;
pub(in crate::routes) mod revoke;
pub(in crate::routes) mod rotate;
