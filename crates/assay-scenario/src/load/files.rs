//! Reads the files of a scenario and of its robots.

use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path};

use assay_model::plain_complaint;

use crate::schema::RobotEntry;
use crate::{FORMAT, MAX_TEXT_BYTES, Robot, RobotModel, ScenarioError, closest};

use super::grammar;
use super::identifiers::is_name;

/// Names of the files that are parsed.
const SCENARIO: &str = "scenario.toml";
const ROBOT: &str = "robot.toml";

/// Returns the text of a required file; `purpose` explains it in the error.
pub(super) fn read_text(path: &Path, purpose: &'static str) -> Result<String, ScenarioError> {
    let read = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => ScenarioError::Missing { path: path.to_owned(), purpose },
        _ => ScenarioError::Read { path: path.to_owned(), source },
    };
    // A link may point outside of the folder, and an error message would reveal its target.
    let about = fs::symlink_metadata(path).map_err(read)?;
    if about.is_symlink() {
        return Err(ScenarioError::Linked { path: path.to_owned() });
    }
    // Opening a pipe waits for its writer, and opening a device may have effects.
    if !about.is_file() {
        return Err(read(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")));
    }
    let mut text = String::new();
    // Reading one byte more than allowed detects files that are too large, even if they grow while being read.
    fs::File::open(path).map_err(read)?.take(MAX_TEXT_BYTES + 1).read_to_string(&mut text).map_err(read)?;
    if text.len() as u64 > MAX_TEXT_BYTES {
        return Err(ScenarioError::TooLarge { path: path.to_owned() });
    }
    Ok(text)
}

pub(super) fn parse<T: serde::de::DeserializeOwned>(path: &Path, purpose: &'static str) -> Result<T, ScenarioError> {
    let text = read_text(path, purpose)?;
    let syntax = |e: toml::de::Error| ScenarioError::Syntax { path: path.to_owned(), message: plain(&e) };
    let parsed = toml::from_str(&text).map_err(syntax)?;
    let file = if path.ends_with(ROBOT) { ROBOT } else { SCENARIO };
    grammar::check(&toml::from_str(&text).map_err(syntax)?).map_err(|(key, problem)| ScenarioError::Value {
        file,
        key,
        problem,
    })?;
    Ok(parsed)
}

/// Formats an error with position and line as in TOML's own errors, and with the message in plain language.
fn plain(error: &toml::de::Error) -> String {
    let shown = error.to_string();
    let shown = shown.trim_end();
    shown
        .strip_suffix(error.message())
        .map_or_else(|| shown.to_owned(), |place| format!("{place}{}", plain_complaint(error.message())))
}

/// Checks that the scene is a file inside the scenario's folder.
pub(super) fn check_scene(folder: &Path, scene: &str) -> Result<(), ScenarioError> {
    let fail = |problem: &str| Err(ScenarioError::value("world.scene", format!("{scene:?} {problem}")));
    let path = Path::new(scene);
    if scene.is_empty() || !path.components().all(|part| matches!(part, Component::Normal(_))) {
        return fail("must be a path inside the scenario's folder, such as \"scene.xml\"");
    }
    if !folder.join(path).symlink_metadata().is_ok_and(|file| file.is_file()) {
        return fail("is not a file in the scenario's folder");
    }
    Ok(())
}

/// Describes an unknown robot name and lists the known ones.
fn unknown_robot(name: &str, robots: &Path) -> String {
    let folders = fs::read_dir(robots).into_iter().flatten().flatten().map(|entry| entry.path());
    let named = folders.filter(|path| path.join("robot.toml").is_file());
    let mut known: Vec<String> =
        named.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect();
    known.sort();
    let meant = closest(name, known.iter().map(String::as_str));
    let hint = meant.map_or_else(|| "; known".to_owned(), |meant| format!("; did you mean {meant}? Known"));
    format!("there is no robot {name:?}{hint} robots: {}", known.join(", "))
}

pub(super) fn load_robot(index: usize, entry: &RobotEntry, robots: &Path) -> Result<Robot, ScenarioError> {
    let fail = |key: &str, problem: String| Err(ScenarioError::value(format!("robot[{index}].{key}"), problem));
    if !is_name(&entry.name) {
        return fail("name", format!("{:?} is not a valid name: use a-z, 0-9, '_' and '-'", entry.name));
    }
    if !is_name(&entry.model) {
        return fail("model", format!("{:?} is not a valid name: use a-z, 0-9, '_' and '-'", entry.model));
    }
    let folder = robots.join(&entry.model);
    if !folder.join("robot.toml").is_file() {
        return fail("model", unknown_robot(&entry.model, robots));
    }
    let model: RobotModel = parse(&folder.join("robot.toml"), "it describes the robot")?;
    let wrong = |key: String, problem: String| ScenarioError::Value { file: "robot.toml", key, problem };
    if model.format != FORMAT {
        return Err(wrong("format".to_owned(), format!("this version reads format {FORMAT}")));
    }
    model.validate().map_err(|(key, problem)| wrong(key, problem))?;
    if entry.qpos.len() != model.joints.len() {
        return fail("qpos", format!("needs {} numbers, one per joint of {}", model.joints.len(), entry.model));
    }
    let limits = model.limits.position_low.iter().zip(&model.limits.position_high);
    for ((q, (low, high)), joint) in entry.qpos.iter().zip(limits).zip(&model.joints) {
        if !(low..=high).contains(&q) {
            return fail("qpos", format!("{joint} starts at {q} rad; its limits are {low} and {high}"));
        }
    }
    Ok(Robot { name: entry.name.clone(), mount: entry.mount.clone(), qpos: entry.qpos.clone(), model, folder })
}
