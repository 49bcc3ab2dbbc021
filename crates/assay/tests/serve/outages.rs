//! An outage of storage delays jobs and fails none of them.

use std::fs;
use std::time::Duration;

use assay_model::{JobStatus, Verdict};
use assay_testkit::{PATIENCE, example, wait_for, zip_folder};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::process::Signal;

use crate::serve::{CARTPOLE, STOP_LIMIT, assay};

const LIMIT: Duration = PATIENCE;
/// More claims of a shard than the failures after which its job FAILS.
const CLAIMS: usize = 6;

#[test]
fn evidence_that_can_not_be_stored_is_not_a_failure() {
    let assay = assay();
    let server = assay.serve(&assay.path("data"), &["--lanes", "2", "--log-level", "info"]);
    let client = server.client(&fs::read_to_string(assay.path("data/bootstrap-key")).unwrap());
    let (blobs, away) = (assay.path("data/blobs"), assay.path("blobs-away"));
    fs::rename(&blobs, &away).unwrap();
    fs::write(&blobs, "no folder").unwrap();
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let id = client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "none")]);
    let lines = |text: &str| server.log().lines().filter(|line| line.contains(text)).count();
    wait_for("more claims than retries", LIMIT, || (lines("claimed") > CLAIMS).then_some(()));
    let waiting = client.job(&id);
    assert!([JobStatus::Queued, JobStatus::Running].contains(&waiting.status), "{:?}", waiting.status);
    // At once: a worker that stores a file in between would report a second outage.
    renameat_with(CWD, &away, CWD, &blobs, RenameFlags::EXCHANGE).unwrap();
    let job = client.ended_job(&id, LIMIT);
    assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(Verdict::Safe)), "{:?}", job.error_message);
    // Independent of the number of attempts. A busy machine may add warnings about episodes that run again.
    assert_eq!(lines(" ERROR "), 1, "{}", server.log());
    assert_eq!((lines("files cannot be stored"), lines("files are stored again")), (1, 1), "{}", server.log());
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assay.assert_clean();
}
