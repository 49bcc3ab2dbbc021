//! Signing what stands in a folder of results.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use assay_model::JobReport;
use assay_report::attest::{Envelope, Evidence, KeyError, Statement, StatementError};
use sha2::{Digest, Sha256};

use crate::{Keyring, KeyringError};

/// The signed statement, beside `report.json`.
pub const STATEMENT_FILE: &str = "report.intoto.json";
/// Deepest folder that evidence lies in.
const MAX_DEPTH: usize = 8;

/// A statement that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// The key.
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    /// The key has no id.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Nothing to state.
    #[error(transparent)]
    Statement(#[from] StatementError),
    /// Evidence can't be read, or the statement not written.
    #[error("the signed statement")]
    Io(#[from] io::Error),
    /// No form in JSON.
    #[error("the envelope")]
    Json(#[source] serde_json::Error),
}

/// Every file in `folder` but the statement, hashed now.
///
/// # Errors
/// One can't be read.
pub fn evidence_in(folder: &Path) -> io::Result<Vec<Evidence>> {
    let mut evidence = Vec::new();
    collect(folder, "", 0, &mut evidence)?;
    evidence.retain(|file| file.name != STATEMENT_FILE);
    Ok(evidence)
}

/// Signs `report` and `evidence`, which lie in `folder`, and writes [`STATEMENT_FILE`] beside them.
///
/// # Errors
/// [`SignError`]: our own failure, whatever it is.
pub fn sign(
    folder: &Path,
    report: &JobReport,
    evidence: Vec<Evidence>,
    timestep_s: Option<f64>,
    keyring: &Keyring,
) -> Result<(), SignError> {
    let text = state(report, evidence, timestep_s, keyring)?;
    // In place at once: a reader must never see half of it.
    let partial = folder.join(".report.intoto.json.partial");
    fs::write(&partial, text)?;
    fs::rename(&partial, folder.join(STATEMENT_FILE))?;
    Ok(())
}

/// The signed statement about `report` and `evidence`.
///
/// # Errors
/// As [`sign`].
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
        return Err(io::Error::new(io::ErrorKind::InvalidData, "folders of evidence lie too deep"));
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), &format!("{name}/"), depth + 1, found)?;
        } else if kind.is_file() {
            found.push(Evidence { name, sha256: sha256_of(&entry.path())? });
        }
    }
    Ok(())
}

/// SHA-256 of a file, hexadecimal.
///
/// # Errors
/// It can't be read.
pub fn sha256_of(path: &Path) -> io::Result<String> {
    let (mut file, mut hash, mut buffer) = (File::open(path)?, Sha256::new(), vec![0; 64 * 1024]);
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        hash.update(&buffer[..count]);
    }
    Ok(hex(&hash.finalize()))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
