//! What a worker needs of the arena: the seeds of an entry's episodes.

use assay_model::{JobHeader, SeedSource};

use super::Shared;
use crate::SessionError;
use crate::session::platform;

impl Shared {
    /// Where a job's seeds come from. Those of an entry of the arena only its season knows.
    pub(super) fn seeds(&self, header: &JobHeader) -> Result<SeedSource, SessionError> {
        let Some(entry) = &header.arena else { return Ok(SeedSource::Job(header.seed)) };
        let records = &self.options.records;
        let ours = |why: String| SessionError::Platform(why);
        let gone = || ours(format!("season {} of {} is not in the records", entry.season, header.scenario));
        let season = self.wait(records.season(&header.scenario, Some(entry.season))).map_err(|e| platform(&e))?;
        let differences = season.ok_or_else(gone)?.pins.fingerprint.differences(self.options.engine.fingerprint());
        if let Some(difference) = differences.first() {
            let what = &difference.name;
            return Err(ours(format!("season {} was opened with another {what} than this server has", entry.season)));
        }
        let secrets = self.wait(records.season_secrets(&header.scenario, entry.season)).map_err(|e| platform(&e))?;
        let secrets = secrets.ok_or_else(gone)?;
        let secret = if entry.rerun { secrets.rerun.ok_or_else(gone)? } else { secrets.season };
        Ok(SeedSource::Season { secret, episodes: header.plan.episodes })
    }
}
