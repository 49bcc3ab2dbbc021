//! Cameras of any size, and depth, through the jail and through policy servers; what they cost; what is refused.

use std::path::Path;

use assay_testkit::{PythonServer, Run};
use serde_json::Value;

use crate::verify::{assay, hashes, report, seen};

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}{}", run.stdout, run.stderr))
}

#[test]
fn every_byte_reaches_a_policy_in_the_jail_and_behind_a_server() {
    let assay = assay();
    let scenario = seen::scenario(&assay);
    let policy = assay.write("policy/policy.py", seen::POLICY);
    let verify = |policy: &str| {
        let arguments = ["verify", policy, "--scenario", scenario.to_str().unwrap(), "--episodes", "1", "--json"];
        let run = assay.run(&arguments);
        let report = report(&run);
        assert!(report.error_message.is_none(), "{:?} {}", report.error_message, run.stderr);
        assert_eq!(report.render_profile, Some(1));
        assert!(report.episode_details[0].steps > 20 && report.episode_details[0].clipped_actions > 5);
        hashes(&report)
    };
    let jailed = verify(policy.to_str().unwrap());
    assert_eq!(jailed, verify(policy.to_str().unwrap()), "images repeat to the bit");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let server = PythonServer::start(&here.join("tests/verify/policy_server.py"), &[policy.to_str().unwrap()]);
    assert_eq!(jailed, verify(&format!("ws://127.0.0.1:{}", server.port())), "openpi");
    let server = PythonServer::start(&here.join("tests/verify/http_server.py"), &[policy.to_str().unwrap()]);
    assert_eq!(jailed, verify(&format!("http://127.0.0.1:{}", server.port())), "HTTP");
    assay.assert_clean();
}

#[test]
fn recorded_episodes_replay_and_their_log_has_the_images() {
    let assay = assay();
    let scenario = seen::scenario(&assay);
    // It ends early, so that its video is short.
    let end = "def act(self, observation):\n        assert observation['time'] < 1, 'seen enough'";
    let policy = assay.write("policy.py", seen::POLICY.replacen("def act(self, observation):", end, 1));
    let out = assay.path("out");
    let (policy, out_text) = (policy.to_str().unwrap(), out.to_str().unwrap());
    let arguments = ["verify", policy, "--scenario", scenario.to_str().unwrap(), "--episodes", "1", "--out", out_text];
    let run = assay.run(&arguments);
    assert!(out.join("report.json").is_file(), "{}", run.stderr);
    let run = assay.run(&["replay", out.join("report.json").to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let log = crate::verify::log::read(&out.join("episodes/000"));
    assert_eq!(log["topics"]["/images/front"], "foxglove.CompressedImage", "{log}");
    assert_eq!(log["topics"]["/images/large"], "foxglove.CompressedImage", "{log}");
    let of = |image: &str| (log["images"][image]["bytes"].clone(), log["images"][image]["times_s"].clone());
    let (size, times) = of("/images/front");
    assert_eq!((size, times.as_array().unwrap().len()), ((160 * 120 * 3).into(), 25), "{log}");
    assert_eq!(of("/images/large"), ((640 * 480 * 3).into(), serde_json::json!([0.0, 0.5])), "{log}");
    assert!(std::fs::read_to_string(out.join("report.html")).unwrap().contains("Render profile"));
}

#[test]
fn the_cost_is_shown_before_anything_runs() {
    let assay = assay();
    let scenario = seen::scenario(&assay);
    let scenario = scenario.to_str().unwrap();
    let text = assay.run(&["scenario", "show", scenario]).stdout;
    for part in ["images/front", "160 x 120", "depth/front", "million pixels", "render profile 1", "MB of images"] {
        let found = text.replace('\u{a0}', " ").split_whitespace().collect::<Vec<_>>().join(" ").contains(part);
        assert!(found, "{part:?} is missing in\n{text}");
    }
    let shown = json(&assay.run(&["scenario", "show", scenario, "--json"]));
    let pixels = 2.0 * 25.0 * 160.0 * 120.0 + 2.0 * 640.0 * 480.0;
    assert_eq!(shown["images"]["pixels_per_s"], pixels, "{}", shown["images"]);
    assert_eq!(shown["cameras"][0]["depth"], "depth/front");
    let checked = json(&assay.run(&["scenario", "check", scenario, "--json"]));
    assert_eq!((&checked["ok"], &checked["images"]["pixels_per_s"]), (&Value::Bool(true), &pixels.into()), "{checked}");
    assert!(checked["figures"]["observation_cpu_s_per_s"].as_f64().unwrap() > 0.01, "{checked}");
    assert!(assay.run(&["scenario", "check", scenario]).stdout.contains("measured here"));
    let policy = assay.write("policy.py", seen::POLICY);
    let run = assay.run(&["check", policy.to_str().unwrap(), "--scenario", scenario, "--json"]);
    assert_eq!((run.code, &json(&run)["images"]["pixels_per_s"]), (0, &pixels.into()), "{}", run.stdout);
    assay.assert_clean();
}

#[test]
fn hostile_values_are_refused_with_file_and_key() {
    let assay = assay();
    let cases: [(&str, &str, &str, &str); 6] = [
        ("width = 160", "width = 0", "observation \"images/front\".width", "16 to 640"),
        ("width = 160", "width = 1000000000", "observation \"images/front\".width", "16 to 640"),
        ("rate_hz = 25", "rate_hz = 1e9", "observation \"images/front\".rate_hz", "at most the control rate"),
        ("rate_hz = 2\n", "rate_hz = 3\n", "observation \"images/large\".rate_hz", "whole number of control steps"),
        ("camera = \"overview\"", "camera = \"nowhere\"", "observation \"images/front\"", "camera \"nowhere\""),
        ("difficulty = 1", "difficulty = 1\nrender_profile = 7", "render_profile", "profiles 1 to 1"),
    ];
    for (index, (old, new, key, words)) in cases.into_iter().enumerate() {
        let folder = seen::scenario(&assay);
        let text = std::fs::read_to_string(folder.join("scenario.toml")).unwrap();
        assert!(text.contains(old), "{old}");
        let place = assay.path(&format!("case_{index}"));
        std::fs::create_dir_all(&place).unwrap();
        let moved = place.join("cartpole_keepin");
        std::fs::rename(&folder, &moved).unwrap();
        std::fs::write(moved.join("scenario.toml"), text.replacen(old, new, 1)).unwrap();
        let run = assay.run(&["scenario", "check", moved.to_str().unwrap(), "--json"]);
        let checked = json(&run);
        let fault = &checked["fault"];
        assert_eq!((run.code, &fault["file"], &fault["key"]), (1, &"scenario.toml".into(), &key.into()), "{checked}");
        assert!(fault["problem"].as_str().unwrap().contains(words), "{checked}");
    }
}
