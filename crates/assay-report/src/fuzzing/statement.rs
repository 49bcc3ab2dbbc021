//! The fuzz target of signed statements.

use std::sync::LazyLock;

use assay_model::Sha256Digest;
use jiff::Timestamp;

use crate::attest::{Envelope, PublishedKeys, SigningKey, check, check_policy, check_rendering};

/// A key that signs any content, because statements by a known signer may be malformed too.
static KEY: LazyLock<SigningKey> = LazyLock::new(|| SigningKey::from_secret([7; 32]));
/// The trusted keys.
static KEYS: LazyLock<PublishedKeys> = LazyLock::new(|| {
    let mut keys = PublishedKeys::default();
    keys.promote(&KEY.public(), Timestamp::UNIX_EPOCH).expect("a key has a form in PEM");
    keys
});

/// Parses the input as an envelope, a payload that was signed, and a list of keys.
///
/// # Panics
/// Panics if the input reveals a bug.
pub fn statement(data: &[u8]) {
    assert!(check(data, &KEYS, None).is_err() || is_signed(data), "an unsigned statement was accepted");
    drop(check_rendering(data, &KEYS, None));
    let signed = Envelope::sign(data, &KEY).expect("a payload can be signed");
    let signed = serde_json::to_vec(&signed).expect("an envelope is JSON");
    if let Ok(checked) = check(&signed, &KEYS, None) {
        drop(check_policy(&checked.statement, Sha256Digest::of(data)));
    }
    drop(check_rendering(&signed, &KEYS, None));
    if let Ok(keys) = serde_json::from_slice::<PublishedKeys>(data) {
        keys.keys.iter().for_each(|key| drop(key.key()));
        drop(check(&signed, &keys, None));
    }
}

/// Returns true if the envelope is signed with the key above.
fn is_signed(data: &[u8]) -> bool {
    Envelope::parse(data).is_ok_and(|envelope| envelope.signed_by(&KEY.public()).is_ok_and(|signed| signed))
}

#[cfg(test)]
mod tests {
    use assay_fuzz::run_corpus;

    #[test]
    fn statement_accepts_its_corpus() {
        run_corpus("statement", super::statement);
    }
}
