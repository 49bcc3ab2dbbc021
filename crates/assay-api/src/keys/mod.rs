//! API keys: `assay_<id>_<secret>`. The secret is 256 random bits as 64 hexadecimal digits, shown once; the records
//! store a SHA-256 of the whole key (a fast hash suffices for secrets with 256 bits of entropy).
//!
//! `assay keys` uses [`mint`] and the records directly; `assay serve` calls [`bootstrap`] at its start.

mod bootstrap;
mod format;
mod worker_token;

pub use bootstrap::{BOOTSTRAP_FILE, Bootstrap, BootstrapError, bootstrap};
pub use format::{InvalidKeyText, KeyText, mint};
pub(crate) use format::{PresentedKey, hashes_equal};
pub use worker_token::worker_token;
pub(crate) use worker_token::worker_token_hash;
