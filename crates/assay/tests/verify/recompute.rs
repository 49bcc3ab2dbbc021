//! `docs/recompute.py` and `docs/replay.py`: independent programs derive a report's numbers from the physics, and
//! detect forged recordings.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use assay_model::{ClauseStatus, JobReport};
use assay_testkit::{Assay, example, home};

use crate::verify::{CARTPOLE, assay, one_world};

fn python(script: &Path, arguments: &[&str]) -> Output {
    let mut python = Command::new(home().join("vendor/dev-venv/bin/python"));
    python.arg(script).args(arguments).env_remove("GLIBC_TUNABLES");
    if script.starts_with(home().join("docs")) {
        python.arg("--trust-model");
    }
    python.output().expect("vendor/dev-venv is made by tools/setup --dev")
}

fn recompute(out: &Path) -> Output {
    python(&home().join("docs/recompute.py"), &[out.to_str().unwrap()])
}

/// Returns the exit code and output of `docs/recompute.py`.
fn recomputed(out: &Path) -> (Option<i32>, String) {
    let output = recompute(out);
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

/// Records episodes of a known-answer policy, without images.
fn kept(assay: &Assay, scenario: &str, policy: &str, episodes: &str) {
    let (policy, out) = (example(scenario, policy), assay.path("out"));
    let arguments = ["--episodes", episodes, "--record", "none", "--out", out.to_str().unwrap()];
    let all = [&["verify", policy.to_str().unwrap(), "--scenario", scenario][..], &arguments].concat();
    let run = assay.run(&all);
    assert!(run.code <= 1, "{}", run.stderr);
}

#[test]
fn every_number_follows_from_the_recordings() {
    let assay = assay();
    // Plain limits; violations; arithmetic, an implication and a window.
    // Contacts, distances, joints and torques; gates crossed in order; people who move, approached; a load that is
    // shaken.
    for (scenario, policy, episodes) in [
        (CARTPOLE, "reference", "2"),
        (CARTPOLE, "reckless", "2"),
        ("warehouse_aisle", "reckless", "1"),
        ("tabletop_reach", "reckless", "1"),
        ("quadrotor_gates", "reckless", "1"),
        ("crossing_pedestrians", "reckless", "1"),
        ("carry_cup", "reckless", "1"),
        ("shared_workspace", "reckless", "1"),
    ] {
        kept(&assay, scenario, policy, episodes);
        let (code, text) = recomputed(&assay.path("out"));
        assert_eq!(code, Some(0), "{scenario}: {text}");
        let last = format!("numbers of {episodes} episodes are those that the recordings give, 0 are not\n");
        assert!(text.ends_with(&last), "{scenario}: {text}");
    }
}

#[test]
fn results_of_truncated_episodes_follow_too() {
    let assay = assay();
    let policies = [
        (
            "warehouse_aisle",
            "def policy(observation):\n    if observation['time'] > 1.0:\n        raise ValueError('enough')\n    return [0.5, 0.0]\n",
        ),
        (
            CARTPOLE,
            "def policy(observation):\n    if observation['joint_position'][0] > 1.05:\n        raise ValueError('enough')\n    return [12.0]\n",
        ),
    ];
    for (scenario, source) in policies {
        let (policy, out) = (assay.write("policy.py", source), assay.path("out"));
        let arguments = ["--episodes", "2", "--record", "none", "--out", out.to_str().unwrap()];
        let run = assay.run(&[&["verify", policy.to_str().unwrap(), "--scenario", scenario][..], &arguments].concat());
        assert!(run.code == 1 || run.code == 3, "{}{}", run.stdout, run.stderr);
        let report: JobReport = serde_json::from_slice(&fs::read(out.join("report.json")).unwrap()).unwrap();
        assert_eq!(report.consistency, Some(0.0), "no episode was completed");
        let clauses: Vec<_> = report.episode_details.iter().flat_map(|episode| &episode.clauses).collect();
        assert!(clauses.iter().any(|clause| clause.status == ClauseStatus::Undetermined));
        let (code, text) = recomputed(&out);
        assert_eq!(code, Some(0), "{scenario}: {text}");
    }
}

#[test]
fn a_number_that_does_not_follow_is_reported() {
    let assay = assay();
    kept(&assay, CARTPOLE, "reckless", "2");
    let path = assay.path("out/report.json");
    let mut report: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    report["verdict"] = "SAFE".into();
    report["episode_details"][1]["clauses"][0]["robustness"] = 0.25.into();
    fs::write(&path, report.to_string()).unwrap();
    let output = recompute(&assay.path("out"));
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains("verdict: the report says SAFE, the recordings say UNSAFE"), "{stdout}");
    assert!(stdout.contains("robustness: the report says 0.25, "), "{stdout}");
    fs::write(&path, "{").unwrap();
    assert_eq!(recompute(&assay.path("out")).status.code(), Some(2));
}

#[test]
fn an_unconfirmed_episode_makes_no_verdict_of_safe() {
    let assay = assay();
    kept(&assay, CARTPOLE, "reference", "1");
    let path = assay.path("out/report.json");
    let mut report: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(report["verdict"], "SAFE");
    report["episode_details"][0]["unconfirmed"] = serde_json::json!(["worker gpu-07 alone reported a violation"]);
    fs::write(&path, report.to_string()).unwrap();
    let (code, text) = recomputed(&assay.path("out"));
    assert_eq!(code, Some(1), "{text}");
    for line in [
        "verdict: the report says SAFE, the recordings say INCONCLUSIVE",
        "without_evidence: the report says 0, the recordings say 1",
    ] {
        assert!(text.contains(line), "{line} is missing in {text}");
    }
}

#[test]
fn episodes_of_one_world_are_one_observation() {
    let assay = assay();
    let (policy, out) = (example(CARTPOLE, "reference"), assay.path("out"));
    // Nothing drawn; something drawn that reaches nothing; and a choice, which is drawn.
    for (parameters, lean, size) in
        [("", "0.05", 1), ("a = { uniform = [0, 1] }", "0.05 + 0 * a", 1), ("a = { choice = [0.05, 0.06] }", "a", 3)]
    {
        let scenario = one_world(&assay, parameters, lean);
        let arguments = ["verify", policy.to_str().unwrap(), "--scenario", scenario.to_str().unwrap()];
        let more = ["--episodes", "3", "--record", "none", "--seed", "1", "--out", out.to_str().unwrap()];
        let run = assay.run(&[&arguments[..], &more].concat());
        assert!(run.code <= 1, "{}", run.stderr);
        let (code, text) = recomputed(&out);
        assert_eq!(code, Some(0), "{parameters}: {text}");
        assert_eq!(text.contains("3 episodes are one observation"), size == 1, "{text}");
        let path = out.join("report.json");
        let mut report: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        report["statistics"]["distinct_worlds"] = 7.into();
        report["statistics"]["sample_size"] = (4 - size).into();
        fs::write(&path, report.to_string()).unwrap();
        let (code, text) = recomputed(&out);
        assert_eq!(code, Some(1), "{text}");
        for line in [format!("sample_size: the report says {}", 4 - size), "distinct_worlds: the report says 7".into()]
        {
            assert!(text.contains(&line), "{text}");
        }
    }
}

/// In these folders everything is consistent except for the physics. They were accepted when recorded signals were
/// trusted.
#[test]
fn a_forged_recording_is_reported() {
    let assay = assay();
    kept(&assay, CARTPOLE, "reference", "1");
    let (out, forge) = (assay.path("out"), home().join("crates/assay/tests/verify/forge.py"));
    assert_eq!(recomputed(&out).0, Some(0));
    for (kind, difference, in_episode) in [
        ("signal", "signal.cart_position at physics step 1000 (2.000 s): 1.5, not ", true),
        ("action", "ctrl.0, which should be action.0", true),
        ("input", "ctrl.0, which should be action.0", true),
        ("limit", "scenario_digest: the report says ", false),
    ] {
        let forged = assay.path(kind);
        copy(&out, &forged);
        let made = python(&forge, &[forged.to_str().unwrap(), kind]);
        assert!(made.status.success(), "{kind}: {}", String::from_utf8_lossy(&made.stderr));
        let (code, text) = recomputed(&forged);
        assert_eq!(code, Some(1), "{kind}: {text}");
        assert!(text.contains(difference), "{kind}: {text}");
        let episode = forged.join("episodes/000");
        let replay = python(&home().join("docs/replay.py"), &[episode.to_str().unwrap()]);
        let expected = if in_episode { Some(1) } else { Some(0) };
        assert_eq!(replay.status.code(), expected, "{kind}: {}", String::from_utf8_lossy(&replay.stdout));
    }
}

/// A kind of `forge_report.py`, the exit code of `recompute.py`, and a part of what it prints.
type Forgery = (&'static str, i32, &'static str);

/// In these reports every number follows from the others, but not from the recordings. All were accepted when the
/// report said which clauses and episodes it has.
#[test]
fn a_forged_report_is_reported() {
    let assay = assay();
    let raises = "def policy(observation):\n    if observation['time'] > 0.5:\n        raise ValueError('enough')\n    return [0.0]\n";
    let no_recording = "INCOMPLETE: there is no recording of episode ";
    let table: [(&str, &[Forgery]); 3] = [
        (
            "reckless",
            &[
                ("all_deleted", 1, "episode 0, the ids of the clauses: the report says []"),
                ("violated_deleted", 1, "episode 0, the ids of the clauses: the report says ['end_stop_force', "),
                ("renamed_to_satisfied", 1, "keep_in, status: the report says satisfied, the recordings say violated"),
                ("not_applicable", 1, "keep_in, status: the report says not_applicable, the recordings say violated"),
                ("undetermined", 1, "keep_in, status: the report says undetermined, the recordings say violated"),
                ("level_lowered", 1, "keep_in, level: the report says warning, the recordings say critical"),
                ("recordings_deleted", 3, no_recording),
                ("episode_dropped", 1, "the number of episodes: the report says 1, the recordings say 2"),
            ],
        ),
        (
            "reference",
            &[
                ("repeated", 1, "the episodes of the report are not numbered 0, 1, 2, ..."),
                ("copied", 1, "episode 1 is in the world of episode 0, so it is no evidence of its own"),
                ("invented", 3, no_recording),
                ("confidence_lowered", 1, "confidence_level: the report says 0.001, less than 0.95"),
                ("own_bound_raised", 1, "max_violation_probability: the report says 0.999999, the recordings say 0.1"),
                ("certified", 1, "certified: the report says True, the recordings say False"),
                ("more_planned", 1, "the number of episodes: the report says 2, the recordings say 100000"),
                ("more_counted", 1, "episodes: the report says 100000, the recordings say 2"),
                ("success_invented", 1, "termination: the report says success, the recordings say time_limit"),
                ("evidence_elsewhere", 1, "is not in the folder of episode 1"),
            ],
        ),
        (
            "raises",
            &[
                ("broken_off_as_complete", 1, "termination: the report says time_limit, the recordings say None"),
                ("stages_invented", 1, "episode 0, stages: the report says [('upright_2s', 20.0, True)"),
            ],
        ),
    ];
    for (policy, forgeries) in table {
        let out = assay.path(policy);
        let path = if policy == "raises" { assay.write("raises.py", raises) } else { example(CARTPOLE, policy) };
        let verify = ["verify", path.to_str().unwrap(), "--scenario", CARTPOLE, "--episodes", "2", "--record", "none"];
        let run = assay.run(&[&verify[..], &["--out", out.to_str().unwrap()]].concat());
        assert!([0, 1, 3].contains(&run.code), "{}", run.stderr);
        let (code, text) = recomputed(&out);
        assert_eq!(code, Some(0), "{policy}: {text}");
        for (kind, expected, difference) in forgeries {
            let forged = assay.path(&format!("{policy}-{kind}"));
            copy(&out, &forged);
            let forge = home().join("crates/assay/tests/verify/forge_report.py");
            let made = python(&forge, &[forged.to_str().unwrap(), kind]);
            assert!(made.status.success(), "{kind}: {}", String::from_utf8_lossy(&made.stderr));
            let (code, text) = recomputed(&forged);
            assert_eq!(code, Some(*expected), "{kind}: {text}");
            assert!(text.contains(difference), "{kind}: {text}");
            assert!(!text.contains("SAFE: violation probability"), "{kind}: {text}");
        }
    }
}

#[test]
fn a_lower_confidence_level_must_be_asked_for() {
    let assay = assay();
    let (policy, out) = (example(CARTPOLE, "reference"), assay.path("out"));
    let plan = ["--episodes", "1", "--confidence", "0.9", "--max-violation-probability", "0.95", "--record", "none"];
    let verify = ["verify", policy.to_str().unwrap(), "--scenario", CARTPOLE, "--out", out.to_str().unwrap()];
    let run = assay.run(&[&verify[..], &plan].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let (code, text) = recomputed(&out);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("confidence_level: the report says 0.9, less than 0.95"), "{text}");
    let asked = python(&home().join("docs/recompute.py"), &[out.to_str().unwrap(), "--confidence", "0.9"]);
    let text = String::from_utf8_lossy(&asked.stdout);
    assert_eq!(asked.status.code(), Some(0), "{text}");
    assert!(text.contains("SAFE: violation probability at most 0.9000 at a confidence level of 0.9;"), "{text}");
}

/// A clause with `must_activate` whose premise never holds is `not_applicable`, also by the recordings.
#[test]
fn a_premise_that_never_held_follows_too() {
    let assay = assay();
    let scenario = assay.copy_scenario(CARTPOLE, "premise", |_, text| {
        let premise = "must_activate = true\nformula = \"always (cart_position > 1.5 implies ";
        text.replace("formula = \"always (abs(cart_position)", &format!("{premise}abs(cart_position)"))
    });
    let (policy, out) = (example(CARTPOLE, "reference"), assay.path("out"));
    let verify = ["verify", policy.to_str().unwrap(), "--scenario", scenario.to_str().unwrap(), "--episodes", "1"];
    let run = assay.run(&[&verify[..], &["--record", "none", "--out", out.to_str().unwrap()]].concat());
    assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
    let report: JobReport = serde_json::from_slice(&fs::read(out.join("report.json")).unwrap()).unwrap();
    assert_eq!(report.episode_details[0].clauses[0].status, ClauseStatus::NotApplicable);
    let (code, text) = recomputed(&out);
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn statements_count_only_beside_recordings_and_unexpected_values_are_reported() {
    let assay = assay();
    kept(&assay, CARTPOLE, "reference", "1");
    let out = assay.path("out");
    for content in ["x", "[]", "{\"payload\": 3}"] {
        assay.write("out/policy/x.intoto.json", content);
        let (code, text) = recomputed(&out);
        assert_eq!(code, Some(0), "{content}: {text}");
    }
    let extra = assay.write("out/episodes/000/x.intoto.json", "{\"payload\": 3}");
    let (code, text) = recomputed(&out);
    assert_eq!(code, Some(3), "{text}");
    // What the product's statements look like: {"subject": [{"name": "log.mcap", "digest": {"sha256": ...}}]}.
    let payload = "eyJzdWJqZWN0IjpbeyJuYW1lIjoibG9nLm1jYXAiLCJkaWdlc3QiOnsic2hhMjU2IjoiZTNiMGM0NDI5OGZjMWMxNDlhZmJmNGM4OTk2\
                   ZmI5MjQyN2FlNDFlNDY0OWI5MzRjYTQ5NTk5MWI3ODUyYjg1NSJ9fV19";
    fs::write(&extra, serde_json::json!({ "payload": payload }).to_string()).unwrap();
    let log = assay.write("out/episodes/000/log.mcap", "");
    assert_eq!(recomputed(&out).0, Some(0), "a rendered file is vouched for by the statement beside it");
    fs::write(&log, "other").unwrap();
    assert_eq!(recomputed(&out).0, Some(1));
    fs::remove_file(extra).unwrap();
    fs::remove_file(log).unwrap();
    let path = assay.path("out/report.json");
    let report: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    for pointer in ["/statistics", "/episode_details", "/episode_details/0/clauses/0/robustness", "/num_episodes"] {
        let mut forged = report.clone();
        *forged.pointer_mut(pointer).unwrap() = "x".into();
        fs::write(&path, forged.to_string()).unwrap();
        let (code, text) = recomputed(&out);
        assert_eq!(code, Some(2), "{pointer}: {text}");
        assert!(!text.contains("Traceback"), "{pointer}: {text}");
    }
}

#[test]
fn an_unknown_or_a_missing_file_is_incomplete() {
    let assay = assay();
    kept(&assay, CARTPOLE, "reckless", "1");
    let out = assay.path("out");
    let extra = assay.write("out/episodes/000/extra.bin", "unlisted");
    let (code, text) = recomputed(&out);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("INCOMPLETE: episodes/000/extra.bin is in neither the report nor a statement"), "{text}");
    fs::remove_file(extra).unwrap();
    assert_eq!(recomputed(&out).0, Some(0));
    fs::remove_file(out.join("episodes/000/plots.json")).unwrap();
    let (code, text) = recomputed(&out);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("INCOMPLETE: episodes/000/plots.json is not here"), "{text}");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
