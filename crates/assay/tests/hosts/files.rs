//! Compares the files of all hosts with the records.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use assay_model::{Artifact, EpisodeResult};
use assay_testkit::Postgres;

use crate::hosts::audit::DATABASE;
use crate::hosts::site::{PREFIX, Site};

/// Files of a data folder whose records and files are elsewhere.
const OWN: [&str; 5] = ["assay.lock", "artifact-secret", "bootstrap-key", "bucket", "site"];
/// Folders of the data folder that are not listed in the records: signing keys, scenario versions, and locks.
const UNLISTED: [&str; 3] = ["signing/", "scenarios/", "locks/"];

/// Returns the files in the bucket that no record names, and the names that no file has.
pub(crate) fn in_bucket(site: &Site) -> Vec<String> {
    let (archives, evidence) = named(&site.database);
    let named: BTreeSet<String> = archives.iter().chain(&evidence).map(|name| format!("{PREFIX}{name}")).collect();
    let found: BTreeSet<String> = site.s3.keys().iter().map(|key| key.trim_end_matches(".pack").to_owned()).collect();
    let extra = found.difference(&named).map(|key| format!("no record names {key}"));
    extra.chain(named.difference(&found).map(|key| format!("there is no {key}"))).collect()
}

/// Returns the files that the hosts of a stopped server and of stopped workers should not have.
pub(crate) fn on_hosts(site: &Site) -> Vec<String> {
    let (archives, _) = named(&site.database);
    let mut found = Vec::new();
    walk(&site.server_files.path("data"), "", &mut found);
    found.retain(|name| !OWN.contains(&name.as_str()) && !UNLISTED.iter().any(|folder| name.starts_with(folder)));
    // A worker caches what its jobs need.
    for worker in &site.workers {
        let mut cached = Vec::new();
        walk(&worker.files.path(&format!("cache-{}", worker.name)), "", &mut cached);
        let is_archive = |digest: &str| archives.iter().any(|archive| archive.contains(digest));
        cached.retain(|name| name != "lock" && !name.strip_prefix("files/").is_some_and(is_archive));
        found.extend(cached.into_iter().map(|name| format!("{}: {name}", worker.name)));
    }
    found
}

fn walk(folder: &Path, prefix: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        match entry.path().is_dir() {
            true => walk(&entry.path(), &format!("{name}/"), found),
            false => found.push(name),
        }
    }
}

/// Returns the names of archives and of evidence.
fn named(database: &Postgres) -> (Vec<String>, Vec<String>) {
    let rows = |sql: &str| database.sql(DATABASE, sql).lines().map(str::to_owned).collect::<Vec<_>>();
    let mut evidence = Vec::new();
    let mut add =
        |job: &str, files: &[Artifact]| evidence.extend(files.iter().map(|file| format!("jobs/{job}/{}", file.sha256)));
    for row in rows("SELECT job_id || ' ' || result FROM episodes") {
        let (job, result) = row.split_once(' ').unwrap();
        add(job, &serde_json::from_str::<EpisodeResult>(result).unwrap().evidence);
    }
    for row in rows("SELECT job_id || ' ' || files FROM renders") {
        let (job, files) = row.split_once(' ').unwrap();
        add(job, &serde_json::from_str::<Vec<Artifact>>(files).unwrap());
    }
    (rows("SELECT policy_path FROM jobs"), evidence)
}
