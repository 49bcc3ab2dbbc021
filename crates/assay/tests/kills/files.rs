//! Compares the files in the data folder with the records.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use assay_model::{Artifact, EpisodeResult};
use rusqlite::Connection;

/// Files that exist in every data folder.
const OWN: [&str; 6] = ["assay.db", "assay.db-wal", "assay.db-shm", "assay.lock", "artifact-secret", "bootstrap-key"];
/// The signing keys, which are not listed in the records.
const SIGNING: &str = "signing/";
const PACKED: &str = ".pack";
/// Folders of scenario versions, their files and their robots'.
const SCENARIOS: &str = "scenarios/";
const DIGEST_CHARS: usize = 64;

/// Returns the files of a data folder that its records do not name, and the names that no file has, each with a sign.
pub(crate) fn differences(data: &Path, records: &Connection) -> Vec<String> {
    let mut found = BTreeSet::new();
    walk(data, data, &mut found);
    found.retain(|name| !OWN.contains(&name.as_str()) && !name.starts_with(SIGNING));
    let found: BTreeSet<String> = found.iter().map(|name| recorded(name)).collect();
    let named = named(records);
    let extra = found.difference(&named).map(|name| format!("no record names {name}"));
    extra.chain(named.difference(&found).map(|name| format!("there is no {name}"))).collect()
}

/// Returns the name of a file in the records: an artifact without the suffix of packed files, a scenario version by its
/// digest.
fn recorded(name: &str) -> String {
    let version = name.strip_prefix(SCENARIOS).and_then(|name| name.get(..DIGEST_CHARS));
    version.map_or_else(|| name.trim_end_matches(PACKED).to_owned(), |digest| format!("{SCENARIOS}{digest}"))
}

fn walk(root: &Path, folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(root, &path, found);
        } else {
            found.insert(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
        }
    }
}

/// Archives and evidence of jobs of which nothing was removed, and the versions of scenarios that are kept.
fn named(records: &Connection) -> BTreeSet<String> {
    let text = |sql: &str| -> Vec<(String, String)> {
        let mut rows = records.prepare(sql).unwrap();
        let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let archives = text("SELECT job_id, policy_path FROM jobs WHERE policy_removed_at IS NULL");
    let mut named: BTreeSet<String> = archives.into_iter().map(|(_, path)| path).collect();
    let evidence = |job: &str, files: &[Artifact]| -> Vec<String> {
        files.iter().map(|file| format!("blobs/jobs/{job}/{}", file.sha256)).collect()
    };
    let versions = text("SELECT digest, id FROM installed_versions");
    named.extend(versions.into_iter().map(|(digest, _)| format!("{SCENARIOS}{digest}")));
    let kept = "evidence_removed_at IS NULL";
    for (job, result) in text(&format!("SELECT job_id, result FROM episodes JOIN jobs USING (job_id) WHERE {kept}")) {
        named.extend(evidence(&job, &serde_json::from_str::<EpisodeResult>(&result).unwrap().evidence));
    }
    for (job, files) in text(&format!("SELECT job_id, files FROM renders JOIN jobs USING (job_id) WHERE {kept}")) {
        named.extend(evidence(&job, &serde_json::from_str::<Vec<Artifact>>(&files).unwrap()));
    }
    named
}
