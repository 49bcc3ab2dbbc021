//! Scenarios from the server, kept in the cache's folder like those of a server's data folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use assay_model::{ScenarioId, ScenarioListing, Sha256Digest};
use assay_scenario::Scenario;
use assay_store::{ScenarioFiles, VersionSource};

use super::client::ProtocolClient;
use super::error::ServerCallError;
use crate::{Engine, ScenarioGone, SessionError};

/// Maximum number of files of a scenario, and maximum size of all of them, in bytes.
const MAX_FILES: usize = 4096;
const MAX_BYTES: u64 = 1 << 30;

/// Returns a version of a scenario, from the server if it is not here; `lease` is the path of a lease that needs it.
pub(super) fn scenario(
    engine: &Engine,
    files: &ScenarioFiles,
    (client, lease): (&ProtocolClient, &str),
    (id, digest): (&ScenarioId, Sha256Digest),
) -> Result<Arc<Scenario>, SessionError> {
    match engine.scenario(id, digest) {
        Ok(scenario) => return Ok(scenario),
        Err(ScenarioGone::Missing(_) | ScenarioGone::Changed(_)) => {}
        Err(error @ ScenarioGone::Unfit { .. }) => return Err(SessionError::Scenario(error.to_string())),
    }
    let work = engine.scratch("scenario").map_err(SessionError::of)?;
    download((client, lease), work.path()).map_err(outage)?;
    keep(files, digest, work.path()).map_err(SessionError::of)?;
    engine.scenario(id, digest).map_err(|error| SessionError::Scenario(error.to_string()))
}

/// Returns an error of the server or the network as an outage, which is blamed on neither policy nor scenario.
pub(super) fn outage(error: ServerCallError) -> SessionError {
    SessionError::Outage(Box::new(error))
}

/// Fetches the files of a scenario and its robots into `folder`; `lease` is the path of a lease that needs them.
pub(super) fn download((client, lease): (&ProtocolClient, &str), folder: &Path) -> Result<(), ServerCallError> {
    let listing: ScenarioListing = client.get(&format!("{lease}/scenario"))?;
    let bytes = listing.files.iter().map(|file| file.size_bytes).fold(0, u64::saturating_add);
    if listing.files.len() > MAX_FILES || bytes > MAX_BYTES {
        return Err(ServerCallError::WrongFile(format!(
            "a scenario of at most {MAX_FILES} files and {MAX_BYTES} bytes"
        )));
    }
    for file in listing.files {
        let path =
            inside(folder, &file.path).ok_or_else(|| ServerCallError::WrongFile("a scenario's file".to_owned()))?;
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        let expected = (file.sha256, file.size_bytes);
        client.fetch(&format!("{lease}/scenario/{}", file.sha256), expected, &path)?;
    }
    Ok(())
}

/// Returns the path of a listed file, if it lies in `folder`.
fn inside(folder: &Path, name: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    let is_known = path.starts_with("scenario") || path.starts_with("robots");
    (is_plain && is_known && path.components().count() > 1).then(|| folder.join(path))
}

fn keep(files: &ScenarioFiles, digest: Sha256Digest, folder: &Path) -> std::io::Result<()> {
    let robots = folder.join("robots");
    fs::create_dir_all(&robots)?;
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(&robots)? {
        let entry = entry?;
        found.insert(entry.file_name().to_string_lossy().into_owned(), entry.path());
    }
    let robots = found.iter().map(|(id, path)| (id.as_str(), path.as_path())).collect();
    files.keep(digest, VersionSource { scenario: &folder.join("scenario"), robots: &robots, picture: None })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::inside;

    #[test]
    fn files_stay_in_their_folder() {
        let folder = Path::new("/cache");
        assert_eq!(inside(folder, "robots/arm/a.stl"), Some("/cache/robots/arm/a.stl".into()));
        for wrong in ["scenario", "robots/../../x", "/etc/passwd", "scenario/../x", "other/x", "", "./scenario/x"] {
            assert_eq!(inside(folder, wrong), None, "{wrong}");
        }
    }
}
