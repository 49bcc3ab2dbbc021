//! Comparison of the files that a statement lists with those in a folder.

use std::io::ErrorKind;

use anyhow::anyhow;
use assay_jail::UntrustedFolder;
use assay_model::Sha256Digest;
use assay_report::attest::Evidence;

use super::lines::line;
use super::rendered_files::RenderedFiles;
use crate::exit::ExitStatus;
use crate::output::REPORT_JSON;

/// Number of digits of a digest that are shown.
const SHOWN_DIGITS: usize = 16;
/// Maximum number of files that are named.
const SHOWN_FILES: usize = 3;

/// The evidence present in a folder, all of it unchanged.
pub(super) struct PresentEvidence {
    /// Number of files that are present.
    pub(super) here: usize,
    /// Names of missing files.
    pub(super) absent: Vec<String>,
    /// True if `report.json` is present.
    pub(super) report: bool,
}

impl PresentEvidence {
    pub(super) fn summary(&self) -> String {
        let all = self.here + self.absent.len();
        match self.absent.len() {
            0 => format!("all {all} files match the signed statement"),
            absent => format!("{} of {all} files match the signed statement; {absent} are missing", self.here),
        }
    }

    /// Writes the result, and returns the exit status.
    pub(super) fn write_result(&self, text: &mut String, rendered: &RenderedFiles, allow_missing: bool) -> ExitStatus {
        if !rendered.unsigned.is_empty() {
            // Readers must not believe that the signature covers such a file.
            let names = shown(&rendered.unsigned);
            let why = format!("INCOMPLETE, unsigned: {names}; remove files that don't belong there");
            line(text, "result", &assay_model::sanitise(&why, usize::MAX));
            ExitStatus::Inconclusive
        } else if self.absent.is_empty() {
            line(text, "result", "VERIFIED");
            ExitStatus::Success
        } else if !self.report {
            line(text, "result", &format!("INCOMPLETE, {REPORT_JSON} is missing, so the numbers could not be checked"));
            ExitStatus::Inconclusive
        } else if allow_missing {
            line(text, "result", "VERIFIED, the report alone: missing files were not checked");
            ExitStatus::Success
        } else {
            let names = shown(&self.absent);
            let why = format!("INCOMPLETE, missing: {names} (--allow-missing accepts the report alone)");
            line(text, "result", &assay_model::sanitise(&why, usize::MAX));
            ExitStatus::Inconclusive
        }
    }
}

fn shown(names: &[String]) -> String {
    let more = if names.len() > SHOWN_FILES { ", ..." } else { "" };
    format!("{}{more}", names.iter().take(SHOWN_FILES).cloned().collect::<Vec<_>>().join(", "))
}

/// The result of comparing files with the signed digests.
pub(super) enum EvidenceCheck {
    /// Every file present is the one that was signed.
    Unchanged(PresentEvidence),
    /// A file differs: its name and both digests.
    Changed(String),
}

/// Compares `files` with those in `folder`.
pub(super) fn evidence(files: &[Evidence], folder: &UntrustedFolder) -> anyhow::Result<EvidenceCheck> {
    let mut found = PresentEvidence { here: 0, absent: Vec::new(), report: false };
    for file in files {
        // The statement may have been signed by an untrusted party: its names must not lead out of the folder.
        let plain = file.name.split('/').all(|part| !matches!(part, "" | "." | "..")) && !file.name.contains('\\');
        if !plain {
            return Err(anyhow!("the statement names {:?}, which is not a path inside its folder", file.name));
        }
        match folder.sha256(&file.name) {
            Ok(hash) if Some(hash) == file.sha256 => {
                found.here += 1;
                found.report |= file.name == REPORT_JSON;
            }
            Ok(hash) => {
                let digits = |hash: Sha256Digest| format!("{hash:.SHOWN_DIGITS$}");
                let (found, signed) = (digits(hash), file.sha256.map(digits).unwrap_or_default());
                return Ok(EvidenceCheck::Changed(format!("{} (sha256 {found}.., not {signed}..)", file.name)));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => found.absent.push(file.name.clone()),
            Err(error) => {
                let path = folder.path().join(&file.name);
                return Err(anyhow!(error).context(format!("can't read {}", path.display())));
            }
        }
    }
    Ok(EvidenceCheck::Unchanged(found))
}
