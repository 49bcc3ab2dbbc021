//! DSSE envelope: a payload, its type, and signatures over both (secure-systems-lab/dsse, `envelope.md` and
//! `protocol.md`, version 1).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::{KeyError, PublicKey, SigningKey};

/// Media type of the payload: an in-toto statement as JSON.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// Maximum size of an envelope, in bytes.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Maximum number of signatures of an envelope.
const MAX_SIGNATURES: usize = 16;

/// A signed payload, as stored in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Envelope {
    /// Media type of the payload.
    pub payload_type: String,
    /// Content of the payload, in base64.
    pub payload: String,
    /// Signatures over the payload and its type, at least one.
    pub signatures: Vec<EnvelopeSignature>,
}

/// Signature of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvelopeSignature {
    /// Id of the key, or empty. It is only a hint, which is not signed.
    pub keyid: String,
    /// The Ed25519 signature, 64 bytes in base64.
    pub sig: String,
}

/// Error for an envelope that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum EnvelopeError {
    /// The text is not the JSON of an envelope.
    #[error("not a DSSE envelope")]
    Json(#[source] serde_json::Error),
    /// The envelope is larger than any that assay writes.
    #[error("the envelope is too large: at most {MAX_BYTES} bytes and {MAX_SIGNATURES} signatures are allowed")]
    TooLarge,
    /// The payload is not a statement.
    #[error("the payload is of type {0:?}, not {PAYLOAD_TYPE}")]
    Type(String),
    /// The payload or a signature is not base64.
    #[error("the payload or a signature is not valid base64")]
    Base64(#[source] base64::DecodeError),
}

impl Envelope {
    /// Signs `payload`.
    ///
    /// # Errors
    /// [`KeyError`] if the key's id cannot be computed.
    pub fn sign(payload: &[u8], key: &SigningKey) -> Result<Self, KeyError> {
        let sig = STANDARD.encode(key.sign(&signed_bytes(PAYLOAD_TYPE, payload)));
        Ok(Self {
            payload_type: PAYLOAD_TYPE.to_owned(),
            payload: STANDARD.encode(payload),
            signatures: vec![EnvelopeSignature { keyid: key.public().keyid()?, sig }],
        })
    }

    /// Parses the content of an envelope's file.
    ///
    /// # Errors
    /// [`EnvelopeError`] if it is not an envelope.
    pub fn parse(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        if bytes.len() > MAX_BYTES {
            return Err(EnvelopeError::TooLarge);
        }
        let envelope: Self = serde_json::from_slice(bytes).map_err(EnvelopeError::Json)?;
        if envelope.payload_type != PAYLOAD_TYPE {
            return Err(EnvelopeError::Type(envelope.payload_type));
        }
        if envelope.signatures.len() > MAX_SIGNATURES {
            return Err(EnvelopeError::TooLarge);
        }
        Ok(envelope)
    }

    /// Returns the payload, which must not be trusted before [`Self::signed_by`] has returned true.
    ///
    /// # Errors
    /// [`EnvelopeError::Base64`] if the payload is not base64.
    pub fn payload(&self) -> Result<Vec<u8>, EnvelopeError> {
        STANDARD.decode(&self.payload).map_err(EnvelopeError::Base64)
    }

    /// Returns whether one of the signatures was made by this key. A signature with the id of another key does not
    /// count, even if it is valid.
    ///
    /// # Errors
    /// [`EnvelopeError::Base64`] if the payload or a signature is not base64.
    pub fn signed_by(&self, key: &PublicKey) -> Result<bool, EnvelopeError> {
        let message = signed_bytes(&self.payload_type, &self.payload()?);
        let keyid = key.keyid().unwrap_or_default();
        for signature in self.signatures.iter().filter(|s| s.keyid.is_empty() || s.keyid == keyid) {
            let bytes = STANDARD.decode(&signature.sig).map_err(EnvelopeError::Base64)?;
            if key.signed(&message, &bytes) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns DSSE's pre-authentication encoding, which makes the signed data unambiguous and includes the type.
fn signed_bytes(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

#[cfg(test)]
mod tests {
    use super::signed_bytes;

    /// Example from DSSE's protocol.md.
    #[test]
    fn the_encoding_matches_the_specification() {
        let found = signed_bytes("http://example.com/HelloWorld", b"hello world");
        assert_eq!(found, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    }
}
