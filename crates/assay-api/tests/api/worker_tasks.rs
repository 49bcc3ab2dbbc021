//! Tasks that clients wait for: only workers that the operator trusts get them.

use assay_model::{AssignedPolicy, Sha256Digest, WorkerTask};
use assay_store::{TaskState, WorkerName};
use axum::body::Body;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::app::{TestApp, request};
use crate::workers::HandWorker;

fn preflight(runtime: [u8; 32]) -> WorkerTask {
    let runtime = serde_json::from_value(json!({ "name": "base", "sha256": Sha256Digest::new(runtime) })).unwrap();
    WorkerTask::Preflight {
        account: "lab".parse().unwrap(),
        scenario: "cartpole_keepin".parse().unwrap(),
        scenario_digest: Sha256Digest::new([0; 32]),
        policy: AssignedPolicy::Archive { sha256: Sha256Digest::of("zip"), runtime, models: Vec::new() },
        policy_name: "a policy".to_owned(),
        memory_mib: 4096,
    }
}

fn queue(app: &TestApp, number: u128, task: &WorkerTask) -> Uuid {
    let (id, zip) = (Uuid::from_u128(number), app.folder.path().join("zip"));
    std::fs::write(&zip, "zip").unwrap();
    app.state.tasks.create(id, &serde_json::to_vec(task).unwrap(), &[("policy", &zip)]).unwrap();
    id
}

async fn claimed(worker: &HandWorker<'_>) -> Option<(String, Value)> {
    let answer = worker.post("/tasks/claim", &json!({ "wait_s": 0 })).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let task = &answer.body["task"];
    Some((task["lease"].as_str()?.to_owned(), task["task"].clone()))
}

#[tokio::test]
async fn only_trusted_workers_with_the_runtime_get_a_task_and_only_its_holder_answers() {
    let app = TestApp::new();
    let admin = app.key("ops", "read,verify,admin").await;
    let untrusted = HandWorker::new(&app, "untrusted", &admin).await;
    let (first, second) =
        (HandWorker::trusted(&app, "first", &admin).await, HandWorker::trusted(&app, "second", &admin).await);
    let (other, id) = (queue(&app, 1, &preflight([1; 32])), queue(&app, 2, &preflight([0xba; 32])));
    assert!(claimed(&untrusted).await.is_none());
    let (lease, task) = claimed(&first).await.unwrap();
    assert_eq!((&task["kind"], &task["policy_name"]), (&json!("preflight"), &json!("a policy")));
    assert!(claimed(&second).await.is_none(), "it is taken, and nobody has the runtime of the other");
    assert_eq!(app.state.tasks.state(other).unwrap(), TaskState::Queued);

    for (worker, path) in [(&second, "policy"), (&second, "scenario"), (&untrusted, "policy")] {
        assert_eq!(worker.send("GET", &format!("/tasks/{lease}/{path}"), "").await.status, 403, "{path}");
    }
    assert_eq!(first.send("GET", &format!("/tasks/{lease}/policy"), "").await.headers["content-length"], "3");
    assert_eq!(first.send("GET", &format!("/tasks/{lease}/server"), "").await.status, 404);
    let foreign = format!("/tasks/{lease}/models/{}", Sha256Digest::of("another account's model"));
    assert_eq!(first.send("GET", &foreign, "").await.status, 404, "a model that it does not declare");
    let beat = first.post("/beat", &json!({ "leases": [lease], "progress": [] })).await;
    assert_eq!(beat.body["lost"], json!([]));
    assert_eq!(second.post("/beat", &json!({ "leases": [lease], "progress": [] })).await.status, 403);

    assert_eq!(first.post(&format!("/tasks/{lease}/return"), &json!(null)).await.status, 204);
    let (again, _) = claimed(&second).await.unwrap();
    let answer = json!({ "outcome": "refused", "message": "m\n2026-11-26 ERROR forged" });
    assert_eq!(first.post(&format!("/tasks/{lease}/answer"), &answer).await.status, 409, "it was given back");
    assert_eq!(second.post(&format!("/tasks/{again}/answer"), &json!({ "outcome": "x" })).await.status, 400);
    let other_kinds = [json!({ "outcome": "busy" }), json!({ "outcome": "accepted", "picture": null })];
    for other in other_kinds {
        assert_eq!(second.post(&format!("/tasks/{again}/answer"), &other).await.status, 422, "{other}");
    }
    assert_eq!(second.post(&format!("/tasks/{again}/answer"), &answer).await.status, 204);
    let TaskState::Done { answer: text, .. } = app.state.tasks.state(id).unwrap() else { panic!("it is not answered") };
    let kept: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(kept["outcome"], "refused");
    assert!(!kept["message"].as_str().unwrap().contains('\n'), "a message is one line: {kept}");
    let beat = second.post("/beat", &json!({ "leases": [again], "progress": [] })).await;
    assert_eq!(beat.body["lost"], json!([again]), "nothing is left to do");
}

#[tokio::test]
async fn a_task_is_queued_again_as_soon_as_its_worker_begins_anew_leaves_or_is_revoked() {
    let app = TestApp::new();
    let admin = app.key("ops", "read,verify,admin").await;
    let mut first = HandWorker::trusted(&app, "first", &admin).await;
    let second = HandWorker::trusted(&app, "second", &admin).await;
    queue(&app, 1, &preflight([0xba; 32]));
    let (old, _) = claimed(&first).await.unwrap();
    first.register().await;
    let (lease, _) = claimed(&second).await.unwrap();
    assert_eq!(first.post(&format!("/tasks/{old}/answer"), &json!({ "outcome": "busy" })).await.status, 403);
    assert_eq!(second.post("/beat", &json!({ "leases": [lease], "progress": [] })).await.body["lost"], json!([]));
    assert_eq!(second.post("/leave", &json!({})).await.status, 204);
    claimed(&first).await.unwrap();
    let revoked = app.send(request("DELETE", "/workers/first", &admin).body(Body::empty()).unwrap()).await;
    assert_eq!(revoked.status, 204);
    let third = HandWorker::trusted(&app, "third", &admin).await;
    claimed(&third).await.unwrap();
}

#[tokio::test]
async fn a_worker_that_failed_at_a_task_does_not_get_it_again() {
    let app = TestApp::new();
    let admin = app.key("ops", "read,verify,admin").await;
    let [first, second] = [HandWorker::trusted(&app, "first", &admin), HandWorker::trusted(&app, "second", &admin)];
    let (first, second) = (first.await, second.await);
    let id = queue(&app, 1, &preflight([0xba; 32]));
    let (lease, _) = claimed(&first).await.unwrap();
    let broken = json!({ "outcome": "broken", "message": "the jail does not start" });
    assert_eq!(first.post(&format!("/tasks/{lease}/answer"), &broken).await.status, 204);
    let TaskState::Done { fence, .. } = app.state.tasks.state(id).unwrap() else { panic!("it is not answered") };
    let failed = app.state.tasks.leave_to_others(fence).unwrap();
    assert_eq!(failed.iter().map(WorkerName::as_str).collect::<Vec<_>>(), ["first"]);
    assert!(claimed(&first).await.is_none());
    claimed(&second).await.unwrap();
}

#[tokio::test]
async fn a_task_goes_to_workers_with_the_labels_and_the_memory_that_it_needs() {
    let app = TestApp::new();
    let admin = app.key("ops", "read,verify,admin").await;
    let worker = HandWorker::trusted(&app, "one", &admin).await;
    let replay = |labels: Value, memory_mib: u32| -> WorkerTask {
        let policy = serde_json::to_value(preflight([0xba; 32]).policy()).unwrap();
        serde_json::from_value(json!({
            "kind": "replay", "job_id": Uuid::nil(), "account": "lab", "scenario": "cartpole_keepin",
            "scenario_digest": "00".repeat(32), "policy": policy,
            "seeds": { "episode": 0, "seeds": { "world": 1, "policy": 2 }, "is_showcase": false }, "is_arena": false,
            "result": assay_store_testing::episode(0), "machine": null, "labels": labels, "memory_mib": memory_mib,
        }))
        .unwrap()
    };
    queue(&app, 1, &replay(json!({ "room": "b3" }), 1));
    queue(&app, 2, &replay(json!({ "room": "b2", "rack": "1" }), 1));
    queue(&app, 3, &replay(json!({ "room": "b2" }), 4097));
    assert!(claimed(&worker).await.is_none());
    queue(&app, 4, &replay(json!({ "room": "b2" }), 4096));
    let (_, task) = claimed(&worker).await.unwrap();
    assert_eq!((&task["labels"]["room"], &task["memory_mib"]), (&json!("b2"), &json!(4096)));
    // A server of before names neither.
    let mut old = serde_json::to_value(replay(json!({}), 0)).unwrap();
    old.as_object_mut().unwrap().retain(|key, _| key != "labels" && key != "memory_mib");
    queue(&app, 5, &serde_json::from_value(old).unwrap());
    claimed(&worker).await.unwrap();
}
