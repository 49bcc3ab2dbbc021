//! Tokens of workers on other hosts: `assay_worker_` and 256 random bits as 64 hexadecimal digits.

use assay_model::{Entropy, Sha256Digest, from_hex, to_hex};

const PREFIX: &str = "assay_worker_";
/// Random bytes of a token.
const TOKEN_BYTES: usize = 32;

/// Creates a token, to be shown to the operator once.
#[must_use]
pub fn worker_token(entropy: &dyn Entropy) -> String {
    let mut random = [0; TOKEN_BYTES];
    entropy.fill(&mut random);
    format!("{PREFIX}{}", to_hex(&random))
}

/// Returns the hash by which the records find the worker with this token; `None` if it is not a token.
pub(crate) fn worker_token_hash(token: &str) -> Option<Sha256Digest> {
    let digits = token.strip_prefix(PREFIX)?;
    from_hex::<TOKEN_BYTES>(digits).map(|_| Sha256Digest::of(token))
}
