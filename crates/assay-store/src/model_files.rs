//! The files of models: `DATA/models/<account>/<sha256>`, and `<upload>.part` beside it while it is being uploaded.
//!
//! A file gets its final name only when it is complete, durable and has the digest in its name, and never changes
//! afterwards. Each account has its own folder, so a digest grants nothing to an account that did not upload the file.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use assay_model::{AccountId, DeclaredModel, ModelUploadId, Sha256Digest};

/// Suffix of the name of an unfinished upload.
const PARTIAL: &str = "part";
/// Mode of a complete file: the user of a jail reads it through a read-only mount; the folder above protects it.
const FILE_MODE: u32 = 0o444;

/// The folder of models.
#[derive(Debug, Clone)]
pub struct ModelFiles(PathBuf);

/// A declared model as a file of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFile {
    /// Path in the policy's folder.
    pub path: String,
    /// Path on this machine.
    pub host: PathBuf,
    /// The data folder that contains it.
    pub data: PathBuf,
}

/// A file in the folder of models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredModelFile {
    /// A complete model.
    Complete(Sha256Digest),
    /// An unfinished upload.
    Partial(ModelUploadId),
    /// Neither.
    Other(PathBuf),
}

/// An error for a declared model without a file.
#[derive(Debug, thiserror::Error)]
pub enum ModelFileError {
    /// The account has no such file.
    #[error("the model {0} is missing")]
    Missing(Sha256Digest),
    /// The folder cannot be read.
    #[error("could not access the files of models")]
    Io(#[from] io::Error),
}

impl ModelFiles {
    /// Name of the folder in a data folder.
    pub const FOLDER: &str = "models";

    /// Returns the models in `folder`, which may not exist, for reading.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// Opens the models in `folder`, creating it with mode 0700 if needed.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn folder(folder: &Path) -> io::Result<Self> {
        create_folder(folder)?;
        Ok(Self(folder.to_owned()))
    }

    /// Returns the folder of models.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the data folder that contains the folder of models.
    #[must_use]
    pub fn data(&self) -> &Path {
        self.0.parent().unwrap_or(&self.0)
    }

    /// Returns the path of a complete model relative to the folder of models.
    #[must_use]
    pub fn relative_path(account: &AccountId, sha256: Sha256Digest) -> String {
        format!("{account}/{sha256}")
    }

    /// Returns the files of the models that a policy of `account` declares.
    ///
    /// # Errors
    /// [`ModelFileError::Missing`] if the account has no such file, or one of another size than declared.
    pub fn resolve(&self, account: &AccountId, models: &[DeclaredModel]) -> Result<Vec<ModelFile>, ModelFileError> {
        let resolve = |model: &DeclaredModel| {
            let host = self.complete(account, model.sha256);
            let about = fs::metadata(&host).map_err(|error| match error.kind() {
                ErrorKind::NotFound => ModelFileError::Missing(model.sha256),
                _ => error.into(),
            })?;
            match model.size_bytes {
                Some(declared) if declared != about.len() => Err(ModelFileError::Missing(model.sha256)),
                _ => Ok(ModelFile { path: model.path.clone(), host, data: self.data().to_owned() }),
            }
        };
        models.iter().map(resolve).collect()
    }

    /// Opens an unfinished upload for reading and writing, truncated to its first `bytes`, which are durable. Returns
    /// `None` if the file has fewer.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open_partial(&self, account: &AccountId, upload: ModelUploadId, bytes: u64) -> io::Result<Option<File>> {
        let path = self.partial(account, upload);
        if bytes == 0 {
            create_folder(&self.0.join(account.as_str()))?;
            File::open(&self.0)?.sync_all()?;
        }
        let opened =
            OpenOptions::new().read(true).write(true).create(bytes == 0).truncate(false).mode(0o600).open(path);
        let file = match opened {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        if file.metadata()?.len() < bytes {
            return Ok(None);
        }
        file.set_len(bytes)?;
        if bytes == 0 {
            // The name of the file must be as durable as its content.
            File::open(self.0.join(account.as_str()))?.sync_all()?;
        }
        Ok(Some(file))
    }

    /// Gives a complete upload, whose digest was verified and whose content is durable, its final name.
    ///
    /// # Errors
    /// The file cannot be renamed.
    pub fn finish(&self, account: &AccountId, upload: ModelUploadId, sha256: Sha256Digest) -> io::Result<()> {
        let partial = self.partial(account, upload);
        fs::set_permissions(&partial, Permissions::from_mode(FILE_MODE))?;
        fs::rename(partial, self.complete(account, sha256))?;
        File::open(self.0.join(account.as_str()))?.sync_all()
    }

    /// Removes a complete model, if it exists.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn remove(&self, account: &AccountId, sha256: Sha256Digest) -> io::Result<()> {
        remove_if_present(&self.complete(account, sha256))
    }

    /// Removes an unfinished upload, if it exists.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn remove_partial(&self, account: &AccountId, upload: ModelUploadId) -> io::Result<()> {
        remove_if_present(&self.partial(account, upload))
    }

    /// Lists all files, with their accounts. Folders that are not an account's are ignored.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn list(&self) -> io::Result<Vec<(AccountId, StoredModelFile)>> {
        let mut found = Vec::new();
        for folder in fs::read_dir(&self.0)? {
            let folder = folder?;
            if !folder.file_type()?.is_dir() {
                continue;
            }
            let Some(account) = folder.file_name().to_str().and_then(|name| name.parse::<AccountId>().ok()) else {
                continue;
            };
            for entry in fs::read_dir(folder.path())? {
                found.push((account.clone(), kind_of(&entry?.path())));
            }
        }
        Ok(found)
    }

    fn complete(&self, account: &AccountId, sha256: Sha256Digest) -> PathBuf {
        self.0.join(Self::relative_path(account, sha256))
    }

    fn partial(&self, account: &AccountId, upload: ModelUploadId) -> PathBuf {
        self.0.join(account.as_str()).join(format!("{upload}.{PARTIAL}"))
    }
}

fn kind_of(path: &Path) -> StoredModelFile {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let upload = name.strip_suffix(PARTIAL).and_then(|name| name.strip_suffix('.')).and_then(|id| id.parse().ok());
    match (upload, name.parse()) {
        (Some(upload), _) => StoredModelFile::Partial(upload),
        (None, Ok(sha256)) => StoredModelFile::Complete(sha256),
        (None, Err(_)) => StoredModelFile::Other(path.to_owned()),
    }
}

fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn remove_if_present(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::io::Write;

    use uuid::Uuid;

    use super::*;

    fn declared(sha256: Sha256Digest, size_bytes: Option<u64>) -> DeclaredModel {
        DeclaredModel { path: "weights/model.onnx".into(), sha256, size_bytes }
    }

    #[test]
    fn a_model_is_resolved_for_its_account_only() {
        let folder = tempfile::tempdir().unwrap();
        let files = ModelFiles::folder(&folder.path().join("models")).unwrap();
        let (lab, other): (AccountId, AccountId) = ("lab".parse().unwrap(), "other".parse().unwrap());
        let (upload, sha256) = (ModelUploadId(Uuid::from_u128(7)), Sha256Digest::of("weights"));
        let mut file = files.open_partial(&lab, upload, 0).unwrap().unwrap();
        file.write_all(b"weights and more").unwrap();
        assert!(matches!(files.resolve(&lab, &[declared(sha256, None)]), Err(ModelFileError::Missing(_))));
        assert!(files.open_partial(&lab, upload, 17).unwrap().is_none(), "the file is shorter than recorded");
        // What is not durable is cut off.
        assert_eq!(files.open_partial(&lab, upload, 7).unwrap().unwrap().metadata().unwrap().len(), 7);
        assert_eq!(files.list().unwrap(), [(lab.clone(), StoredModelFile::Partial(upload))]);
        files.finish(&lab, upload, sha256).unwrap();
        assert_eq!(files.list().unwrap(), [(lab.clone(), StoredModelFile::Complete(sha256))]);
        for size_bytes in [None, Some(7)] {
            let found = files.resolve(&lab, &[declared(sha256, size_bytes)]).unwrap();
            assert_eq!(found[0].path, "weights/model.onnx");
            assert_eq!(fs::read_to_string(&found[0].host).unwrap(), "weights");
            assert_eq!(fs::metadata(&found[0].host).unwrap().permissions().mode() & 0o777, 0o444);
        }
        assert!(matches!(files.resolve(&lab, &[declared(sha256, Some(8))]), Err(ModelFileError::Missing(_))));
        assert!(matches!(files.resolve(&other, &[declared(sha256, None)]), Err(ModelFileError::Missing(_))));
        for _ in 0..2 {
            files.remove(&lab, sha256).unwrap();
            files.remove_partial(&lab, upload).unwrap();
        }
        assert!(matches!(files.resolve(&lab, &[declared(sha256, None)]), Err(ModelFileError::Missing(_))));
    }
}
