//! `log.mcap` and `images.mcap` in independent readers: `read_log.py` decodes every message with the published
//! schemas and compares the contents with the trace.

use std::path::Path;
use std::process::Command;

use assay_testkit::{Assay, example};
use serde_json::Value;

use crate::verify::{CARTPOLE, assay};

pub(crate) fn read(folder: &Path) -> Value {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut python = Command::new(here.join("../../vendor/dev-venv/bin/python"));
    let output = python.arg(here.join("tests/verify/read_log.py")).arg(folder).output();
    let output = output.expect("vendor/dev-venv is made by tools/setup --dev");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the contents of the first episode's log.
#[track_caller]
fn logged(assay: &Assay, policy: &Path, scenario: &str, code: i32, more: &[&str]) -> Value {
    let out = assay.path("out");
    let mut arguments = vec!["verify", policy.to_str().unwrap(), "--scenario", scenario, "--episodes", "1", "--out"];
    arguments.push(out.to_str().unwrap());
    arguments.extend(more);
    let run = assay.run(&arguments);
    assert_eq!(run.code, code, "{}", run.stderr);
    read(&out.join("episodes/000"))
}

#[test]
fn a_log_with_images_decodes_and_agrees_with_the_trace() {
    let assay = assay();
    let policy = assay.write("policy.py", crate::verify::evidence::SHORT);
    let log = logged(&assay, &policy, CARTPOLE, 3, &[]);
    let steps = log["control_steps"].as_u64().unwrap();
    assert!(steps > 100 && log["frames"].as_u64().unwrap() > steps * 2 / 5, "20 frames a second of 50 steps: {log}");
    assert_eq!(log["topics"]["/camera"], "foxglove.CompressedVideo");
    let lines = log["log"].as_array().unwrap();
    let with = |text: &str| lines.iter().any(|line| line.as_str().unwrap().contains(text));
    assert!(
        with("episode 0 of cartpole_keepin") && with("seen enough") && with("the episode ended: policy error, "),
        "{lines:?}"
    );
    assert!(log["facts"]["draw.lean"].is_string());
}

#[test]
fn a_log_without_images_shows_contacts_and_violations() {
    let assay = assay();
    let policy = example("tabletop_reach", "reckless");
    let log = logged(&assay, &policy, "tabletop_reach", 1, &["--max-evidence-mib", "1"]);
    assert_eq!(log["frames"], 0);
    assert!(log["contacts"].as_u64().unwrap() > 0 && log["entities"].as_u64().unwrap() > 10, "{log}");
    for (topic, schema) in [
        ("/tf", "foxglove.FrameTransforms"),
        ("/scene", "foxglove.SceneUpdate"),
        ("/joints", "foxglove.JointStates"),
        ("/log", "foxglove.Log"),
        ("/action", "assay.Action"),
        ("/contacts", "assay.Contacts"),
        ("/policy/latency", "assay.Latency"),
        ("/signals/contact_force", "assay.Signal"),
        ("/clauses/contact_force", "assay.Clause"),
    ] {
        assert_eq!(log["topics"][topic], schema, "{topic}");
    }
    let lines = log["log"].as_array().unwrap();
    let tells = |line: &str| line.starts_with("violated: ") && line.contains("(contact_force)");
    assert!(lines.iter().any(|line| tells(line.as_str().unwrap())), "{lines:?}");
    assert_eq!(lines.last().unwrap(), "the episode ended: success, the task is done");
    assert_eq!(log["about"]["/clauses/contact_force"]["level"], "critical");
}

#[test]
fn a_log_ends_with_a_description_of_the_end() {
    let assay = assay();
    let log = logged(&assay, &example(CARTPOLE, "reckless"), CARTPOLE, 1, &["--max-evidence-mib", "1"]);
    let lines = log["log"].as_array().unwrap();
    assert_eq!(lines.last().unwrap(), "the episode ended: time limit, the task is not done");
    assert_eq!(log["about"]["/clauses/cart_speed"]["level"], "warning");
}

/// Fails in the middle of a second and reports the hashes of its images.
const SEES: &str = "import hashlib\nimport numpy as np\n\ndef policy(observation):\n    if observation['time'] > 0.53:\n        names = sorted(name for name in observation if name.startswith('images/'))\n        raise RuntimeError('saw ' + ' '.join(hashlib.sha256(observation[name].tobytes()).hexdigest() for name in names))\n    return np.zeros(7)\n";

#[test]
fn a_log_shows_the_policys_images() {
    let assay = assay();
    let policy = assay.write("policy.py", SEES);
    let log = logged(&assay, &policy, "tidy_by_sight", 3, &[]);
    let images = log["images"].as_object().unwrap();
    assert_eq!(images.len(), 2, "two cameras: {images:?}");
    let lines = log["log"].as_array().unwrap();
    let hashes = lines.iter().find_map(|line| line.as_str().unwrap().split_once("saw ")).unwrap().1;
    for ((topic, image), hash) in images.iter().zip(hashes.split_whitespace()) {
        let times: Vec<f64> = image["times_s"].as_array().unwrap().iter().map(|time| time.as_f64().unwrap()).collect();
        assert_eq!(times.len(), 3, "five a second: {topic} {times:?}");
        assert!(times.iter().enumerate().all(|(i, time)| (time - 0.2 * i as f64).abs() < 1e-6), "{topic} {times:?}");
        assert_eq!(image["last_sha256"], hash, "{topic}: the policy saw something else");
        assert_eq!(log["topics"][topic], "foxglove.CompressedImage");
    }
}
