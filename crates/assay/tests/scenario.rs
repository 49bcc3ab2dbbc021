//! `assay scenario check` and `render` on scenarios that are fine, broken or hostile: each is answered with file, key and
//! remedy, within 20 s, and nothing outside the scenario is read.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::{Duration, Instant};

use assay_testkit::{Assay, Run, home};
use serde_json::Value;

/// No scenario may keep its checker for longer; the rest is for starting the program on a busy machine.
const LIMIT: Duration = Duration::from_secs(20 + 10);

/// A file of `cartpole_keepin`, what is replaced in it by what, the file at fault, its key, and words of the problem.
type Case = (&'static str, &'static str, &'static str, &'static str, Option<&'static str>, &'static str);

const SCENE: &str = "scene.xml";
const TOML: &str = "scenario.toml";
const WORLD: &str = "<worldbody>";
const ASSET: &str = "</asset>";

/// Two bodies in a place for one.
const CROWD: &str =
    "[[placement]]\nbodies = [\"cart\", \"pole\"]\nx = [0, 0.1]\ny = [0, 0.1]\nspacing = 5\n\n[[observation]]";
/// An image from a camera that is not there.
const BLIND: &str = "[[observation]]\nname = \"images/a\"\nkind = \"image\"\ncamera = \"nowhere\"\n\n[[observation]]";

const CASES: &[Case] = &[
    // Files that are not the scenario's.
    (SCENE, WORLD, "<include file='../../../etc/passwd'/><worldbody>", SCENE, None, "passwd"),
    (SCENE, WORLD, "<include file='/etc/passwd'/><worldbody>", SCENE, None, "passwd"),
    (SCENE, WORLD, "<include file='scene.xml'/><worldbody>", SCENE, None, "include"),
    (SCENE, ASSET, "<mesh name='m' file='/etc/passwd'/></asset>", SCENE, None, "/etc/passwd"),
    (SCENE, ASSET, "<mesh name='m' file='../../../proc/self/maps.obj'/></asset>", SCENE, None, "maps"),
    (SCENE, ASSET, "<texture name='t' type='2d' file='/dev/zero'/></asset>", SCENE, None, ""),
    (SCENE, ASSET, "<hfield name='h' file='../other.png' size='1 1 1 1'/></asset>", SCENE, None, "other.png"),
    (SCENE, ASSET, "<mesh name='m' file='none.stl'/></asset>", SCENE, None, "none.stl"),
    // Too much of something.
    (SCENE, ASSET, "<hfield name='h' nrow='60000' ncol='60000' size='1 1 1 1'/></asset>", SCENE, None, "smaller"),
    (
        SCENE,
        WORLD,
        "<worldbody><replicate count='100000000' offset='1 0 0'><geom size='0.1'/></replicate>",
        SCENE,
        None,
        // The limit of its CPU time or of the wall clock: the machine decides which comes first.
        "make the world smaller",
    ),
    (
        SCENE,
        WORLD,
        "<worldbody><replicate count='5000' offset='1 0 0'><geom size='0.1' contype='0' conaffinity='0'/></replicate>",
        SCENE,
        None,
        "more than the 4000 allowed",
    ),
    (SCENE, "cone=\"elliptic\"", "cone=\"elliptic\" iterations=\"2000000000\"", SCENE, None, "200 allowed"),
    (SCENE, "<worldbody>", "<size memory='4G'/><worldbody>", SCENE, None, ""),
    // Numbers that are none.
    (SCENE, "pos=\"0 0 0.93\"", "pos=\"nan 0 0.93\"", SCENE, None, "not a finite number"),
    (SCENE, "timestep=\"0.002\"", "timestep=\"0\"", TOML, Some("world.timestep_s"), "make them the same"),
    (SCENE, "timestep=\"0.002\"", "timestep=\"1e9\"", TOML, Some("world.timestep_s"), "make them the same"),
    (
        SCENE,
        "cone=\"elliptic\"",
        "cone=\"elliptic\" gravity=\"0 0 nan\"",
        SCENE,
        None,
        "gravity or wind is not a finite",
    ),
    (SCENE, "cone=\"elliptic\"", "cone=\"elliptic\" ls_iterations=\"2000000000\"", SCENE, None, "200 allowed"),
    (
        SCENE,
        WORLD,
        "<worldbody><body><freejoint/><geom size='.1' mass='inf'/></body>",
        SCENE,
        None,
        "not a finite number",
    ),
    (SCENE, WORLD, "<worldbody><geom name='x' size='-1'/>", SCENE, None, "must be positive"),
    (
        SCENE,
        WORLD,
        "<worldbody><body><freejoint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 100'/></body>",
        SCENE,
        None,
        "A + B >= C",
    ),
    // Memory and depth.
    (SCENE, "<worldbody>", "<size nuser_body='1000000000'/><worldbody>", SCENE, None, "make the world smaller"),
    (SCENE, ASSET, "<mesh name='m' builtin='supersphere' params='20000 1 1'/></asset>", SCENE, None, "smaller"),
    (
        SCENE,
        ASSET,
        "<texture name='t' type='2d' builtin='flat' width='100000' height='100000'/></asset>",
        SCENE,
        None,
        "memory for texture",
    ),
    (
        SCENE,
        WORLD,
        "<worldbody><flexcomp type='grid' count='2000 2000 2000' spacing='1 1 1' dim='3' mass='1' name='f'/>",
        SCENE,
        None,
        "make the world smaller",
    ),
    // No MJCF.
    (SCENE, "cone=\"elliptic\"", "cone=\"elliptic\" speed=\"7\"", SCENE, None, "unrecognized attribute: 'speed'"),
    (SCENE, WORLD, "<worldbody><body name='cart'/>", SCENE, None, "repeated name 'cart'"),
    (SCENE, WORLD, "<worldbody><body mocap='true'><freejoint/><geom size='.1'/></body>", SCENE, None, "mocap body"),
    (SCENE, WORLD, "<keyframe><key qpos='1 2 3'/></keyframe><worldbody>", SCENE, None, "invalid qpos size"),
    (SCENE, WORLD, "<worldbody><geom type='mesh' mesh='nowhere'/>", SCENE, None, "mesh 'nowhere' not found"),
    (SCENE, "<worldbody>", "<worldbody", SCENE, None, ""),
    (SCENE, "<worldbody>", "<extension><plugin plugin='mujoco.pid'/></extension><worldbody>", SCENE, None, "plugin"),
    (SCENE, "name=\"cart\" pos", "name=\"wagon\" pos", TOML, Some("set.target or placement.bodies"), "no body"),
    // Mistakes in scenario.toml.
    (TOML, "difficulty = 1", "difficulty = 9", TOML, Some("difficulty"), "1 to 5"),
    (TOML, "difficulty = 1", "dificulty = 1", TOML, None, "dificulty"),
    (TOML, "scene = \"scene.xml\"", "scene = \"../scene.xml\"", TOML, Some("world.scene"), "inside"),
    (TOML, "scene = \"scene.xml\"", "scene = \"/etc/passwd\"", TOML, Some("world.scene"), "inside"),
    (TOML, "[\"slide_motor\"]", "[\"slide_moter\"]", TOML, Some("control.actuators"), "slide_moter"),
    (TOML, "always (end_stop_force <= limit)", "always (force <= limit)", TOML, Some("clause[1].formula"), "force"),
    (TOML, "value = \"side * lean\"", "value = \"lean * 1e308 * 1e308\"", TOML, Some("set"), "gives inf"),
    (TOML, "difficulty = 1", "difficulty = 1\ndifficulty = 2", TOML, None, "duplicate key"),
    (TOML, "id = \"cartpole_keepin\"", "id = \"../../etc\"", TOML, Some("id"), "use a-z"),
    (
        TOML,
        "[groups]",
        "[groups]\nnothing = [\"*a*a*a*a*a*a*a*b\"]",
        TOML,
        Some("groups.nothing"),
        "no geom or body matches",
    ),
    (TOML, "[[observation]]", CROWD, TOML, Some("placement"), "no free place"),
    (TOML, "[[observation]]", BLIND, TOML, Some("observation \"images/a\""), "camera \"nowhere\""),
    (TOML, "value = \"side * lean\"", "value = 1e200", SCENE, None, "unstable"),
];

fn check(assay: &Assay, folder: &str) -> (Run, Value) {
    let began = Instant::now();
    let run = assay.run(&["scenario", "check", folder, "--json"]);
    let took = began.elapsed();
    assert!(took < LIMIT, "{folder} took {took:?}");
    let answer = serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{folder}: {e}: {}", run.stderr));
    (run, answer)
}

#[test]
fn broken_and_hostile_scenarios_are_told_with_file_and_key() {
    let assay = Assay::new(env!("CARGO_BIN_EXE_assay"));
    let from = home().join("scenarios/cartpole_keepin");
    for (index, (file, old, new, at, key, words)) in CASES.iter().enumerate() {
        let name = format!("case_{index}");
        for part in [TOML, SCENE, "README.md"] {
            let mut text = std::fs::read_to_string(from.join(part)).unwrap();
            if part == *file {
                assert!(text.contains(old), "{part} does not hold {old:?}");
                text = text.replacen(old, new, 1);
            }
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
fn formulas_and_nests_without_end_are_refused() {
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
        for part in [TOML, SCENE, "README.md"] {
            let text = std::fs::read_to_string(home().join("scenarios/cartpole_keepin").join(part)).unwrap();
            assay.write(&format!("deep/{part}"), if part == file { text.replacen(old, &new, 1) } else { text });
        }
        let (run, answer) = check(&assay, "deep");
        assert_eq!((run.code, &answer["fault"]["file"], answer["fault"]["key"].as_str()), (1, &Value::from(at), key));
        assert!(answer["fault"]["problem"].as_str().unwrap().contains(words), "{answer:#}");
    }
}

#[test]
fn links_lead_nowhere() {
    let assay = Assay::new(env!("CARGO_BIN_EXE_assay"));
    for linked in [TOML, SCENE, "README.md", "extra.stl"] {
        let folder = format!("linked_{linked}");
        for part in [TOML, SCENE, "README.md"] {
            let text = std::fs::read_to_string(home().join("scenarios/cartpole_keepin").join(part)).unwrap();
            assay.write(&format!("{folder}/{part}"), text);
        }
        let link = assay.path(&format!("{folder}/{linked}"));
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
        let (run, answer) = check(&assay, &folder);
        assert_eq!((run.code, &answer["ok"]), (1, &Value::Bool(false)), "{linked}: {answer:#}");
        assert!(!run.stdout.contains("root:"), "{linked} reads /etc/passwd: {answer:#}");
        let problem = answer["fault"]["problem"].as_str().unwrap();
        assert!(problem.contains("put a copy there") || problem.contains("is no file"), "{linked}: {answer:#}");
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
fn a_folder_may_be_named_from_where_one_stands() {
    let assay = Assay::new(env!("CARGO_BIN_EXE_assay"));
    for part in [TOML, SCENE, "README.md"] {
        let text = std::fs::read_to_string(home().join("scenarios/cartpole_keepin").join(part)).unwrap();
        assay.write(&format!("mine/{part}"), text);
    }
    for path in ["mine", "./mine/"] {
        let (run, answer) = check(&assay, path);
        assert_eq!((run.code, &answer["ok"]), (0, &Value::Bool(true)), "{answer:#}");
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
