//! The envelope: a payload, its type, and signatures over both (secure-systems-lab/dsse, `envelope.md` and
//! `protocol.md`, version 1).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::{KeyError, PublicKey, SigningKey};

/// Type of the payload: an in-toto statement as JSON.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// Largest envelope that is read, in bytes.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Most signatures of one envelope.
const MAX_SIGNATURES: usize = 16;

/// A signed payload, as it stands in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Envelope {
    /// Media type of the payload.
    pub payload_type: String,
    /// The payload's bytes in base64.
    pub payload: String,
    /// At least one.
    pub signatures: Vec<EnvelopeSignature>,
}

/// One signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvelopeSignature {
    /// Which key, or nothing. A hint, which is not signed.
    pub keyid: String,
    /// 64 bytes in base64.
    pub sig: String,
}

/// An envelope that can't be read.
#[derive(Debug, thiserror::Error)]
pub enum EnvelopeError {
    /// Not the JSON of an envelope.
    #[error("not a DSSE envelope")]
    Json(#[source] serde_json::Error),
    /// Larger than anything we write.
    #[error("an envelope has at most {MAX_BYTES} bytes and {MAX_SIGNATURES} signatures")]
    TooLarge,
    /// Something else than a statement.
    #[error("the payload is of type {0:?}, not {PAYLOAD_TYPE}")]
    Type(String),
    /// Not base64.
    #[error("the payload or a signature is no base64")]
    Base64(#[source] base64::DecodeError),
}

impl Envelope {
    /// Signs `payload`.
    ///
    /// # Errors
    /// [`KeyError`] should the key have no id.
    pub fn sign(payload: &[u8], key: &SigningKey) -> Result<Self, KeyError> {
        let sig = STANDARD.encode(key.sign(&signed_bytes(PAYLOAD_TYPE, payload)));
        Ok(Self {
            payload_type: PAYLOAD_TYPE.to_owned(),
            payload: STANDARD.encode(payload),
            signatures: vec![EnvelopeSignature { keyid: key.public().keyid()?, sig }],
        })
    }

    /// Reads an envelope's file.
    ///
    /// # Errors
    /// [`EnvelopeError`] when it is none.
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

    /// The payload's bytes: to be believed only after [`Self::signed_by`].
    ///
    /// # Errors
    /// [`EnvelopeError::Base64`].
    pub fn payload(&self) -> Result<Vec<u8>, EnvelopeError> {
        STANDARD.decode(&self.payload).map_err(EnvelopeError::Base64)
    }

    /// Whether one of the signatures is this key's. One that says to be another key's is not, even if it fits.
    ///
    /// # Errors
    /// [`EnvelopeError::Base64`].
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

/// DSSE's pre-authentication encoding: what is signed is unambiguous, and the type is part of it.
fn signed_bytes(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

#[cfg(test)]
mod tests {
    use super::signed_bytes;

    /// The example of DSSE's protocol.md.
    #[test]
    fn the_encoding_matches_the_specification() {
        let found = signed_bytes("http://example.com/HelloWorld", b"hello world");
        assert_eq!(found, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    }
}
