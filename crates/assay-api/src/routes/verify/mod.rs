//! Verifications: `/verify`, and `/preflight`.

pub(in crate::routes) mod archive;
pub(in crate::routes) mod attestation;
pub(in crate::routes) mod cancel;
pub(in crate::routes) mod connection;
pub(in crate::routes) mod create;
pub(in crate::routes) mod episodes;
pub(in crate::routes) mod erase;
pub(in crate::routes) mod events;
pub(in crate::routes) mod get;
pub(in crate::routes) mod list;
pub(in crate::routes) mod preflight;
pub(in crate::routes) mod replay;
pub(in crate::routes) mod report;
pub(in crate::routes) mod review;
pub(in crate::routes) mod reviews;
