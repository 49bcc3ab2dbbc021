//! The folder that a job is fetched to. All names come from the service, and are written beneath the folder only.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path};

use anyhow::{Context, anyhow};
use assay_jail::UntrustedFolder;
use assay_model::{JobMode, JobReport, Sha256Digest};
use assay_report::attest::{Envelope, Statement};
use assay_report::json;
use assay_scenario::Scenario;
use assay_worker::STATEMENT_FILE;
use zip::ZipArchive;

use super::failure::wrong;
use crate::exit::{Failure, OrFail};
use crate::output::{Output, REPORT_HTML, REPORT_JSON, ROBOTS, SCENARIO};

/// The policy's name in an archive of the service.
const POLICY: &str = "policy.zip";
/// Names at the top of an archive without evidence.
const TOP: [&str; 6] = [REPORT_JSON, STATEMENT_FILE, REPORT_HTML, POLICY, SCENARIO, ROBOTS];
/// Maximum size of these files together, in bytes.
pub(super) const MAX_DOCUMENTS_BYTES: u64 = 2 << 30;
/// Maximum size of the report in bytes.
const MAX_REPORT_BYTES: u64 = 256 << 20;
/// Maximum number of files of a scenario and its robots, and the others.
const MAX_FILES: usize = 10_000;

/// A job at the service.
#[derive(Debug)]
pub(super) struct JobResource {
    /// Its path, without a final slash.
    pub(super) path: String,
    /// True for the rerun of a submission.
    pub(super) closing: bool,
}

impl JobResource {
    /// Returns the query that selects the rerun, with `rest`.
    pub(super) fn query(&self, rest: &str) -> String {
        let run = if self.closing { "run=closing&" } else { "" };
        format!("?{run}{rest}")
    }
}

/// A folder with the documents of a job.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) folder: UntrustedFolder,
    pub(super) report: JobReportFacts,
    pub(super) has_policy: bool,
}

/// The report, as far as files are compared with it.
#[derive(Debug)]
pub(super) struct JobReportFacts(JobReport);

impl JobReportFacts {
    /// Returns whether it is a submission's.
    pub(super) fn is_arena(&self) -> bool {
        self.0.mode == JobMode::Arena
    }

    /// Returns the SHA-256 of a file of evidence, if the report has it.
    pub(super) fn sha256_of(&self, name: &str) -> Option<Sha256Digest> {
        let mut files = self.0.episode_details.iter().flat_map(|episode| &episode.evidence);
        files.find(|file| file.name == name).map(|file| file.sha256)
    }
}

impl Fetched {
    /// Writes the documents in `archive` to the folder `out`, which is created, is empty, or has the same report.
    pub(super) fn create(out: &Path, archive: File) -> Result<Self, Failure> {
        let mut archive = ZipArchive::new(archive).map_err(|error| wrong("the archive", &error.to_string()))?;
        let text = entry(&mut archive, REPORT_JSON)?.ok_or_else(|| wrong("the archive", "has no report"))?;
        let report = std::str::from_utf8(&text).ok().map(json::parse);
        let report = report.ok_or_else(|| wrong("the report", "is not UTF-8"))?.context("the service's report");
        let report = report.or_internal()?;
        check_statement(&text, entry(&mut archive, STATEMENT_FILE)?)?;
        Output::check(out).or_usage()?;
        fs::create_dir_all(out).with_context(|| format!("--out {}", out.display())).or_usage()?;
        let folder = UntrustedFolder::open(out).with_context(|| format!("--out {}", out.display())).or_usage()?;
        if folder.kind(REPORT_JSON).is_some() {
            let found = folder.read(REPORT_JSON, MAX_REPORT_BYTES);
            if found.with_context(|| format!("--out {}", out.display())).or_usage()? != text {
                let what = anyhow!("--out {} has the report of another job; choose another folder", out.display());
                return Err(Failure::Usage(what));
            }
        }
        unpack(&mut archive, &folder)?;
        let has_policy = folder.kind(POLICY).is_some();
        let fetched = Self { folder, report: JobReportFacts(report), has_policy };
        fetched.check(out)?;
        Ok(fetched)
    }

    /// Compares the policy and the scenario with the report.
    fn check(&self, out: &Path) -> Result<(), Failure> {
        let report = &self.report.0;
        if self.has_policy && Some(self.folder.sha256(POLICY).or_internal()?) != report.policy_sha256 {
            return Err(wrong(POLICY, "is not the policy of the report"));
        }
        if self.folder.kind(SCENARIO).is_none() {
            return Ok(());
        }
        let loaded = Scenario::load(&out.join(SCENARIO), &out.join(ROBOTS));
        let loaded = loaded.context("the scenario from the service").or_internal()?;
        match loaded.digest == report.scenario_digest {
            true => Ok(()),
            false => Err(wrong("the scenario", "is not that of the report")),
        }
    }

    /// Begins to write the file `name`, whose folders are created.
    pub(super) fn write(
        &self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (folder, name) = folder_of(&self.folder, name)?;
        let mut file = folder.create(&name).with_context(|| name.clone()).or_internal()?;
        write(&mut file)?;
        file.finish().with_context(|| name.clone()).or_internal()
    }
}

/// Writes all entries of the archive.
fn unpack(archive: &mut ZipArchive<File>, folder: &UntrustedFolder) -> Result<(), Failure> {
    if archive.len() > MAX_FILES {
        return Err(wrong("the archive", "has too many files"));
    }
    let mut left = MAX_DOCUMENTS_BYTES;
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).map_err(|error| wrong("the archive", &error.to_string()))?;
        let name = file.name().map_err(|error| wrong("the archive", &error.to_string()))?.into_owned();
        if !is_document(&name) {
            return Err(wrong("the archive", &format!("has a file {name:?}, which does not belong there")));
        }
        let (place, last) = folder_of(folder, &name)?;
        let mut target = place.create(&last).with_context(|| name.clone()).or_internal()?;
        let copied = io::copy(&mut (&mut file).take(left.saturating_add(1)), &mut target);
        left = left.checked_sub(copied.with_context(|| name.clone()).or_internal()?).ok_or_else(too_large)?;
        target.finish().with_context(|| name.clone()).or_internal()?;
    }
    Ok(())
}

/// Returns whether a file with this name belongs to an archive without evidence.
fn is_document(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let Some(Component::Normal(first)) = parts.next() else { return false };
    let has_more = parts.clone().next().is_some();
    let is_plain = parts.all(|part| matches!(part, Component::Normal(_)));
    let is_folder = [SCENARIO, ROBOTS].iter().any(|folder| first == *folder);
    is_plain && has_more == is_folder && TOP.iter().any(|top| first == *top)
}

/// Opens the folder of the file `name`. Returns it with the last part of the name.
fn folder_of(folder: &UntrustedFolder, name: &str) -> Result<(UntrustedFolder, String), Failure> {
    let (parent, last) = name.rsplit_once('/').unwrap_or(("", name));
    if last.is_empty() || last == "." || last == ".." {
        return Err(wrong(&format!("the name {name:?}"), "does not name a file"));
    }
    let place = folder.make_folder(Path::new(parent)).with_context(|| name.to_owned()).or_internal()?;
    Ok((place, last.to_owned()))
}

/// Reads an entry at the top of the archive.
fn entry(archive: &mut ZipArchive<File>, name: &str) -> Result<Option<Vec<u8>>, Failure> {
    let Ok(file) = archive.by_name(name) else { return Ok(None) };
    let mut content = Vec::new();
    file.take(MAX_REPORT_BYTES + 1).read_to_end(&mut content).with_context(|| name.to_owned()).or_internal()?;
    if content.len() as u64 > MAX_REPORT_BYTES { Err(too_large()) } else { Ok(Some(content)) }
}

/// Checks that the statement is about this report. Its signature is for `assay attest verify`.
fn check_statement(report: &[u8], statement: Option<Vec<u8>>) -> Result<(), Failure> {
    let statement = statement.ok_or_else(|| wrong("the archive", "has no statement"))?;
    let payload = Envelope::parse(&statement).and_then(|envelope| envelope.payload());
    let payload = payload.context("the service's statement").or_internal()?;
    let statement: Statement = serde_json::from_slice(&payload).context("the service's statement").or_internal()?;
    let expected = Some(Sha256Digest::of(report));
    match statement.predicate.evidence.iter().any(|file| file.name == REPORT_JSON && file.sha256 == expected) {
        true => Ok(()),
        false => Err(wrong("the statement", "is about another report")),
    }
}

fn too_large() -> Failure {
    wrong("the archive", "is too large")
}

#[cfg(test)]
mod tests {
    use super::is_document;

    #[test]
    fn only_documents_are_unpacked() {
        for good in ["report.json", "policy.zip", "scenario/scene.xml", "robots/panda/meshes/link0.stl"] {
            assert!(is_document(good), "{good}");
        }
        for bad in [
            "",
            "/report.json",
            "../report.json",
            "report.json/x",
            "scenario",
            "scenario/../../x",
            "episodes/000/trace.parquet",
            ".bashrc",
            "policy/policy.py",
        ] {
            assert!(!is_document(bad), "{bad}");
        }
    }
}
