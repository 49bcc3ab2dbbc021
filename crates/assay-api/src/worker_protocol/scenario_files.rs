//! The files of a scenario and its robots, which workers fetch by their SHA-256.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path as FilePath, PathBuf};

use assay_model::{ScenarioFile, ScenarioListing, Sha256Digest, Sha256Writer};
use axum::extract::{Path, State};
use axum::response::Response;

use super::inputs::{digest, missing, send};
use super::lease::HeldShard;
use crate::disk::disk_error;
use crate::http::{ApiError, Json};
use crate::remembered_scenarios::{LocatedFile, LocatedFiles};
use crate::state::App;

/// Maximum depth of folders in a scenario, and maximum number of its files.
const MAX_DEPTH: usize = 16;
const MAX_FILES: usize = 4096;

/// `GET .../scenario`: the files of the scenario's version and of its robots.
pub(super) async fn scenario(State(app): State<App>, held: HeldShard) -> Result<Json<ScenarioListing>, ApiError> {
    Ok(listed(&version_files(&app, held.claim.header.scenario_digest).await?))
}

/// `GET .../scenario/{sha256}`: one of these files.
pub(super) async fn scenario_file(
    State(app): State<App>,
    held: HeldShard,
    Path(values): Path<BTreeMap<String, String>>,
) -> Result<Response, ApiError> {
    send_one_of(&app, &version_files(&app, held.claim.header.scenario_digest).await?, &values).await
}

/// Returns the files of a scenario's version and of its robots.
///
/// # Errors
/// 503: the version is not on this server, or its files cannot be read.
pub(crate) async fn version_files(app: &App, version: Sha256Digest) -> Result<LocatedFiles, ApiError> {
    let found = app.scenario_files.scenario(version).zip(app.scenario_files.robots(version));
    let (scenario, robots) = found.ok_or_else(|| missing("the scenario"))?;
    if let Some(files) = app.worker_fleet.scenarios().get(version) {
        return Ok(files);
    }
    let files = files_in(app, scenario, robots).await?;
    app.worker_fleet.scenarios().remember(version, &files);
    Ok(files)
}

/// Returns the files of a scenario in the folder `scenario` and of its robots.
///
/// # Errors
/// 503: they cannot be read.
pub(super) async fn files_in(app: &App, scenario: PathBuf, robots: PathBuf) -> Result<LocatedFiles, ApiError> {
    let reading = move || -> io::Result<LocatedFiles> {
        let mut files = Vec::new();
        add(&scenario, "scenario", 0, &mut files)?;
        if robots.is_dir() {
            add(&robots, "robots", 0, &mut files)?;
        }
        Ok(files.into())
    };
    let files = tokio::task::spawn_blocking(reading).await;
    let files = files.map_err(|e| ApiError::internal("listing a scenario panicked", &e))?;
    files.map_err(|error| disk_error(app, &error))
}

fn add(folder: &FilePath, name: &str, depth: usize, files: &mut Vec<LocatedFile>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if kind.is_dir() && depth < MAX_DEPTH {
            add(&path, &name, depth + 1, files)?;
        } else if kind.is_file() && files.len() < MAX_FILES {
            let (mut hash, mut file) = (Sha256Writer::default(), std::fs::File::open(&path)?);
            let size_bytes = io::copy(&mut file, &mut hash)?;
            files.push(LocatedFile { file: ScenarioFile { path: name, sha256: hash.finish(), size_bytes }, path });
        }
    }
    Ok(())
}

/// Responds with the list.
pub(super) fn listed(files: &LocatedFiles) -> Json<ScenarioListing> {
    Json(ScenarioListing { files: files.iter().map(|listed| listed.file.clone()).collect() })
}

/// Responds with the bytes of the one whose SHA-256 the path names.
///
/// # Errors
/// 404: none has it. 503: it cannot be read.
pub(super) async fn send_one_of(
    app: &App,
    files: &LocatedFiles,
    values: &BTreeMap<String, String>,
) -> Result<Response, ApiError> {
    let wanted = digest(values)?;
    let found = files.iter().find(|listed| listed.file.sha256 == wanted);
    send(app, &found.ok_or_else(|| ApiError::not_found("file in this scenario"))?.path).await
}
