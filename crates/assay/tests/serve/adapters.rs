//! Policies without code, submitted to a service.

use assay_model::{JobStatus, Verdict};
use assay_testkit::{Account, archive, home};
use serde_json::json;

use crate::serve::{CARTPOLE, JOB_LIMIT, replay, shared_server};

const DECLARATION: &str = r#"
[adapter]
kind = "onnx"
model = "model.onnx"
[[adapter.inputs]]
name = "state"
arrays = [{ name = "joint_position", size = 2 }, { name = "joint_velocity", size = 2 }]
[adapter.action]
output = "force"
control_mode = "actuator"
units = ["N"]
low = [-12.0]
high = [12.0]
"#;

#[test]
fn a_network_is_submitted_without_code() {
    let (_server, Account { client, .. }) = shared_server("default");
    let model = std::fs::read(home().join("examples/learned/cartpole_keepin/onnx/model.onnx")).unwrap();
    let zip = |declaration: &str| archive(&[("net/policy.toml", declaration.as_bytes()), ("net/model.onnx", &model)]);
    let parts = [("scenario", CARTPOLE), ("num_episodes", "2"), ("record", "none")];
    let fits = zip(DECLARATION);
    let job = client.ended_job(&client.verify(&fits, &parts), JOB_LIMIT);
    assert_eq!((job.status, job.verdict, job.success_rate), (JobStatus::Completed, Some(Verdict::Safe), Some(1.0)));
    let replayed = replay(&client, &format!("/verify/{}/replay", job.job_id), &json!({}));
    assert_eq!((replayed.status, &replayed.body["same"]), (200, &true.into()), "{}", replayed.body);

    let other = zip(&DECLARATION.replace("\"N\"", "\"kN\""));
    let found = client.try_form("/preflight", Some(&other), &[("scenario", CARTPOLE)]).unwrap();
    let finding = found.body["findings"][0]["message"].as_str().unwrap();
    assert!(found.body["holds"] == false && finding.contains("units[0] is \"kN\""), "{}", found.body);
    let job = client.ended_job(&client.verify(&other, &parts), JOB_LIMIT);
    let error = job.episode_details[0].error.as_ref().unwrap();
    assert_eq!(
        (job.status, job.verdict, error.code.as_str()),
        (JobStatus::Completed, Some(Verdict::Inconclusive), "mismatch")
    );
    assert!(finding.contains(&error.message), "{error:?}");

    let refused = client.try_verify(&zip("[adapter]\nkind = \"onnx\"\n"), &parts).unwrap();
    assert_eq!((refused.status, refused.body["error"]["details"]["field"].as_str()), (400, Some("policy")));
    let message = refused.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("policy.toml: ") && message.contains("action is missing"), "{message}");
}
