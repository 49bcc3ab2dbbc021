//! Signed URLs: each gives access to one artifact for ten minutes without an API key.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use assay_model::{Entropy, Fence, JobId, Sha256Digest, from_hex, to_hex};
use assay_store::{RenderFence, TaskFence};
use hmac::{Hmac, KeyInit, Mac};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use sha2::Sha256;

/// Lifetime of a signed URL.
pub(crate) const LIFETIME: SignedDuration = SignedDuration::from_mins(10);
/// File in the data folder with the signing secret.
const FILE: &str = "artifact-secret";
/// Length of the secret in bytes.
const SECRET: usize = 32;
/// Block length of SHA-256 in bytes; HMAC pads a shorter key with zeros (RFC 2104).
const BLOCK: usize = 64;
/// Length of a signature in bytes: that of SHA-256.
const SIGNATURE: usize = 32;

/// Creates and verifies signed URLs. Servers on the same data folder accept each other's.
#[derive(Clone)]
pub struct UrlSigner([u8; SECRET]);

/// An error while reading or creating the secret.
#[derive(Debug, thiserror::Error)]
#[error("could not read or create the secret that signs URLs, {FILE} in the data folder")]
pub struct SignerError(#[source] std::io::Error);

impl std::fmt::Debug for UrlSigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UrlSigner(..)")
    }
}

impl UrlSigner {
    /// Opens the signer of the data folder. Its secret is created on first use, readable by its owner only.
    ///
    /// # Errors
    /// [`SignerError`] if the secret cannot be read or created.
    pub fn open(data: &Path, entropy: &dyn Entropy) -> Result<Self, SignerError> {
        let path = data.join(FILE);
        let mut secret = [0; SECRET];
        entropy.fill(&mut secret);
        let partial = data.join(format!("{FILE}.{}", std::process::id()));
        let made = (|| {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&partial)?;
            file.write_all(&secret)?;
            file.sync_all()?;
            // Unlike a rename, a link does not replace a file that another server may have created meanwhile.
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

    /// Returns the path and query of an artifact, valid from `now` on.
    pub(crate) fn sign(&self, job: JobId, sha256: Sha256Digest, name: &str, now: Timestamp) -> String {
        self.sign_path(&format!("/artifacts/{job}/{sha256}/{name}"), now)
    }

    /// Returns the path and query of the picture of a published scenario, valid from `now` on.
    pub(crate) fn sign_thumbnail(&self, digest: Sha256Digest, now: Timestamp) -> String {
        self.sign_path(&format!("/thumbnails/{digest}"), now)
    }

    fn sign_path(&self, path: &str, now: Timestamp) -> String {
        let expires = now.saturating_add(LIFETIME).unwrap_or(now).as_second();
        let signature = self.mac(path, expires).finalize().into_bytes();
        let signature = to_hex(&signature);
        format!("{path}?expires={expires}&signature={signature}")
    }

    /// Returns whether the signature is valid; compared in constant time.
    pub(crate) fn is_valid(&self, path: &str, expires: i64, signature: &str) -> bool {
        let bytes = from_hex::<SIGNATURE>(signature);
        bytes.is_some_and(|bytes| self.mac(path, expires).verify_slice(&bytes).is_ok())
    }

    /// Returns the code that binds a worker's right to a claim to its registration, in hexadecimal.
    pub(crate) fn lease_mac(&self, worker: &str, generation: u32, fence: Fence) -> String {
        let Fence { job_id, shard, attempt } = fence;
        let mut mac = self.keyed();
        mac.update(format!("assay/lease/1\n{worker}\n{generation}\n{job_id}\n{shard}\n{attempt}").as_bytes());
        to_hex(&mac.finalize().into_bytes())
    }

    /// Returns the code that binds a worker's right to a rendering to its registration, in hexadecimal.
    pub(crate) fn render_mac(&self, worker: &str, generation: u32, fence: RenderFence) -> String {
        let RenderFence { job_id, episode, attempt } = fence;
        let mut mac = self.keyed();
        mac.update(format!("assay/render-lease/1\n{worker}\n{generation}\n{job_id}\n{episode}\n{attempt}").as_bytes());
        to_hex(&mac.finalize().into_bytes())
    }

    /// Returns the code that binds a worker's right to a task to its registration, in hexadecimal.
    pub(crate) fn task_mac(&self, worker: &str, generation: u32, fence: TaskFence) -> String {
        let TaskFence { id, attempt } = fence;
        let mut mac = self.keyed();
        mac.update(format!("assay/task-lease/1\n{worker}\n{generation}\n{id}\n{attempt}").as_bytes());
        to_hex(&mac.finalize().into_bytes())
    }

    /// Returns a number that only this service can predict, always the same for the same label and name.
    pub(crate) fn draw(&self, label: &[u8], name: &[u8]) -> u64 {
        let mut mac = self.keyed();
        mac.update(b"assay/draw/1\n");
        mac.update(label);
        mac.update(b"\n");
        mac.update(name);
        let bytes = mac.finalize().into_bytes();
        bytes.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// Creates a keyed hasher: without the secret, the hashed content cannot be guessed and verified.
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

/// A keyed hash over length-prefixed pieces, so that their boundaries count.
pub(crate) struct ContentHasher(Hmac<Sha256>);

impl ContentHasher {
    pub(crate) fn add(&mut self, piece: &[u8]) {
        self.0.update(&(piece.len() as u64).to_le_bytes());
        self.0.update(piece);
    }

    /// Adds a JSON value, independent of the order of fields and of white space.
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
            // With its quotes, so that a string differs from a number.
            other => self.add(other.to_string().as_bytes()),
        }
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.0.finalize().into_bytes().into()
    }
}

/// Returns the download name of a file of evidence: `episodes/003/log.mcap` becomes `003-log.mcap`.
pub(crate) fn file_name(path: &str) -> String {
    path.trim_start_matches("episodes/").replace('/', "-")
}
