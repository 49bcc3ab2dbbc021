//! Addresses of evidence that need no key: signed, for one artifact, for ten minutes.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use assay_model::{Entropy, JobId, from_hex, to_hex};
use hmac::{Hmac, KeyInit, Mac};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use sha2::Sha256;

/// How long an address leads somewhere.
pub(crate) const LIFETIME: SignedDuration = SignedDuration::from_mins(10);
/// File in the data folder with the secret that signs.
const FILE: &str = "artifact-secret";
/// Bytes of the secret.
const SECRET: usize = 32;
/// Bytes of a block of SHA-256; HMAC fills a shorter key up with zeros (RFC 2104).
const BLOCK: usize = 64;
/// Bytes of a signature: those of SHA-256.
const SIGNATURE: usize = 32;

/// Makes and checks signed addresses. Servers on the same data folder accept each other's.
#[derive(Clone)]
pub struct UrlSigner([u8; SECRET]);

/// The secret can't be read or made.
#[derive(Debug, thiserror::Error)]
#[error("the secret that signs addresses of evidence, {FILE} in the data folder")]
pub struct SignerError(#[source] std::io::Error);

impl std::fmt::Debug for UrlSigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UrlSigner(..)")
    }
}

impl UrlSigner {
    /// The signer of the data folder; its secret is made on first use, for its owner's eyes only.
    ///
    /// # Errors
    /// [`SignerError`] when it can't be read or made.
    pub fn open(data: &Path, entropy: &dyn Entropy) -> Result<Self, SignerError> {
        let path = data.join(FILE);
        let mut secret = [0; SECRET];
        entropy.fill(&mut secret);
        let partial = data.join(format!("{FILE}.{}", std::process::id()));
        let made = (|| {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&partial)?;
            file.write_all(&secret)?;
            file.sync_all()?;
            // Unlike a rename, a link does not replace what another server may have made meanwhile.
            match std::fs::hard_link(&partial, &path) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
                _ => Ok(()),
            }
        })();
        drop(std::fs::remove_file(&partial));
        made.map_err(SignerError)?;
        File::open(&path).and_then(|mut file| file.read_exact(&mut secret)).map_err(SignerError)?;
        Ok(Self(secret))
    }

    /// Path and query of an artifact from `now` on.
    pub(crate) fn sign(&self, job: JobId, sha256: &str, name: &str, now: Timestamp) -> String {
        self.sign_path(&format!("/artifacts/{job}/{sha256}/{name}"), now)
    }

    /// Path and query of the picture of a published scenario from `now` on.
    pub(crate) fn sign_thumbnail(&self, digest: &str, now: Timestamp) -> String {
        self.sign_path(&format!("/thumbnails/{digest}"), now)
    }

    fn sign_path(&self, path: &str, now: Timestamp) -> String {
        let expires = now.saturating_add(LIFETIME).unwrap_or(now).as_second();
        let signature = self.mac(path, expires).finalize().into_bytes();
        let signature = to_hex(&signature);
        format!("{path}?expires={expires}&signature={signature}")
    }

    /// Whether we signed this; compared in constant time.
    pub(crate) fn is_ours(&self, path: &str, expires: i64, signature: &str) -> bool {
        let bytes = from_hex::<SIGNATURE>(signature);
        bytes.is_some_and(|bytes| self.mac(path, expires).verify_slice(&bytes).is_ok())
    }

    /// Stands for what is added to it; nobody without the secret can try what it might be.
    pub(crate) fn content_hasher(&self) -> ContentHasher {
        let mut content = ContentHasher(self.keyed());
        content.add(b"assay/content/1");
        content
    }

    fn mac(&self, path: &str, expires: i64) -> Hmac<Sha256> {
        let mut mac = self.keyed();
        mac.update(format!("assay/address/2\n{path}\n{expires}").as_bytes());
        mac
    }

    fn keyed(&self) -> Hmac<Sha256> {
        let mut key = [0; BLOCK];
        key[..SECRET].copy_from_slice(&self.0);
        Hmac::<Sha256>::new(&key.into())
    }
}

/// A keyed hash over pieces that can't run into each other.
pub(crate) struct ContentHasher(Hmac<Sha256>);

impl ContentHasher {
    pub(crate) fn add(&mut self, piece: &[u8]) {
        self.0.update(&(piece.len() as u64).to_le_bytes());
        self.0.update(piece);
    }

    /// The value, however its fields are ordered and spaced.
    pub(crate) fn add_json(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => {
                let sorted: BTreeMap<_, _> = fields.iter().collect();
                self.add(b"{");
                for (name, value) in sorted {
                    self.add(name.as_bytes());
                    self.add_json(value);
                }
                self.add(b"}");
            }
            Value::Array(items) => {
                self.add(b"[");
                items.iter().for_each(|item| self.add_json(item));
                self.add(b"]");
            }
            // With its quotes, so that a text is no number.
            other => self.add(other.to_string().as_bytes()),
        }
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.0.finalize().into_bytes().into()
    }
}

/// The name under which a file of evidence is downloaded: `episodes/003/log.mcap` becomes `003-log.mcap`.
pub(crate) fn file_name(path: &str) -> String {
    path.trim_start_matches("episodes/").replace('/', "-")
}
