//! The format of API keys.

use std::fmt;
use std::str::FromStr;

use assay_model::{AccountId, Entropy, Scopes, from_hex, to_hex};
use assay_store::{KeyId, KeyRecord};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

const PREFIX: &str = "assay_";
/// Random bytes of an id.
const ID_BYTES: usize = 8;
/// Random bytes of a secret.
const SECRET_BYTES: usize = 32;

/// The text of a key. `Debug` prints its id only; see [`KeyText::reveal`].
#[derive(Clone)]
pub struct KeyText {
    id: KeyId,
    text: String,
}

impl KeyText {
    /// Returns the public part.
    #[must_use]
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// Returns the key itself, to be shown to its owner once.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// Returns the hash that the records store.
    pub(crate) fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.text.as_bytes()).into()
    }
}

impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "assay_{}_…", self.id)
    }
}

/// An invalid key. Contains nothing of the text itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not of the form assay_<id>_<secret> with an id of a-z and 0-9 and a secret of 64 hexadecimal digits")]
pub struct InvalidKeyText;

impl FromStr for KeyText {
    type Err = InvalidKeyText;

    fn from_str(text: &str) -> Result<Self, InvalidKeyText> {
        let (id, secret) = text.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_')).ok_or(InvalidKeyText)?;
        from_hex::<SECRET_BYTES>(secret).ok_or(InvalidKeyText)?;
        let id = KeyId::parse(id).ok_or(InvalidKeyText)?;
        Ok(Self { id, text: text.to_owned() })
    }
}

/// A key sent by a client: its id, and the hash to compare.
#[derive(Debug)]
pub(crate) struct PresentedKey {
    pub(crate) id: KeyId,
    pub(crate) hash: [u8; 32],
}

impl From<KeyText> for PresentedKey {
    fn from(key: KeyText) -> Self {
        Self { hash: key.hash(), id: key.id }
    }
}

/// Compares two hashes in constant time.
pub(crate) fn hashes_equal(a: &[u8; 32], b: &[u8; 32]) -> bool {
    a.ct_eq(b).into()
}

/// Creates an API key. The record must be stored with [`assay_store::KeyRecords::create_key`], the text shown once.
#[must_use]
pub fn mint(
    entropy: &dyn Entropy,
    now: Timestamp,
    account: AccountId,
    name: &str,
    scopes: Scopes,
    expires_at: Option<Timestamp>,
) -> (KeyText, KeyRecord) {
    let (mut id, mut secret) = ([0; ID_BYTES], [0; SECRET_BYTES]);
    entropy.fill(&mut id);
    entropy.fill(&mut secret);
    let text = format!("{PREFIX}{}_{}", to_hex(&id), to_hex(&secret));
    let Ok(key) = text.parse::<KeyText>() else { unreachable!("hexadecimal digits make a key") };
    let record = record(&key, now, account, name, scopes, expires_at);
    (key, record)
}

pub(super) fn record(
    key: &KeyText,
    now: Timestamp,
    account: AccountId,
    name: &str,
    scopes: Scopes,
    expires_at: Option<Timestamp>,
) -> KeyRecord {
    KeyRecord {
        id: key.id.clone(),
        account,
        name: name.to_owned(),
        scopes,
        secret_hash: key.hash(),
        created_at: now,
        expires_at,
        revoked_at: None,
        last_used_at: None,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_minted_key_parses_and_is_not_printed() {
        let now = Timestamp::from_second(1).unwrap();
        let mint = || mint(&crate::OsEntropy, now, "lab".parse().unwrap(), "n", Scopes::all(), None);
        let (key, record) = mint();
        let again: KeyText = key.reveal().parse().unwrap();
        assert!(hashes_equal(&again.hash(), &record.secret_hash));
        assert_eq!(again.id(), &record.id);
        assert_ne!(mint().1.secret_hash, record.secret_hash);
        let secret = &key.reveal()[key.reveal().len() - 64..];
        assert!(!format!("{key:?} {record:?}").contains(&secret[..8]));
    }

    #[test]
    fn rejects_malformed_keys() {
        let secret = "0".repeat(64);
        assert!(format!("assay_a_{secret}").parse::<KeyText>().is_ok());
        for bad in [
            String::new(),
            "assay_".into(),
            "assay_a_".into(),
            format!("assay__{secret}"),
            format!("assay_A_{secret}"),
            format!("assay_a_{secret}0"),
            format!("assay_a_{}", "g".repeat(64)),
            format!("assay_a_{}", "A".repeat(64)),
            format!("other_a_{secret}"),
            format!("assay_{}_{secret}", "a".repeat(33)),
        ] {
            assert!(bad.parse::<KeyText>().is_err(), "{bad}");
        }
    }
}
