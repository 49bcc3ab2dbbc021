//! The workers that a job waits for: those with its labels and its runtime.

use std::num::NonZeroU32;

use assay_api::ApiSettings;
use serde_json::json;

use crate::app::{POLICY, Part, SCENARIO, TestApp};
use crate::workers::{HandWorker, registration};

#[tokio::test]
async fn a_job_with_labels_waits_for_a_worker_that_has_them() {
    let app = TestApp::new();
    let admin = app.key("ops", "read,verify,admin").await;
    // Its labels are room=b2.
    let worker = HandWorker::new(&app, "gpu-07", &admin).await;
    let submit = async |labels: &str| app.verify(&admin, &[POLICY, SCENARIO, Part::Text("labels", labels)]).await;
    for wrong in ["", "room", "room=", "=b2", "room=b2,", "room=b2,room=b3", "ro om=b2", &"a=b,".repeat(9)] {
        let refused = submit(wrong).await;
        assert_eq!((refused.status.as_u16(), refused.code()), (400, "VALIDATION_ERROR"), "{wrong}: {}", refused.body);
    }
    let other = submit("room=b3,gpu=none").await;
    assert_eq!(other.status, 201, "{}", other.body);
    let waiting = other.body["waiting_for"].as_str().unwrap();
    assert_eq!(waiting, "a worker with the label gpu=none: none that is connected has it");
    assert!(worker.claim().await.is_none(), "it has neither of the labels");
    let own = submit("room=b2").await;
    assert!(!own.body["waiting_for"].as_str().unwrap().contains("label"), "{}", own.body);
    let (_, assignment) = worker.claim().await.unwrap();
    assert_eq!(assignment["fence"]["job_id"], own.body["job_id"]);
}

#[tokio::test]
async fn a_job_whose_runtime_no_worker_has_says_so() {
    let settings = ApiSettings { local_lanes: 0, lanes: NonZeroU32::MIN, ..ApiSettings::default() };
    let app = TestApp::with(settings);
    let admin = app.key("ops", "read,verify,admin").await;
    let waiting = async || {
        let made = app.verify(&admin, &[POLICY, SCENARIO]).await;
        assert_eq!(made.status, 201, "{}", made.body);
        made.body["waiting_for"].as_str().unwrap().to_owned()
    };
    assert_eq!(waiting().await, "a worker: none is connected, and this server has no lanes");
    let worker = HandWorker::new(&app, "gpu-07", &admin).await;
    assert_eq!(waiting().await, "a free lane", "it has the runtime of the policies here");
    let mut other = registration(1);
    other["registration"]["runtimes"] = json!(["cd".repeat(32)]);
    assert_eq!(worker.post("/register", &other).await.status, 200);
    let found = waiting().await;
    assert!(found.starts_with("a worker that has the policy's runtime: none that is connected has it"), "{found}");
}

#[tokio::test]
async fn repeated_leases_of_a_beat_count_once_and_too_many_are_refused() {
    let app = TestApp::new();
    let admin = app.key("ops", "read,verify,admin").await;
    let worker = HandWorker::new(&app, "gpu-07", &admin).await;
    let beat = async |count: usize| worker.post("/beat", &json!({ "leases": vec!["x"; count], "progress": [] })).await;
    assert_eq!(beat(4096).await.status, 403, "the lease is not its own");
    assert_eq!(beat(4097).await.status, 400);
    crate::workers::job(&app, &admin, 1).await;
    let (lease, assignment) = worker.claim().await.unwrap();
    let job: assay_model::JobId = assignment["fence"]["job_id"].as_str().unwrap().parse().unwrap();
    let records = &app.state.records;
    assert!(records.release_shard(assay_model::Fence { job_id: job, shard: 0, attempt: 1 }).await.is_ok());
    let answer = worker.post("/beat", &json!({ "leases": vec![&lease; 4096], "progress": [] })).await;
    assert_eq!(answer.body["lost"], json!([lease]), "once");
}
