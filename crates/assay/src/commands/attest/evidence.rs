//! Files that a statement lists, compared with those in a folder.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::anyhow;
use assay_model::Sha256Digest;
use assay_report::attest::Evidence;
use assay_worker::sha256_of;

use super::beside::Beside;
use super::lines::line;
use crate::exit::Code;
use crate::output::REPORT_JSON;

/// Digits of a hash that are shown.
const SHOWN_DIGITS: usize = 16;
/// Missing files that are named.
const SHOWN_FILES: usize = 3;

/// The evidence present in a folder, all of it unchanged.
pub(super) struct PresentEvidence {
    pub(super) here: usize,
    /// Names of what does not.
    pub(super) absent: Vec<String>,
    /// `report.json` is among what is here.
    pub(super) report: bool,
}

impl PresentEvidence {
    pub(super) fn words(&self) -> String {
        let all = self.here + self.absent.len();
        match self.absent.len() {
            0 => format!("all {all} files are those that were signed"),
            absent => format!("{} of {all} files are those that were signed; {absent} are not here", self.here),
        }
    }

    /// Says in the end whether that is enough.
    pub(super) fn result(&self, text: &mut String, beside: &Beside, allow_missing: bool) -> Code {
        if !beside.unsigned.is_empty() {
            // Whoever looks at such a file must not think that the signature covers it.
            let why = format!("INCOMPLETE, signed by nobody: {}; remove what you don't know", shown(&beside.unsigned));
            line(text, "result", &assay_model::sanitise(&why, usize::MAX));
            Code::Inconclusive
        } else if self.absent.is_empty() {
            line(text, "result", "VERIFIED");
            Code::Success
        } else if !self.report {
            line(text, "result", &format!("INCOMPLETE, {REPORT_JSON} and so the numbers could not be checked"));
            Code::Inconclusive
        } else if allow_missing {
            line(text, "result", "VERIFIED, the report alone: what is not here was not looked at");
            Code::Success
        } else {
            let names = shown(&self.absent);
            let why = format!("INCOMPLETE, not here: {names} (--allow-missing accepts the report alone)");
            line(text, "result", &assay_model::sanitise(&why, usize::MAX));
            Code::Inconclusive
        }
    }
}

fn shown(names: &[String]) -> String {
    let more = if names.len() > SHOWN_FILES { ", ..." } else { "" };
    format!("{}{more}", names.iter().take(SHOWN_FILES).cloned().collect::<Vec<_>>().join(", "))
}

/// The result of comparing files with those that were signed.
pub(super) enum EvidenceCheck {
    /// Every file present is the one that was signed.
    Unchanged(PresentEvidence),
    /// This file is another one: its name and both hashes.
    Changed(String),
}

/// Compares `files` with those in `folder`.
pub(super) fn evidence(files: &[Evidence], folder: &Path) -> anyhow::Result<EvidenceCheck> {
    let mut found = PresentEvidence { here: 0, absent: Vec::new(), report: false };
    for file in files {
        // The statement is signed, but by somebody else: its names must not lead out of the folder.
        let plain = file.name.split('/').all(|part| !matches!(part, "" | "." | "..")) && !file.name.contains('\\');
        if !plain {
            return Err(anyhow!("the statement names {:?}, which is no path inside a folder", file.name));
        }
        let path = folder.join(&file.name);
        // A pipe would be waited for, and a device read, for ever.
        if path.metadata().is_ok_and(|about| !about.is_file()) {
            return Err(anyhow!("{} is no regular file", path.display()));
        }
        match sha256_of(&path) {
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
            Err(error) => return Err(anyhow!(error).context(format!("can't read {}", path.display()))),
        }
    }
    Ok(EvidenceCheck::Unchanged(found))
}
