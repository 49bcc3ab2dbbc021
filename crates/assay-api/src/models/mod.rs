//! Models: announced (`announce`), received in pieces (`append`, `partial_file`), verified and given their final name
//! (`finish`), required by policies (`require`), removed on request (`remove`) or by age (`expiry`).
//!
//! Invariants:
//! - Only the account that uploaded a model sees it: every lookup names the account, so that a request costs and
//!   answers the same whether or not another account has the digest.
//! - The offset of an upload counts durable bytes: they are on the disk before the records say so.
//! - One request at a time writes to an upload ([`ModelTransfers`]).

mod announce;
mod append;
mod expiry;
mod finish;
mod offset_header;
mod partial_file;
mod remove;
mod require;
mod transfers;

pub(crate) use announce::{Announced, announce};
pub(crate) use append::append;
pub(crate) use expiry::{remove_expired, remove_orphans, remove_unused};
pub(crate) use offset_header::UPLOAD_OFFSET;
pub(crate) use remove::{remove_model, remove_upload};
pub(crate) use require::require;
pub use transfers::ModelTransfers;
