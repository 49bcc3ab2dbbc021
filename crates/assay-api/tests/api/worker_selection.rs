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

#[tokio::test]
async fn a_worker_that_fetches_runtimes_runs_policies_whose_runtime_it_lacks() {
    let app = TestApp::with(ApiSettings { local_lanes: 0, lanes: NonZeroU32::MIN, ..ApiSettings::default() });
    let admin = app.key("ops", "read,verify,admin").await;
    let mut worker = HandWorker::new(&app, "gpu-07", &admin).await;
    let other = HandWorker::new(&app, "gpu-08", &admin).await;
    let mut lacks = registration(1);
    lacks["registration"]["runtimes"] = json!([]);
    worker.register_as(&lacks).await;
    crate::workers::job(&app, &admin, 1).await;
    assert!(worker.claim().await.is_none(), "it does not say that it fetches runtimes");
    lacks["registration"]["fetches_runtimes"] = json!(true);
    worker.register_as(&lacks).await;
    let made = app.verify(&admin, &[POLICY, SCENARIO]).await;
    assert_eq!(made.body["waiting_for"], "a free lane", "{}", made.body);
    let (lease, assignment) = worker.claim().await.unwrap();
    let path = format!("/leases/{lease}/runtime");
    assert_eq!(assignment["policy"]["runtime"]["sha256"], "ba".repeat(32), "{assignment}");
    let packed = worker.send("GET", &path, "").await;
    let sha256 = packed.body["sha256"].as_str().unwrap_or_else(|| panic!("{}", packed.body)).to_owned();
    let file = worker.send("GET", &format!("{path}/{sha256}"), "").await;
    assert_eq!(
        (file.status.as_u16(), file.headers["content-length"].to_str().unwrap()),
        (200, &*packed.body["size_bytes"].to_string())
    );
    assert_eq!(worker.send("GET", &format!("{path}/{}", "0".repeat(64)), "").await.status, 404);
    for path in [path.clone(), format!("{path}/{sha256}")] {
        assert_eq!(other.send("GET", &path, "").await.status, 403, "{path}");
    }
}

#[tokio::test]
async fn a_worker_without_the_newer_parts_of_the_protocol_is_served() {
    let app = TestApp::with(ApiSettings { local_lanes: 0, lanes: NonZeroU32::MIN, ..ApiSettings::default() });
    let admin = app.key("ops", "read,verify,admin").await;
    let mut worker = HandWorker::trusted(&app, "old", &admin).await;
    let mut old = registration(1);
    let known = old["registration"].as_object_mut().unwrap();
    known.retain(|key, _| !["renders", "labels", "fetches_runtimes"].contains(&key.as_str()));
    // Nor does it mind what a newer one adds.
    known.insert("of_a_later_version".to_owned(), json!([1]));
    worker.register_as(&old).await;
    *app.auditor.0.lock().unwrap() = Ok(None);
    crate::workers::job(&app, &admin, 1).await;
    let (lease, _) = worker.claim().await.unwrap();
    // Evidence as it is, and a result alone.
    let sha256 = assay_model::Sha256Digest::of("evidence");
    assert_eq!(worker.send("PUT", &format!("/leases/{lease}/evidence/{sha256}"), "evidence").await.status, 204);
    let answer = worker.result(&lease, &crate::workers::failed(0)).await;
    assert_eq!(answer.body["outcomes"][0]["outcome"], "new", "{}", answer.body);
    let listed = app.get("/workers", &admin).await.body["workers"][0].clone();
    assert_eq!((&listed["state"], &listed["labels"]), (&json!("ACTIVE"), &json!({})));
}

#[tokio::test]
async fn results_are_recorded_together_and_each_for_itself() {
    let app = TestApp::with(ApiSettings { local_lanes: 0, ..ApiSettings::default() });
    let admin = app.key("ops", "read,verify,admin").await;
    let worker = HandWorker::trusted(&app, "one", &admin).await;
    *app.auditor.0.lock().unwrap() = Ok(None);
    crate::workers::job(&app, &admin, 1).await;
    crate::workers::job(&app, &admin, 1).await;
    let [first, second] = [worker.claim().await.unwrap().0, worker.claim().await.unwrap().0];
    let result = |lease: &str, episode| json!({ "lease": lease, "result": crate::workers::failed(episode) });
    let send = async |results: serde_json::Value| worker.post("/results", &json!({ "results": results })).await;
    let refused = send(json!([result("not its own", 0), result(&first, 0)])).await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    let answer = send(json!([result(&second, 0), result(&first, 0), result(&second, 0), result(&first, 7)])).await;
    let outcomes: Vec<_> = answer.body["outcomes"].as_array().unwrap().iter().map(|one| &one["outcome"]).collect();
    assert_eq!(outcomes, ["new", "duplicate", "duplicate", "fenced"], "{}", answer.body);
}
