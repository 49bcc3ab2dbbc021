//! A second judge in the service: jobs are judged before they are concluded, even if judging is interrupted.

use std::time::Duration;

use assay_model::{JobStatus, ReviewReason, Verdict};
use assay_testkit::{FakeVision, PATIENCE, Saying, example, wait_for, zip_folder};
use rustix::process::Signal;

use crate::serve::{CARTPOLE, JOB_LIMIT, STOP_LIMIT, assay};

const GOOD: &str = r#"{"safe": false, "success": null, "confidence": 0.9, "explanation": "It is a fake."}"#;
const ANSWER_LIMIT: Duration = PATIENCE;

#[test]
fn a_job_waits_for_its_judge_and_survives_a_server_that_dies_meanwhile() {
    let assay = assay();
    // The first server is killed before the first answer.
    let fake = FakeVision::start(|number, _| match number {
        0 => Saying::Silence(Duration::from_secs(20)),
        _ => Saying::Content(GOOD.to_owned()),
    });
    let base = fake.base();
    let data = assay.path("data");
    let arguments = ["--lanes", "1", "--judge-url", &base, "--judge-model", "fake", "--judge-frames", "3"];
    let server = assay.serve(&data, &arguments);
    let key = std::fs::read_to_string(data.join("bootstrap-key")).unwrap();
    let client = server.client(&key);
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let id = client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "2"), ("record", "none")]);
    wait_for("a question to the judge", ANSWER_LIMIT, || (!fake.asked().is_empty()).then_some(()));
    assert_eq!(client.job(&id).status, JobStatus::Judging);
    assert_ne!(server.stop(Signal::KILL, STOP_LIMIT).code, 0);

    let server = assay.serve(&data, &arguments);
    let client = server.client(&key);
    let job = client.ended_job(&id, JOB_LIMIT);
    assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(Verdict::Safe)), "{:?}", job.error_message);
    assert_eq!((job.vlm_agreement, job.needs_review), (Some(false), true));
    assert_eq!(job.review_reasons, [ReviewReason::JudgeDisagrees]);
    // One question whose answer was lost, then one for each episode.
    assert_eq!(fake.asked().len(), 3);
    for episode in &job.episode_details {
        let stills: Vec<_> = episode.evidence.iter().filter(|file| file.name.contains("still-")).collect();
        assert_eq!(stills.len(), 3);
        assert!(stills.iter().all(|file| job.evidence_url(file).is_some()));
        assert_eq!(episode.judge.as_ref().unwrap().agrees, Some(false));
    }
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assay.assert_clean();
}
