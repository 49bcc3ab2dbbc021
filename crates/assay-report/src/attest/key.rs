//! Ed25519 keys in the formats of common tools: PKCS #8 for the secret key and `SubjectPublicKeyInfo` for the public
//! key, both as PEM.

use assay_model::Sha256Digest;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey};
use ed25519_dalek::{Signature, Signer};

/// Error for a key that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The text is not a PKCS #8 PEM of an Ed25519 key.
    #[error("not an Ed25519 secret key in PKCS #8 PEM format")]
    Secret,
    /// The text is not a `SubjectPublicKeyInfo` PEM of an Ed25519 key.
    #[error("not an Ed25519 public key in PEM format")]
    Public,
    /// The key could not be encoded as PEM.
    #[error("the key could not be written as PEM")]
    Write,
}

/// Secret key of a key pair. Its debug output hides it.
pub struct SigningKey(ed25519_dalek::SigningKey);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningKey(..)")
    }
}

impl SigningKey {
    /// Creates a key from 32 unpredictable bytes.
    #[must_use]
    pub fn from_secret(secret: [u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(&secret))
    }

    /// Parses the output of [`Self::to_pem`], or of `openssl genpkey -algorithm ed25519`.
    ///
    /// # Errors
    /// [`KeyError::Secret`] for any other text.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        ed25519_dalek::SigningKey::from_pkcs8_pem(text).map(Self).map_err(|_| KeyError::Secret)
    }

    /// Encodes the key as PKCS #8 PEM. The text is secret: only its owner may be able to read it.
    ///
    /// # Errors
    /// [`KeyError::Write`] if the encoder fails.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        self.0.to_pkcs8_pem(LineEnding::LF).map(|pem| pem.as_str().to_owned()).map_err(|_| KeyError::Write)
    }

    /// Returns the public key of the pair.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    pub(super) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

/// Public key of a key pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(ed25519_dalek::VerifyingKey);

impl PublicKey {
    /// Parses the output of [`Self::to_pem`].
    ///
    /// # Errors
    /// [`KeyError::Public`] for any other text.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        ed25519_dalek::VerifyingKey::from_public_key_pem(text).map(Self).map_err(|_| KeyError::Public)
    }

    /// Encodes the key as `SubjectPublicKeyInfo` PEM.
    ///
    /// # Errors
    /// [`KeyError::Write`] if the encoder fails.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        self.0.to_public_key_pem(LineEnding::LF).map_err(|_| KeyError::Write)
    }

    /// Returns the key's id: SHA-256 over its DER-encoded `SubjectPublicKeyInfo`, 64 hexadecimal digits.
    ///
    /// # Errors
    /// [`KeyError::Write`] if the encoder fails.
    pub fn keyid(&self) -> Result<String, KeyError> {
        let der = self.0.to_public_key_der().map_err(|_| KeyError::Write)?;
        Ok(Sha256Digest::of(der.as_bytes()).to_string())
    }

    /// Returns whether the signature was made by this key. Strict: forms that other verifiers refuse are refused.
    pub(super) fn signed(&self, message: &[u8], signature: &[u8]) -> bool {
        Signature::from_slice(signature).is_ok_and(|signature| self.0.verify_strict(message, &signature).is_ok())
    }
}
