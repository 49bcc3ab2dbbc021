//! Published scenarios: `/community/scenarios`.

pub(in crate::routes) mod delete;
pub(in crate::routes) mod get;
pub(in crate::routes) mod list;
pub(in crate::routes) mod publish;
pub(in crate::routes) mod view;
