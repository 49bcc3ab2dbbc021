//! Secrets and signatures according to "Standard Webhooks".

use assay_model::{Entropy, JobId, Secret};
use assay_store::WebhookSecrets;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use sha2::Sha256;

/// The prefix of a secret.
const PREFIX: &str = "whsec_";
/// Random bytes of a secret. The specification requires 24 to 64.
const SECRET_BYTES: usize = 32;

/// Creates a secret: `whsec_` and 32 random bytes in base64.
pub(crate) fn new_secret(entropy: &dyn Entropy) -> Secret {
    let mut bytes = [0; SECRET_BYTES];
    entropy.fill(&mut bytes);
    Secret::new(format!("{PREFIX}{}", STANDARD.encode(bytes)))
}

/// Returns the value of `webhook-signature`: `v1,` and an HMAC-SHA256 in base64 over id, Unix time and body, once for
/// each secret that is valid at `now`.
pub(super) fn signatures(secrets: &WebhookSecrets, id: JobId, now: Timestamp, body: &[u8]) -> String {
    let previous = secrets.previous.as_ref().filter(|(_, until)| now < *until).map(|(secret, _)| secret);
    let good = [Some(&secrets.current), previous];
    let signed: Vec<_> = good.into_iter().flatten().map(|secret| signature(secret, id, now, body)).collect();
    signed.join(" ")
}

fn signature(secret: &Secret, id: JobId, now: Timestamp, body: &[u8]) -> String {
    let text = secret.reveal();
    let key = STANDARD.decode(text.strip_prefix(PREFIX).unwrap_or(text)).unwrap_or_else(|_| text.into());
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&key) else { unreachable!("HMAC takes keys of any length") };
    mac.update(format!("{id}.{}.", now.as_second()).as_bytes());
    mac.update(body);
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Computed with Python's `hmac` and `base64`.
    #[test]
    fn signatures_match_the_specification() {
        let secret = |text: &str| Secret::new(text);
        let id: JobId = "01936f3c-8d2e-7c41-9f0a-5b6c7d8e9f01".parse().unwrap();
        let now = Timestamp::from_second(1_674_087_231).unwrap();
        let mut secrets = WebhookSecrets {
            current: secret("whsec_plJ3nmyCDGBKInavdOK15jsl"),
            created_at: now,
            previous: Some((secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), now)),
        };
        let one = "v1,4klCKcW3/0Fqo1USdkpCFyzvN4Q841v0Lq9UXTf4BK0=";
        let two = "v1,Yb8rExgvjwxFWo/ROvEDS2S/DQeQAEGYsg7dFh71Ai8=";
        assert_eq!(signatures(&secrets, id, now, br#"{"a":1}"#), one, "the previous one has just expired");
        secrets.previous.as_mut().unwrap().1 = Timestamp::from_second(1_674_087_232).unwrap();
        assert_eq!(signatures(&secrets, id, now, br#"{"a":1}"#), format!("{one} {two}"));
    }

    #[test]
    fn secrets_have_the_required_length() {
        let made = new_secret(&crate::OsEntropy);
        let bytes = STANDARD.decode(made.reveal().strip_prefix("whsec_").unwrap()).unwrap();
        assert!((24..=64).contains(&bytes.len()));
        assert_ne!(made.reveal(), new_secret(&crate::OsEntropy).reveal());
    }
}
