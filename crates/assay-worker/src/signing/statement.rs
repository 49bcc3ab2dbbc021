//! Signing of the files in a folder of results.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use assay_jail::UntrustedFolder;
use assay_model::{JobReport, Sha256Digest, Sha256Writer};
use assay_report::attest::{Envelope, Evidence, KeyError, Statement, StatementError};

use crate::{Keyring, KeyringError};

/// Name of the signed statement, next to `report.json`.
pub const STATEMENT_FILE: &str = "report.intoto.json";
/// Maximum depth of folders with evidence.
const MAX_DEPTH: usize = 8;

/// An error that prevented the creation of a statement.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// The key is unusable.
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    /// The key has no id.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The statement has no content.
    #[error(transparent)]
    Statement(#[from] StatementError),
    /// Evidence cannot be read, or the statement cannot be written.
    #[error("could not read evidence or write the signed statement")]
    Io(#[from] io::Error),
    /// The statement cannot be encoded as JSON.
    #[error("could not encode the signed statement")]
    Json(#[source] serde_json::Error),
}

/// Returns every file in `folder` except the statement, with its current hash.
///
/// # Errors
/// A file cannot be read.
pub fn evidence_in(folder: &Path) -> io::Result<Vec<Evidence>> {
    let mut evidence = Vec::new();
    collect(folder, "", 0, &mut evidence)?;
    evidence.retain(|file| file.name != STATEMENT_FILE);
    Ok(evidence)
}

/// Signs `report` and `evidence`, which are in `folder`, and writes [`STATEMENT_FILE`] next to them.
///
/// # Errors
/// [`SignError`]: always an internal error.
pub fn sign(
    folder: &Path,
    report: &JobReport,
    evidence: Vec<Evidence>,
    timestep_s: Option<f64>,
    keyring: &Keyring,
) -> Result<(), SignError> {
    let text = state(report, evidence, timestep_s, keyring)?;
    // Written atomically: a reader must never see a partial file.
    Ok(UntrustedFolder::open(folder)?.write(STATEMENT_FILE, &text)?)
}

/// Returns the signed statement about `report` and `evidence`.
///
/// # Errors
/// As for [`sign`].
pub(crate) fn state(
    report: &JobReport,
    evidence: Vec<Evidence>,
    timestep_s: Option<f64>,
    keyring: &Keyring,
) -> Result<Vec<u8>, SignError> {
    let statement = Statement::of(report, timestep_s, env!("CARGO_PKG_VERSION"), evidence)?;
    let envelope = Envelope::sign(&statement.to_bytes()?, &keyring.current()?)?;
    let mut text = serde_json::to_vec_pretty(&envelope).map_err(SignError::Json)?;
    text.push(b'\n');
    Ok(text)
}

fn collect(folder: &Path, prefix: &str, depth: usize, found: &mut Vec<Evidence>) -> io::Result<()> {
    if depth > MAX_DEPTH {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the folders of evidence are nested too deeply"));
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), &format!("{name}/"), depth + 1, found)?;
        } else if kind.is_file() {
            found.push(Evidence::new(&name, sha256_of(&entry.path())?));
        }
    }
    Ok(())
}

/// Returns the SHA-256 of a file.
///
/// # Errors
/// The file cannot be read.
pub fn sha256_of(path: &Path) -> io::Result<Sha256Digest> {
    let (mut file, mut hash, mut buffer) = (File::open(path)?, Sha256Writer::default(), vec![0; 64 * 1024]);
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        hash.update(&buffer[..count]);
    }
    Ok(hash.finish())
}
