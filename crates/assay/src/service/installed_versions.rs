//! Keeps copies of the built-in scenarios in the data folder, so that after an upgrade jobs can still be replayed and
//! rendered, and seasons continue in the version that they were opened with.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use assay_model::{Clock, Sha256Digest, SystemClock};
use assay_scenario::Scenario;
use assay_store::{InstalledVersion, Records, ScenarioFiles, VersionSource};
use assay_worker::Engine;

use crate::printing::complain;

/// Maximum size of a picture, in bytes.
const MAX_THUMBNAIL_BYTES: u64 = 1 << 20;

/// Keeps a copy of every installed version whose digest is not in `kept`. Failures are warnings; the copy is tried
/// again at the next start.
pub(crate) async fn keep(
    engine: Arc<Engine>,
    records: Arc<dyn Records>,
    files: ScenarioFiles,
    kept: BTreeSet<Sha256Digest>,
) {
    for scenario in engine.library().scenarios().iter().filter(|scenario| {
        // A version that is recorded but whose files were lost is kept again while it is installed.
        let is_complete = || files.picture(scenario.digest).is_some() || thumbnail(scenario).is_none();
        !kept.contains(&scenario.digest) || files.scenario(scenario.digest).is_none() || !is_complete()
    }) {
        if let Err(error) = keep_version(scenario.clone(), &*records, files.clone()).await {
            complain!(
                "assay: warning: the files of {} {} can't be copied to the data folder, so its jobs could not be replayed \
                 after an upgrade: {error:#}; this is tried again at the next start",
                scenario.id,
                scenario.version
            );
        }
    }
}

async fn keep_version(scenario: Scenario, records: &dyn Records, files: ScenarioFiles) -> anyhow::Result<()> {
    let (digest, id) = (scenario.digest, scenario.id.clone());
    let version = InstalledVersion { digest, id, version: scenario.version.clone(), kept_at: SystemClock.now() };
    tokio::task::spawn_blocking(move || {
        let robots = scenario.robot_folders();
        let picture = thumbnail(&scenario).and_then(|path| std::fs::read(path).ok());
        let source = VersionSource { scenario: &scenario.folder, robots: &robots, picture: picture.as_deref() };
        files.keep(scenario.digest, source)
    })
    .await??;
    Ok(records.record_installed_version(&version).await?)
}

/// Returns the path of the scenario's picture, which the gallery shows, unless it is missing or too large.
fn thumbnail(scenario: &Scenario) -> Option<PathBuf> {
    let path = scenario.folder.join("thumbnail.png");
    let size = path.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    (size <= MAX_THUMBNAIL_BYTES).then_some(path)
}
