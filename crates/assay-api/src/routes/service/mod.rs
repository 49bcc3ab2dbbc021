//! The service itself: its index, health, metrics, signing keys and documentation pages.

pub(in crate::routes) mod docs;
pub(in crate::routes) mod health;
pub(in crate::routes) mod index;
pub(in crate::routes) mod metrics;
pub(in crate::routes) mod servers;
pub(in crate::routes) mod signing_keys;
pub(in crate::routes) mod storage;
