//! `assay scenario check` and `render` on scenarios that are fine, broken or hostile: each is answered with file, key
//! and remedy, within 20 s, and nothing outside the scenario is read.

#![expect(clippy::unwrap_used, reason = "tests")]

use assay_testkit::{Assay, PATIENCE, Run, count_rows, home, wait_for};
use serde_json::Value;

use crate::hostile::{CASES, SCENE, TOML, WORLD, files};

/// Runs a check. One that takes more than its limit has another fault than the expected one.
fn check(assay: &Assay, folder: &str) -> (Run, Value) {
    // That the machine is too busy is not the scenario's fault.
    let run = wait_for("a machine that is not too busy", PATIENCE, || {
        let run = assay.run(&["scenario", "check", folder, "--json"]);
        Some(run).filter(|run| !run.stderr.contains("too busy to look at the scenario"))
    });
    let answer = serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{folder}: {e}: {}", run.stderr));
    (run, answer)
}

#[test]
fn broken_and_hostile_scenarios_are_reported_with_file_and_key() {
    let assay = Assay::new(env!("CARGO_BIN_EXE_assay"));
    count_rows("hostile_scenarios", CASES.len());
    for (index, case) in CASES.iter().enumerate() {
        let (name, (_, _, new, at, key, words)) = (format!("case_{index}/cartpole_keepin"), case);
        for (part, text) in files(case) {
            assay.write(&format!("{name}/{part}"), text);
        }
        let (run, answer) = check(&assay, assay.path(&name).to_str().unwrap());
        assert_eq!((run.code, &answer["ok"]), (1, &Value::Bool(false)), "{new}: {answer:#}");
        let fault = &answer["fault"];
        assert_eq!((&fault["file"], fault["key"].as_str()), (&Value::from(*at), *key), "{new}: {answer:#}");
        assert!(fault["problem"].as_str().unwrap().contains(words), "{new}: {answer:#}");
        assert!(!run.stdout.contains("root:"), "{new} reads /etc/passwd: {answer:#}");
        assay.assert_clean();
    }
}

#[test]
fn oversized_formulas_and_nestings_are_refused() {
    let assay = Assay::new(env!("CARGO_BIN_EXE_assay"));
    let nest = format!("<worldbody>{}{}", "<body>".repeat(100_000), "</body>".repeat(100_000));
    let formula = format!("formula = \"{}\"", "(".repeat(100_000));
    let cases = [
        (SCENE, WORLD, nest, SCENE, None, "DEPTH_EXCEEDED"),
        (
            TOML,
            "formula = \"always (end_stop_force <= limit)\"",
            formula,
            TOML,
            Some("clause[1].formula"),
            "at most 16384",
        ),
    ];
    for (file, old, new, at, key, words) in cases {
        let edit = |part: &str, text: String| if part == file { text.replacen(old, &new, 1) } else { text };
        assay.copy_scenario("cartpole_keepin", "deep", edit);
        let (run, answer) = check(&assay, "deep/cartpole_keepin");
        assert_eq!((run.code, &answer["fault"]["file"], answer["fault"]["key"].as_str()), (1, &Value::from(at), key));
        assert!(answer["fault"]["problem"].as_str().unwrap().contains(words), "{answer:#}");
    }
}

#[test]
fn links_are_not_followed() {
    let assay = Assay::new(env!("CARGO_BIN_EXE_assay"));
    for linked in [TOML, SCENE, "README.md", "extra.stl"] {
        let folder = assay.copy_scenario("cartpole_keepin", &format!("linked_{linked}"), |_, text| text);
        let link = folder.join(linked);
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
        let (run, answer) = check(&assay, folder.to_str().unwrap());
        assert_eq!((run.code, &answer["ok"]), (1, &Value::Bool(false)), "{linked}: {answer:#}");
        assert!(!run.stdout.contains("root:"), "{linked} reads /etc/passwd: {answer:#}");
        let problem = answer["fault"]["problem"].as_str().unwrap();
        assert!(problem.contains("replace it with") || problem.contains("is not a file"), "{linked}: {answer:#}");
    }
}

#[test]
fn the_schema_is_printed() {
    let assay = Assay::new(env!("CARGO_BIN_EXE_assay"));
    for (arguments, title) in
        [(&["scenario", "schema"][..], "scenario.toml"), (&["scenario", "schema", "--robot"], "robot.toml")]
    {
        let run = assay.run(arguments);
        let schema: Value = serde_json::from_str(&run.stdout).unwrap();
        assert!(run.code == 0 && schema["title"].as_str().unwrap().starts_with(title), "{schema:#}");
    }
}

#[test]
fn a_folder_may_be_named_relative_to_the_current_one() {
    let assay = Assay::new(env!("CARGO_BIN_EXE_assay"));
    assay.copy_scenario("cartpole_keepin", "mine", |_, text| text);
    for path in ["mine/cartpole_keepin", "./mine/cartpole_keepin/"] {
        let (run, answer) = check(&assay, path);
        assert_eq!((run.code, &answer["ok"]), (0, &Value::Bool(true)), "{answer:#}");
    }
}

#[test]
fn a_folder_without_its_scenarios_name_is_refused() {
    let assay = Assay::new(env!("CARGO_BIN_EXE_assay"));
    let right = assay.copy_scenario("cartpole_keepin", "mine", |_, text| text);
    std::fs::rename(right, assay.path("mine/cart")).unwrap();
    let (run, answer) = check(&assay, "mine/cart");
    let fault = &answer["fault"];
    assert_eq!((run.code, &fault["file"], &fault["key"]), (1, &Value::from(TOML), &Value::from("id")), "{answer:#}");
    let policy = home().join("examples/policies/cartpole_keepin/idle");
    let policy = policy.to_str().unwrap();
    let all: [&[&str]; 5] = [
        &["scenario", "show", "mine/cart"],
        &["scenario", "render", "mine/cart", "--out", "picture.png"],
        &["verify", policy, "--scenario", "mine/cart"],
        &["check", policy, "--scenario", "mine/cart"],
        &["init", "policy", "--scenario", "mine/cart"],
    ];
    for arguments in all {
        let run = assay.run(arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
        for part in ["\"cartpole_keepin\"", "\"cart\"", "rename the folder"] {
            assert!(run.stderr.contains(part), "{arguments:?}: {}", run.stderr);
        }
    }
}

#[test]
fn a_misspelt_id_is_answered_with_the_nearest_id() {
    let assay = Assay::new(env!("CARGO_BIN_EXE_assay"));
    for command in ["check", "show"] {
        let run = assay.run(&["scenario", command, "tabletop_rech"]);
        assert_eq!(run.code, 2, "{command}: {}", run.stderr);
        assert!(run.stderr.contains("did you mean tabletop_reach?"), "{command}: {}", run.stderr);
    }
}

#[test]
fn every_built_in_scenario_is_fine_and_has_a_picture() {
    let assay = Assay::new(env!("CARGO_BIN_EXE_assay"));
    let list: Value = serde_json::from_str(&assay.run(&["scenario", "list", "--json"]).stdout).unwrap();
    for card in list["scenarios"].as_array().unwrap() {
        let id = card["id"].as_str().unwrap();
        let (run, answer) = check(&assay, id);
        assert_eq!((run.code, &answer["ok"]), (0, &Value::Bool(true)), "{id}: {answer:#}");
        // Measured in CPU time, without the cost of opening OpenGL.
        assert!(answer["figures"]["real_time_factor"].as_f64().unwrap() > 1.0, "{id}: {answer:#}");
        assert!(home().join("scenarios").join(id).join("thumbnail.png").is_file(), "{id} has no thumbnail.png");
    }
}

#[test]
fn a_contact_sheet_shows_different_worlds() {
    let assay = Assay::new(env!("CARGO_BIN_EXE_assay"));
    let sheet = |seed: &str| {
        let out = assay.path(&format!("sheet_{seed}.png"));
        let arguments = ["scenario", "render", "stack_blocks", "--episodes", "2", "--seed", seed, "--out"];
        let run = assay.run(&[&arguments[..], &[out.to_str().unwrap()]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        std::fs::read(out).unwrap()
    };
    let (first, again, other) = (sheet("1"), sheet("1"), sheet("2"));
    assert!(first.starts_with(b"\x89PNG"));
    // Width and height: two pictures of 256 x 192 side by side.
    assert_eq!(first[16..24], [0, 0, 2, 0, 0, 0, 0, 192]);
    assert_eq!(first, again, "the same seed draws the same picture");
    assert_ne!(first, other, "another seed draws other worlds");
}
