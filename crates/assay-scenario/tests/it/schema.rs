//! The JSON Schemas accept what ships and refuse what is no scenario, and their files in `docs/` are current.
#![expect(clippy::unwrap_used, reason = "a test may stop here")]

use assay_scenario::{robot_schema, scenario_schema};
use serde_json::Value;

use crate::folder::repository;

/// Set to write the files anew.
const UPDATE: &str = "UPDATE_SCHEMA";

fn toml(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// What the schema says of a file; empty when it fits.
fn problems(schema: &Value, text: &str) -> String {
    let document: Value = toml::from_str(text).unwrap();
    let validator = jsonschema::validator_for(schema).unwrap();
    validator.iter_errors(&document).map(|error| format!("{}: {error}\n", error.instance_path())).collect()
}

/// Returns the folders in `of` except for that of clips.
fn folders(of: &str) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(repository().join(of)).unwrap();
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir() && !path.ends_with("clips")).collect()
}

#[test]
fn everything_that_ships_fits() {
    let (scenario, robot) = (scenario_schema(), robot_schema());
    for folder in folders("scenarios") {
        assert_eq!(problems(&scenario, &toml(&folder.join("scenario.toml"))), "", "{}", folder.display());
    }
    for folder in folders("robots") {
        assert_eq!(problems(&robot, &toml(&folder.join("robot.toml"))), "", "{}", folder.display());
    }
}

/// What is replaced in which file by what, and a word that the schema's answer must hold.
const BROKEN: [(&str, &str, &str, &str); 18] = [
    ("cartpole_keepin", "difficulty = 1", "dificulty = 1", "dificulty"),
    ("cartpole_keepin", "difficulty = 1\n", "", "difficulty"),
    ("cartpole_keepin", "difficulty = 1", "difficulty = 9", "difficulty"),
    ("cartpole_keepin", "difficulty = 1", "difficulty = \"easy\"", "difficulty"),
    ("cartpole_keepin", "format = 1", "format = 2", "format"),
    ("cartpole_keepin", "time_limit_s = 10", "time_limit_s = 0", "time_limit_s"),
    ("cartpole_keepin", "timestep_s = 0.002", "timestep = 0.002", "timestep"),
    ("cartpole_keepin", "mode = \"actuator\"", "mode = \"torque\"", "torque"),
    ("cartpole_keepin", "unit = \"N\"", "units = \"N\"", "units"),
    ("cartpole_keepin", "kind = \"joint_position\"", "kind = \"joint_angle\"", "observation"),
    ("cartpole_keepin", "kind = \"joint_position\"", "kind = \"joint_position\"\nunit = \"rad\"", "observation"),
    ("cartpole_keepin", "{ uniform = [0.03, 0.10] }", "{ gamma = [0.03, 0.10] }", "parameters"),
    ("cartpole_keepin", "target = \"joint:hinge.qpos\"", "target = \"joint:hinge.angle\"", "hinge.angle"),
    ("cartpole_keepin", "level = \"critical\"", "level = \"fatal\"", "fatal"),
    ("cartpole_keepin", "scale = 0.5", "scales = 0.5", "scales"),
    ("cartpole_keepin", "weight = 1.0", "weight = 2.0", "weight"),
    ("tabletop_reach", "of = \"site:arm/tcp\"", "of = \"arm/tcp\"", "observation"),
    ("crossing_pedestrians", "repeat = \"back_and_forth\"", "repeat = \"always\"", "actor"),
];

#[test]
fn what_is_no_scenario_is_refused() {
    let schema = scenario_schema();
    for (id, old, new, word) in BROKEN {
        let text = toml(&repository().join("scenarios").join(id).join("scenario.toml"));
        assert!(text.contains(old), "{id} does not hold {old:?}");
        let said = problems(&schema, &text.replacen(old, new, 1));
        assert!(said.contains(word), "{id}: {new:?} for {old:?}: {said}");
    }
    let panda = toml(&repository().join("robots/panda/robot.toml"));
    let said = problems(&robot_schema(), &panda.replacen("tcp = ", "tool = ", 1));
    assert!(said.contains("tool"), "{said}");
}

#[test]
fn the_files_in_the_documents_are_current() {
    for (file, schema) in [("scenario.schema.json", scenario_schema()), ("robot.schema.json", robot_schema())] {
        let path = repository().join("docs").join(file);
        let wanted = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os(UPDATE).is_some() {
            std::fs::write(&path, &wanted).unwrap();
        }
        assert!(toml(&path) == wanted, "docs/{file} is not current: set {UPDATE}=1 to renew it");
    }
}
