//! Checks whether this server can run the job of a policy that connects to it.

use assay_model::JobId;
use assay_store::StoreError;

use crate::AppState;

/// The messages of a server that cannot run the job.
const NO_LANES: &str = "this server runs no episodes itself; connect again to reach another one";
const OTHER_MACHINE: &str = "the job's episodes ran on a machine with another fingerprint than this server's; connect \
                             again to reach one that can run the others";

/// Returns the reason why this server cannot run the job, whose episodes all run on one kind of machine; another server
/// of the site can.
pub(crate) async fn unfit(app: &AppState, job: JobId) -> Result<Option<&'static str>, StoreError> {
    if app.settings.local_lanes == 0 {
        return Ok(Some(NO_LANES));
    }
    let Some(records) = app.site.records() else { return Ok(None) };
    let machine = records.machine_of(job).await?;
    Ok(machine.filter(|machine| *machine != app.fingerprint.digest()).map(|_| OTHER_MACHINE))
}
