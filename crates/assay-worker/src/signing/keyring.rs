//! The keys that sign statements, in a folder: `signing-key.pem` (the secret one, readable by its owner only) and
//! `keys.json` (all public ones, including retired ones). They are read for each signature, so a rotation needs no
//! restart.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use assay_model::Entropy;
use assay_report::attest::{KeyError, PublishedKeys, SigningKey};
use jiff::Timestamp;

const SECRET: &str = "signing-key.pem";
const PUBLIC: &str = "keys.json";

/// A folder of keys.
#[derive(Debug, Clone)]
pub struct Keyring {
    folder: PathBuf,
}

/// An error of the signing keys.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    /// A file system error.
    #[error("could not use the signing keys: {}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file is not a key.
    #[error("could not use the signing keys: {}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// The fault in its content.
        #[source]
        source: KeyError,
    },
    /// The list of public keys is invalid.
    #[error("{} is not a valid list of keys", path.display())]
    List {
        /// The file.
        path: PathBuf,
        /// The fault in its content.
        #[source]
        source: serde_json::Error,
    },
    /// The secret key is readable by others.
    #[error("{} can be read by others: run `chmod 600` on it, or `assay attest rotate` if it may have leaked", .0.display())]
    Exposed(PathBuf),
}

impl Keyring {
    /// Opens the keys in `folder`; creates the folder and the first key if they do not exist.
    ///
    /// # Errors
    /// [`KeyringError`] names the file.
    pub fn open(folder: &Path, entropy: &dyn Entropy, now: Timestamp) -> Result<Self, KeyringError> {
        let keyring = Self { folder: folder.to_owned() };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|e| keyring.failed("", e))?;
        if !keyring.path(SECRET).exists() {
            // If two programs start at the same time, one creates the key and the other finds it.
            match keyring.write_secret(entropy)?.persist_noclobber(keyring.path(SECRET)) {
                Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(keyring.failed(SECRET, error.error));
                }
                _ => {}
            }
        }
        keyring.publish(now)?;
        Ok(keyring)
    }

    /// Returns the folder of the keys.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the current signing key.
    ///
    /// # Errors
    /// [`KeyringError`], also when others can read it.
    pub fn current(&self) -> Result<SigningKey, KeyringError> {
        let path = self.path(SECRET);
        let mode = fs::metadata(&path).map_err(|e| self.failed(SECRET, e))?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(KeyringError::Exposed(path));
        }
        let text = fs::read_to_string(&path).map_err(|e| self.failed(SECRET, e))?;
        SigningKey::from_pem(&text).map_err(|source| KeyringError::Key { path, source })
    }

    /// Returns the id of the current signing key.
    ///
    /// # Errors
    /// [`KeyringError`] names the file.
    pub fn keyid(&self) -> Result<String, KeyringError> {
        let key = self.current()?.public();
        key.keyid().map_err(|source| KeyringError::Key { path: self.path(SECRET), source })
    }

    /// Returns all public keys, newest first.
    ///
    /// # Errors
    /// [`KeyringError`] names the file.
    pub fn published(&self) -> Result<PublishedKeys, KeyringError> {
        let path = self.path(PUBLIC);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|source| KeyringError::List { path, source }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(PublishedKeys::default()),
            Err(error) => Err(self.failed(PUBLIC, error)),
        }
    }

    /// Replaces the current signing key. Signatures of the old one stay valid.
    ///
    /// # Errors
    /// [`KeyringError`] names the file.
    pub fn rotate(&self, entropy: &dyn Entropy, now: Timestamp) -> Result<(), KeyringError> {
        self.write_secret(entropy)?.persist(self.path(SECRET)).map_err(|e| self.failed(SECRET, e.error))?;
        self.publish(now)
    }

    /// Adds the secret key's public key to the list, also after a program died between writing the two files.
    fn publish(&self, now: Timestamp) -> Result<(), KeyringError> {
        let mut published = self.published()?;
        let before = published.clone();
        let promoted = self.current()?.public();
        let path = self.path(PUBLIC);
        published.promote(&promoted, now).map_err(|source| KeyringError::Key { path: path.clone(), source })?;
        if published == before {
            return Ok(());
        }
        let mut text = serde_json::to_vec_pretty(&published)
            .map_err(|source| KeyringError::List { path: path.clone(), source })?;
        text.push(b'\n');
        let file = self.temporary(&text, 0o644).map_err(|e| self.failed(PUBLIC, e))?;
        file.persist(path).map(drop).map_err(|e| self.failed(PUBLIC, e.error))
    }

    fn write_secret(&self, entropy: &dyn Entropy) -> Result<tempfile::NamedTempFile, KeyringError> {
        let mut secret = [0; 32];
        entropy.fill(&mut secret);
        let path = self.path(SECRET);
        let pem = SigningKey::from_secret(secret).to_pem().map_err(|source| KeyringError::Key { path, source })?;
        self.temporary(pem.as_bytes(), 0o600).map_err(|e| self.failed(SECRET, e))
    }

    /// Writes the content durably to a file that does not have its name yet.
    fn temporary(&self, content: &[u8], mode: u32) -> io::Result<tempfile::NamedTempFile> {
        let permissions = fs::Permissions::from_mode(mode);
        let mut file = tempfile::Builder::new().permissions(permissions).tempfile_in(&self.folder)?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        Ok(file)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn failed(&self, name: &str, source: io::Error) -> KeyringError {
        KeyringError::File { path: self.path(name), source }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// Deterministic source of entropy: each 32 bytes are one higher than the last.
    #[derive(Debug, Default)]
    struct Counting(std::sync::atomic::AtomicU8);

    impl Entropy for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1);
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn keys_are_created_once_and_kept_after_a_rotation() {
        let place = tempfile::tempdir().unwrap();
        let (folder, entropy) = (place.path().join("a/signing"), Counting::default());
        let keyring = Keyring::open(&folder, &entropy, at(1)).unwrap();
        assert_eq!((mode(&folder), mode(&folder.join(SECRET)), mode(&folder.join(PUBLIC))), (0o700, 0o600, 0o644));
        let first = keyring.current().unwrap().public();
        assert_eq!(Keyring::open(&folder, &entropy, at(2)).unwrap().current().unwrap().public(), first);

        keyring.rotate(&entropy, at(3)).unwrap();
        let published = keyring.published().unwrap();
        let second = keyring.current().unwrap().public();
        assert_ne!(first, second);
        assert_eq!(mode(&folder.join(SECRET)), 0o600);
        let times: Vec<_> = published.keys.iter().map(|key| (key.created_at, key.retired_at)).collect();
        assert_eq!(times, [(at(3), None), (at(1), Some(at(3)))]);
        assert_eq!(published.keys.iter().map(|key| key.key().unwrap()).collect::<Vec<_>>(), [second, first]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "nothing temporary is left");
    }

    #[test]
    fn a_rotation_that_died_in_the_middle_is_completed() {
        let place = tempfile::tempdir().unwrap();
        let entropy = Counting::default();
        let keyring = Keyring::open(place.path(), &entropy, at(1)).unwrap();
        keyring.write_secret(&entropy).unwrap().persist(keyring.path(SECRET)).unwrap();
        let keyring = Keyring::open(place.path(), &entropy, at(5)).unwrap();
        let published = keyring.published().unwrap();
        assert_eq!(published.current().unwrap().key().unwrap(), keyring.current().unwrap().public());
        assert_eq!(published.keys.len(), 2);
    }

    #[test]
    fn a_secret_that_others_can_read_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let keyring = Keyring::open(place.path(), &Counting::default(), at(1)).unwrap();
        fs::set_permissions(keyring.path(SECRET), fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(keyring.current(), Err(KeyringError::Exposed(_))));
        fs::set_permissions(keyring.path(SECRET), fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(keyring.path(SECRET), "no key").unwrap();
        assert!(matches!(keyring.current(), Err(KeyringError::Key { .. })));
    }
}
