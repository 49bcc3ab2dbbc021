//! Ed25519 keys as the usual tools write them: PKCS #8 for the secret half, SubjectPublicKeyInfo for the public one,
//! both PEM.

use assay_model::Sha256Digest;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey};
use ed25519_dalek::{Signature, Signer};

/// A key that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Not a PKCS #8 PEM of an Ed25519 key.
    #[error("this is no Ed25519 secret key in PKCS #8 PEM")]
    Secret,
    /// Not a `SubjectPublicKeyInfo` PEM of an Ed25519 key.
    #[error("this is no Ed25519 public key in PEM")]
    Public,
    /// The key has no form in PEM.
    #[error("the key could not be written as PEM")]
    Write,
}

/// The secret half. Does not print.
pub struct SigningKey(ed25519_dalek::SigningKey);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningKey(..)")
    }
}

impl SigningKey {
    /// The key made of 32 bytes that nobody can guess.
    #[must_use]
    pub fn from_secret(secret: [u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(&secret))
    }

    /// Reads [`Self::to_pem`] back; also what `openssl genpkey -algorithm ed25519` writes.
    ///
    /// # Errors
    /// [`KeyError::Secret`] for anything else.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        ed25519_dalek::SigningKey::from_pkcs8_pem(text).map(Self).map_err(|_| KeyError::Secret)
    }

    /// PKCS #8 PEM. A secret: to be written where only its owner reads.
    ///
    /// # Errors
    /// [`KeyError::Write`] should the encoder fail.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        self.0.to_pkcs8_pem(LineEnding::LF).map(|pem| pem.as_str().to_owned()).map_err(|_| KeyError::Write)
    }

    /// The other half.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    pub(super) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

/// The public half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(ed25519_dalek::VerifyingKey);

impl PublicKey {
    /// Reads [`Self::to_pem`] back.
    ///
    /// # Errors
    /// [`KeyError::Public`] for anything else.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        ed25519_dalek::VerifyingKey::from_public_key_pem(text).map(Self).map_err(|_| KeyError::Public)
    }

    /// `SubjectPublicKeyInfo` PEM.
    ///
    /// # Errors
    /// [`KeyError::Write`] should the encoder fail.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        self.0.to_public_key_pem(LineEnding::LF).map_err(|_| KeyError::Write)
    }

    /// Returns the key's id: SHA-256 over its DER-encoded `SubjectPublicKeyInfo`, hexadecimal.
    ///
    /// # Errors
    /// [`KeyError::Write`] should the encoder fail.
    pub fn keyid(&self) -> Result<String, KeyError> {
        let der = self.0.to_public_key_der().map_err(|_| KeyError::Write)?;
        Ok(Sha256Digest::of(der.as_bytes()).to_string())
    }

    /// Whether the signature is this key's. Strict: forms that other verifiers refuse are refused.
    pub(super) fn signed(&self, message: &[u8], signature: &[u8]) -> bool {
        Signature::from_slice(signature).is_ok_and(|signature| self.0.verify_strict(message, &signature).is_ok())
    }
}
