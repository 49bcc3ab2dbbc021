//! Untrusted scenarios.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use assay_model::Generator;
use assay_scenario::{Scenario, draw, fuzzing};

use crate::pieces::pair;
use crate::text::with_text;

/// Runs the checks of MJCF that precede MuJoCo's parser.
pub(crate) fn mjcf(data: &[u8]) {
    with_text(data, |text| drop(fuzzing::mjcf(text)));
}

/// Loads `scenario.toml` and `README.md`, checks and displays the scenario, and draws from its parameters.
pub(crate) fn toml(data: &[u8]) {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(folder);
    let (toml, readme) = pair(data);
    let scenario = FOLDER.join("scenario");
    fs::write(scenario.join("scenario.toml"), toml).expect("a file in memory");
    fs::write(scenario.join("README.md"), readme).expect("a file in memory");
    with_text(readme, |text| {
        let shown = fuzzing::markdown(text);
        assert_eq!(fuzzing::markdown(&shown), shown, "sanitising is idempotent");
    });
    let Ok(scenario) = Scenario::load(&scenario, &FOLDER.join("robots")) else { return };
    drop(scenario.check_community());
    drop(scenario.community_card());
    let (decimation, steps) = (scenario.decimation(), scenario.control_steps());
    assert!(
        u64::from(decimation) * u64::from(steps)
            <= u64::from(assay_scenario::MAX_PHYSICS_STEPS) + u64::from(decimation)
    );
    for seed in 0..2 {
        if let Ok(drawn) = draw(&scenario, &mut Generator::new(seed)) {
            assert!(drawn.settings.iter().all(|setting| !setting.value.is_nan()), "NaN was drawn");
        }
    }
}

/// Returns a folder in memory with a scene, and the robots without their meshes.
fn folder() -> PathBuf {
    let root = tempfile::tempdir_in("/dev/shm").expect("a folder in memory").keep();
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
