//! The fuzz targets of untrusted scenarios.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use assay_fuzz::{memory_folder, pair, with_text};
use assay_model::Generator;

use crate::load::mjcf::check_text;
use crate::markdown::harmless;
use crate::{MAX_PHYSICS_STEPS, Scenario, draw};

/// Runs the checks of MJCF that precede MuJoCo's parser.
pub fn mjcf(data: &[u8]) {
    with_text(data, |text| drop(check_text(text)));
}

/// Loads `scenario.toml` and `README.md`, checks and displays the scenario, and draws from its parameters.
///
/// # Panics
/// Panics if the input reveals a bug.
pub fn scenario(data: &[u8]) {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(folder);
    let (toml, readme) = pair(data);
    let folder = FOLDER.join("scenario");
    fs::write(folder.join("scenario.toml"), toml).expect("a file in memory");
    fs::write(folder.join("README.md"), readme).expect("a file in memory");
    with_text(readme, |text| {
        let shown = harmless(text);
        assert_eq!(harmless(&shown), shown, "sanitising is idempotent");
    });
    let Ok(scenario) = Scenario::load(&folder, &FOLDER.join("robots")) else { return };
    drop(scenario.check_community());
    drop(scenario.community_card());
    let (decimation, steps) = (scenario.decimation(), scenario.control_steps());
    assert!(u64::from(decimation) * u64::from(steps) <= u64::from(MAX_PHYSICS_STEPS) + u64::from(decimation));
    for seed in 0..2 {
        if let Ok(drawn) = draw(&scenario, &mut Generator::new(seed)) {
            assert!(drawn.settings.iter().all(|setting| !setting.value.is_nan()), "NaN was drawn");
        }
    }
}

/// Returns a folder in memory with a scene, and the robots without their meshes.
fn folder() -> PathBuf {
    let root = memory_folder().keep();
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::create_dir(root.join("scenario")).expect("a folder");
    fs::write(root.join("scenario/scene.xml"), "<mujoco/>").expect("a scene");
    for robot in fs::read_dir(repository.join("robots")).expect("the robots") {
        let robot = robot.expect("a robot");
        let copy = root.join("robots").join(robot.file_name());
        fs::create_dir_all(&copy).expect("a folder");
        fs::copy(robot.path().join("robot.toml"), copy.join("robot.toml")).expect("a robot's description");
    }
    root
}

#[cfg(test)]
mod tests {
    use assay_fuzz::run_corpus;

    #[test]
    fn mjcf_accepts_its_corpus() {
        run_corpus("mjcf", super::mjcf);
    }

    #[test]
    fn scenario_accepts_its_corpus() {
        run_corpus("scenario", super::scenario);
    }
}
