//! `assay runtime remove`.

use std::path::Path;

use anyhow::anyhow;
use assay_model::{JobKind, JobStatus, RuntimeVersion};
use assay_policy::InstalledRuntime;
use assay_store::{JobFilter, Records};

use super::place::{PlaceArgs, find, is_in};
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::options::StoreArgs;

/// Number of jobs read at a time.
const PAGE: u32 = 100;

pub(super) fn remove(place: &PlaceArgs, store: &StoreArgs, wanted: &str) -> Result<ExitStatus, Failure> {
    let folder = place.folder()?;
    let runtime = find(&place.installation()?.runtimes(), wanted)?;
    if !is_in(&folder, &runtime) {
        return Err(Failure::Usage(anyhow!("{} is part of this installation", runtime.manifest.name)));
    }
    if let Some(data) = &place.data {
        ensure_unneeded(data, store, &runtime)?;
    }
    // Renamed first, so that no job starts in a half-removed runtime.
    let doomed = folder.join(format!(".removed-{}", runtime.manifest.sha256));
    std::fs::rename(&runtime.folder, &doomed).or_internal()?;
    std::fs::remove_dir_all(&doomed).or_internal()?;
    let version = runtime.manifest.version();
    crate::commands::stdout::print(&format!("removed {version}; reports that name it can no longer be replayed here"));
    Ok(ExitStatus::Success)
}

/// Refuses the removal of a runtime that a season or an unfinished job of the service needs.
fn ensure_unneeded(data: &Path, store: &StoreArgs, runtime: &InstalledRuntime) -> Result<(), Failure> {
    let version = runtime.manifest.version();
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().or_internal()?;
    let needed = tokio.block_on(async {
        let Some(records) = store.records(Some(data), "assay runtime").await? else { return Ok(None) };
        let seasons = records.seasons(None).await.or_internal()?;
        let open = seasons
            .iter()
            .find(|season| !season.is_closed() && season.pins.fingerprint.runtime.as_ref() == Some(&version));
        if let Some(season) = open {
            return Ok(Some(format!("season {} of {}", season.number, season.scenario)));
        }
        unfinished_job(&*records, &version).await
    })?;
    needed.map_or(Ok(()), |what| Err(Failure::Usage(anyhow!("{what} needs {version}; remove it when that has ended"))))
}

async fn unfinished_job(records: &dyn Records, version: &RuntimeVersion) -> Result<Option<String>, Failure> {
    for kind in [JobKind::Verify, JobKind::Submission, JobKind::Rerun] {
        for status in [JobStatus::Queued, JobStatus::Running, JobStatus::Judging] {
            let mut offset = 0;
            loop {
                let filter = JobFilter {
                    kind,
                    account: None,
                    scenario: None,
                    status: Some(status),
                    verdict: None,
                    published_by: None,
                    before: None,
                    limit: PAGE,
                    offset,
                };
                let (jobs, _) = records.jobs(&filter).await.or_internal()?;
                if let Some(job) = jobs.iter().find(|job| job.header.runtime.as_ref() == Some(version)) {
                    return Ok(Some(format!("job {}", job.header.job_id)));
                }
                if jobs.len() < PAGE as usize {
                    break;
                }
                offset += PAGE;
            }
        }
    }
    Ok(None)
}
