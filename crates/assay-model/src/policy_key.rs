//! The key from which the seeds passed to policies are derived, so that they reveal nothing about the worlds.

use scrypt::Params;
use serde::{Deserialize, Serialize};

use crate::Entropy;
use crate::hex::{PATTERN_OF_256_BITS, from_hex, to_hex};
use crate::seed_bits::{PUBLIC_SEED, keyed, seed_of};

/// Cost of [`PolicyKey::from_seed`] (RFC 7914): N = 2^11, r = 8, p = 1, which is 2 MiB and about 4 ms per guess.
const LOG2_N: u8 = 11;
const R: u32 = 8;
const P: u32 = 1;
const SALT: &[u8] = b"assay/policy-key/1";
/// Number of bits of a drawn seed: as many as JSON preserves in every language.
const DRAWN_BITS: u32 = 53;

/// 256 bits from which the seeds passed to a job's policies are derived. It is part of the report, so that the job can
/// be repeated, and is never passed to a policy. Text and JSON form: 64 lower-case hexadecimal digits.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(inline, extend("pattern" = PATTERN_OF_256_BITS))]
#[serde(try_from = "String", into = "String")]
pub struct PolicyKey([u8; 32]);

/// Error for text that is not a policy key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("use 64 hexadecimal digits")]
pub struct InvalidPolicyKey;

impl PolicyKey {
    /// Creates a key from its bytes.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Draws a key that is independent of any seed.
    #[must_use]
    pub fn random(entropy: &dyn Entropy) -> Self {
        let mut bytes = [0; 32];
        entropy.fill(&mut bytes);
        Self(bytes)
    }

    /// Derives the key of a job whose seed was given: scrypt (RFC 7914) with N = 2^11, r = 8, p = 1 over the eight
    /// little-endian bytes of the seed, with the salt `assay/policy-key/1`. It is slow on purpose: guessing a seed
    /// costs about 4 ms and 2 MiB. Python's `hashlib.scrypt` computes the same key.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "parameters and length are constants that scrypt accepts")]
    pub fn from_seed(seed: u64) -> Self {
        let mut key = [0; 32];
        let derived = Params::new(LOG2_N, R, P)
            .map_err(drop)
            .and_then(|params| scrypt::scrypt(&seed.to_le_bytes(), SALT, &params, &mut key).map_err(drop));
        assert!(derived.is_ok(), "scrypt refuses its constant parameters");
        Self(key)
    }

    /// Returns the key of [`PUBLIC_SEED`], used for showcases and preflights. Derived once per process.
    #[must_use]
    pub fn public() -> Self {
        static KEY: std::sync::OnceLock<PolicyKey> = std::sync::OnceLock::new();
        KEY.get_or_init(|| Self::from_seed(PUBLIC_SEED)).clone()
    }

    /// Returns the seed passed to the policy of episode `episode` (from 0): the upper 53 bits of the first eight bytes,
    /// read as a little-endian number, of HMAC-SHA256 over `policy` and the index as four little-endian bytes.
    #[must_use]
    pub fn policy_seed(&self, episode: u32) -> u64 {
        seed_of(&keyed(&self.0, b"policy", &episode.to_le_bytes()))
    }

    /// Returns the key as text: 64 lower-case hexadecimal digits.
    #[must_use]
    pub fn to_hex(&self) -> String {
        to_hex(&self.0)
    }
}

impl std::str::FromStr for PolicyKey {
    type Err = InvalidPolicyKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Keys entered by a person may contain upper-case digits.
        let key = from_hex(text).or_else(|| from_hex(&text.to_ascii_lowercase()));
        key.map(Self).ok_or(InvalidPolicyKey)
    }
}

impl TryFrom<String> for PolicyKey {
    type Error = InvalidPolicyKey;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<PolicyKey> for String {
    fn from(key: PolicyKey) -> Self {
        key.to_hex()
    }
}

/// Hides the key, so that it never appears in logs.
impl std::fmt::Debug for PolicyKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[policy key]")
    }
}

/// Returns the seed and the policy key of a new job.
///
/// Without a `seed`, both are drawn independently of each other, the seed uniformly from all 53-bit numbers. With a
/// `seed`, the key is derived from it ([`PolicyKey::from_seed`], slow). A given key is used unchanged.
#[must_use]
pub fn job_seeds(seed: Option<u64>, key: Option<PolicyKey>, entropy: &dyn Entropy) -> (u64, PolicyKey) {
    let drawn = || {
        let mut bytes = [0; 8];
        entropy.fill(&mut bytes);
        u64::from_le_bytes(bytes) >> (u64::BITS - DRAWN_BITS)
    };
    let key = key.unwrap_or_else(|| seed.map_or_else(|| PolicyKey::random(entropy), PolicyKey::from_seed));
    (seed.unwrap_or_else(drawn), key)
}

#[cfg(test)]
#[path = "policy_key_tests.rs"]
mod tests;
