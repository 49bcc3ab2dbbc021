//! Connections of policies.

pub(in crate::routes) mod open;
