//! Derivation of seeds from keys and hashes.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Seed of the arena's showcase episode, which `assay verify --seed 0` reproduces.
pub const PUBLIC_SEED: u64 = 0;

/// Returns the upper 53 bits of the digest's first eight bytes, read as a little-endian number: as many bits as JSON
/// preserves in every language.
pub(crate) fn seed_of(digest: &[u8]) -> u64 {
    let mut first = [0_u8; 8];
    first.copy_from_slice(&digest[..8]);
    u64::from_le_bytes(first) >> 11
}

/// Returns the HMAC-SHA256 of `label` and `message`.
pub(crate) fn keyed(key: &[u8; 32], label: &[u8], message: &[u8]) -> [u8; 32] {
    // RFC 2104: a key shorter than SHA-256's block is padded with zeros.
    let mut block = [0; 64];
    block[..32].copy_from_slice(key);
    let mut mac = Hmac::<Sha256>::new(&block.into());
    mac.update(label);
    mac.update(message);
    mac.finalize().into_bytes().into()
}
