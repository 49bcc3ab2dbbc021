//! Commands other than `verify`.

use std::fs;

use assay_model::EpisodeStatus;

use crate::verify::{CARTPOLE, assay, report};

#[test]
fn scenarios_are_listed_and_shown() {
    let assay = assay();
    let list = assay.run(&["scenario", "list"]);
    assert_eq!(list.code, 0, "{}", list.stderr);
    let json: serde_json::Value = serde_json::from_str(&assay.run(&["scenario", "list", "--json"]).stdout).unwrap();
    let ids: Vec<_> = json["scenarios"].as_array().unwrap().iter().map(|s| s["id"].as_str().unwrap()).collect();
    assert!(ids.contains(&CARTPOLE) && ids.contains(&"tabletop_reach"), "{ids:?}");
    for id in ids {
        assert!(list.stdout.contains(id), "{id}");
        let text = assay.run(&["scenario", "show", id]);
        assert_eq!(text.code, 0, "{}", text.stderr);
        let facts: serde_json::Value =
            serde_json::from_str(&assay.run(&["scenario", "show", id, "--json"]).stdout).unwrap();
        for (part, key) in [("clauses", "id"), ("action", "name"), ("observation", "name")] {
            for entry in facts[part].as_array().unwrap() {
                let name = entry[key].as_str().unwrap();
                assert!(text.stdout.contains(name), "{id}: {part} {name} is missing in\n{}", text.stdout);
            }
        }
    }
}

#[test]
fn a_fresh_policy_runs_on_its_scenario() {
    let assay = assay();
    for scenario in [CARTPOLE, "tabletop_reach"] {
        let init = assay.run(&["init", scenario, "--scenario", scenario]);
        assert_eq!(init.code, 0, "{}", init.stderr);
        assert!(init.stdout.contains(&format!("assay verify {scenario} --scenario {scenario}")), "{}", init.stdout);
        let run = assay.run(&["verify", scenario, "--scenario", scenario, "--episodes", "1", "--json"]);
        let report = report(&run);
        assert_eq!(report.episode_details[0].status, EpisodeStatus::Completed, "{:?}", report.error_message);
        let again = assay.run(&["init", scenario, "--scenario", scenario]);
        assert_eq!(again.code, 2);
        assert!(again.stderr.contains("not empty"), "{}", again.stderr);
    }
    let unknown = assay.run(&["init", "third", "--scenario", "nothing"]);
    assert_eq!((unknown.code, assay.path("third").exists()), (2, false));
}

#[test]
fn completions_for_every_shell() {
    let assay = assay();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = assay.run(&["completions", shell]);
        assert!(run.code == 0 && run.stdout.contains("verify"), "{shell}");
    }
    let bash = assay.write("assay.bash", assay.run(&["completions", "bash"]).stdout);
    let checked = std::process::Command::new("bash").arg("-n").arg(bash).status().unwrap();
    assert!(checked.success());
}

#[test]
fn the_doctor_finds_no_problem_on_this_machine() {
    let assay = assay();
    let run = assay.run(&["doctor"]);
    assert_eq!(run.code, 0, "{}", run.stdout);
    assert!(run.stdout.contains("All requirements are met."), "{}", run.stdout);
    let run = assay.run(&["doctor", "--json"]);
    let checks: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(checks["holds"], true);
    let names: Vec<_> = checks["checks"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    for name in ["MuJoCo", "Python runtimes", "scenarios", "rendering"] {
        assert!(names.contains(&name), "{name} is missing in {names:?}");
    }
    let starts =
        checks["checks"].as_array().unwrap().iter().find(|check| check["name"] == "start of policies").unwrap();
    assert!(starts["detail"].as_str().unwrap().starts_with("base, onnx: forked from"), "{starts}");
    assay.assert_clean();
}

#[test]
fn an_incomplete_installation_is_reported() {
    let assay = assay();
    let program = env!("CARGO_BIN_EXE_assay");
    let elsewhere = assay.path("assay");
    fs::copy(program, &elsewhere).unwrap();
    let output = std::process::Command::new(&elsewhere).args(["scenario", "list"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("assay-lane is missing") && stderr.contains("make build"), "{stderr}");
}

#[test]
fn help_has_examples() {
    let assay = assay();
    for command in [&["--help"][..], &["verify", "--help"], &["serve", "--help"], &["completions", "--help"]] {
        let run = assay.run(command);
        assert!(run.code == 0 && run.stdout.contains("Example"), "{command:?}");
    }
    assert_eq!(assay.run(&["--version"]).stdout.trim(), concat!("assay ", env!("CARGO_PKG_VERSION")));
}
