//! A scenario with one mistake is refused, and the error tells where the mistake is and what would be right.
#![expect(clippy::unwrap_used, reason = "a test may stop here")]

use std::fs;

use crate::folder::Folder;

/// What is replaced, by what, and what the error must say: the key first, then the remedy.
type Mistake = (&'static str, &'static str, &'static [&'static str]);

/// Mistakes in the facts and rates of `cartpole_keepin`.
const FACTS: &[Mistake] = &[
    ("difficulty = 1", "dificulty = 1", &["dificulty", "is not known; use one of"]),
    ("difficulty = 1\n", "", &["difficulty is missing"]),
    ("format = 1", "format = 2", &["format", "reads format 1"]),
    ("id = \"cartpole_keepin\"", "id = \"Cart Pole\"", &["id: ", "use a-z"]),
    ("id = \"cartpole_keepin\"", "id = \"../etc\"", &["id: ", "use a-z"]),
    ("version = \"1.0.0\"", "version = \" \"", &["version", "must not be empty"]),
    ("difficulty = 1", "difficulty = 0", &["difficulty", "1 to 5"]),
    ("difficulty = 1", "difficulty = 6", &["difficulty", "1 to 5"]),
    ("max_score = 500", "max_score = 0", &["max_score", "must be positive"]),
    ("max_score = 500", "max_score = -1", &["max_score", "must be a whole number from 0"]),
    ("time_limit_s = 10", "time_limit_s = 0", &["time_limit_s", "1 to 600"]),
    ("time_limit_s = 10", "time_limit_s = 601", &["time_limit_s", "1 to 600"]),
    ("time_limit_s = 10", "time_limit_s = 1.5", &["time_limit_s", "must be a whole number from 0"]),
    ("timestep_s = 0.002", "timestep_s = 0", &["world.timestep_s", "0.0001 to 0.02"]),
    ("timestep_s = 0.002", "timestep_s = nan", &["world.timestep_s", "0.0001 to 0.02"]),
    ("timestep_s = 0.002", "timestep_s = 1", &["world.timestep_s", "0.0001 to 0.02"]),
    ("timestep_s = 0.002", "timestep = 0.002", &["timestep", "is not known; use one of"]),
    ("control_hz = 50", "control_hz = 49", &["world.control_hz", "whole number of physics steps"]),
    ("control_hz = 50", "control_hz = 0", &["world.control_hz", "whole number of physics steps"]),
    ("control_hz = 50", "control_hz = -50", &["world.control_hz", "whole number of physics steps"]),
    ("control_hz = 50", "control_hz = nan", &["world.control_hz", "whole number of physics steps"]),
    (
        "timestep_s = 0.002\ncontrol_hz = 50",
        "timestep_s = 0.0001\ncontrol_hz = 0.3",
        &["world.control_hz", "whole number"],
    ),
    ("time_limit_s = 10", "time_limit_s = 599", &[]),
    ("scene = \"scene.xml\"", "scene = \"../scene.xml\"", &["world.scene", "inside the scenario's folder"]),
    ("scene = \"scene.xml\"", "scene = \"/etc/passwd\"", &["world.scene", "inside the scenario's folder"]),
    ("scene = \"scene.xml\"", "scene = \"scen.xml\"", &["world.scene", "is not a file in"]),
    ("step_cpu_ms = 20", "step_cpu_ms = 0", &["budget.step_cpu_ms", "positive"]),
    ("hard_cpu_ms = 500", "hard_cpu_ms = 10", &["budget.hard_cpu_ms", "at least step_cpu_ms"]),
    ("hard_cpu_ms = 500", "hard_cpu_ms = inf", &["budget.hard_cpu_ms", "number of ms"]),
    ("hard_cpu_ms = 500", "hard_cpu_ms = 500\nimport_cpu_ms = 1e9", &["budget.import_cpu_ms", "at most 600000"]),
    ("hard_cpu_ms = 500", "hard_cpu_ms = 500\nmemory_mib = 100", &["budget.memory_mib", "between 256 and 2048"]),
    ("hard_cpu_ms = 500", "hard_cpu_ms = 500\nmemory_mib = 4096", &["budget.memory_mib", "between 256 and 2048"]),
    ("hard_cpu_ms = 500", "hard_cpu_ms = 500\narchive_mib = 0", &["budget.archive_mib", "between 1 and 100"]),
    ("hard_cpu_ms = 500", "hard_cpu_ms = 500\narchive_mib = 101", &["budget.archive_mib", "between 1 and 100"]),
    ("violation_probability = 0.10", "violation_probability = 0.10\nepisodes = 0", &["arena.episodes", "1 to 1000"]),
    (
        "violation_probability = 0.10",
        "violation_probability = 0.10\nidle_progress = 1",
        &["arena.idle_progress", "below 1"],
    ),
    (
        "violation_probability = 0.10",
        "violation_probability = 1",
        &["arena.max_violation_probability", "between 0 and 1"],
    ),
];

/// Mistakes in its action space and observation.
const TERMS: &[Mistake] = &[
    ("low = -12", "low = 12", &["control.action[0]", "low must be a number below high"]),
    ("low = -12", "low = nan", &["control.action[0]", "low must be a number below high"]),
    ("high = 12", "high = inf", &["control.action[0]", "low must be a number below high"]),
    ("unit = \"N\"", "units = \"N\"", &["units", "is not known; use one of"]),
    ("[\"slide_motor\"]", "[]", &["control.actuators", "name 1 actuators"]),
    ("[\"slide_motor\"]", "[\"slide_motor\", \"b\"]", &["control.actuators", "name 1 actuators"]),
    ("mode = \"actuator\"", "mode = \"torque\"", &["not torque", "actuator, ", "ee_velocity"]),
    ("mode = \"actuator\"", "mode = \"actuator\"\naction_latency_steps = 101", &["action_latency_steps", "0 to 100"]),
    (
        "mode = \"actuator\"",
        "mode = \"actuator\"\naction_latency_steps = -1",
        &["action_latency_steps", "must be a whole number from 0"],
    ),
    ("mode = \"actuator\"", "mode = \"actuator\"\nreplan_steps = 0", &["control.replan_steps", "1 to 1000"]),
    ("mode = \"actuator\"", "mode = \"actuator\"\nreplan_steps = 1001", &["control.replan_steps", "1 to 1000"]),
    (
        "mode = \"actuator\"\nactuators = [\"slide_motor\"]",
        "mode = \"joint_torque\"\nrobot = \"arm\"",
        &["control.robot", "must name a [[robot]]"],
    ),
    ("kind = \"joint_position\"", "noise = -1\nkind = \"joint_position\"", &["joint_position\".noise", "0 or more"]),
    ("kind = \"joint_position\"", "noise = nan\nkind = \"joint_position\"", &["joint_position\".noise", "0 or more"]),
    ("name = \"joint_position\"", "name = \"images/x\"", &["images/x", "rename it"]),
    ("mode = \"actuator\"", "mode = \"actuator\"\nrobot = \"arm\"", &["control.robot", "remove it"]),
    ("mode = \"actuator\"\nactuators = [\"slide_motor\"]", "mode = \"ee_velocity\"", &["control.action", "7 values"]),
    ("kind = \"joint_position\"", "kind = \"joint_angle\"", &["not joint_angle", "joint_position, "]),
    ("kind = \"joint_position\"", "kind = \"joint_position\"\nunit = \"rad\"", &["unit is not known"]),
    (
        "kind = \"joint_position\"",
        "kind = \"joint_position\"\nrobot = \"arm\"",
        &["joint_position", "either robot or joints"],
    ),
    ("kind = \"last_action\"", "kind = \"last_action\"\nof = \"body:cart\"", &["of"]),
    ("kind = \"last_action\"", "kind = \"signal\"\nsignal = \"speed\"", &["last_action", "no signal \"speed\""]),
    (
        "kind = \"last_action\"",
        "kind = \"gripper_width\"\nrobot = \"arm\"",
        &["last_action", "no [[robot]] named \"arm\""],
    ),
    (
        "kind = \"last_action\"",
        "kind = \"position\"\nof = \"cart\"",
        &["cart", "use site:NAME, body:NAME or geom:NAME"],
    ),
    ("name = \"joint_velocity\"", "name = \"joint_position\"", &["observation \"joint_position\"", "taken; rename it"]),
    ("name = \"joint_velocity\"", "name = \"time\"", &["observation \"time\"", "taken; rename it"]),
    ("name = \"joint_velocity\"", "name = \"time_remaining\"", &["observation \"time_remaining\"", "taken"]),
    ("name = \"joint_velocity\"", "name = \"instruction\"", &["observation \"instruction\"", "taken"]),
    ("name = \"joint_velocity\"", "name = \"\"", &["observation", "empty"]),
];

/// Mistakes in its signals, stages, success and clauses.
const RULES: &[Mistake] = &[
    ("b = \"stops\"", "b = \"stop\"", &["signals.end_stop_force", "no group \"stop\" in [groups]"]),
    ("kind = \"tilt\"", "kind = \"pitch\"", &["not pitch", "tilt"]),
    ("kind = \"tilt\"", "kind = \"tilt\"\naxis = \"x\"", &["axis is not known", "of"]),
    ("[signals.cart_speed]", "[signals.time]", &["signals.time", "rename it"]),
    ("[signals.cart_speed]", "[signals.limit]", &["signals.limit", "rename it"]),
    ("[signals.cart_speed]", "[signals.always]", &["signals.always", "rename it"]),
    ("[signals.cart_speed]", "[signals.\"cart speed\"]", &["signals.cart speed", "rename it"]),
    (
        "kind = \"joint_speed\"\njoint = \"slide\"",
        "kind = \"distance\"\na = \"cart\"\nb = \"stops\"\ncutoff = 0",
        &["signals.cart_speed.cutoff", "positive"],
    ),
    (
        "kind = \"joint_speed\"\njoint = \"slide\"",
        "kind = \"joint_torque_ratio\"\nrobot = \"arm\"",
        &["signals.cart_speed", "no [[robot]]"],
    ),
    (
        "kind = \"joint_speed\"\njoint = \"slide\"",
        "kind = \"acceleration\"\nof = \"body:cart\"\nwindow_s = 0.003",
        &["signals.cart_speed.window_s", "whole physics steps"],
    ),
    (
        "kind = \"joint_speed\"\njoint = \"slide\"",
        "kind = \"acceleration\"\nof = \"body:cart\"\nwindow_s = 4",
        &["signals.cart_speed.window_s", "1 to 1000"],
    ),
    (
        "kind = \"joint_speed\"\njoint = \"slide\"",
        "kind = \"inside\"\nof = []\nwithin = \"cart\"",
        &["signals.cart_speed.of", "1 to 256 frames"],
    ),
    ("points = 20", "points = 0", &["stage[0].points", "positive"]),
    ("points = 20", "points = nan", &["stage[0].points", "positive"]),
    ("hold_s = 0.5", "hold_s = -0.5", &["stage[0].hold_s", "0 s to time_limit_s"]),
    ("hold_s = 0.5", "hold_s = 11", &["stage[0].hold_s", "0 s to time_limit_s"]),
    ("name = \"upright_5s\"", "name = \"upright_2s\"", &["stage[1].name", "rename it"]),
    ("when = \"time >= 2 and", "when = \"always time >= 2 and", &["stage[0].when", "use hold_s"]),
    ("when = \"pole_tilt", "when = \"eventually[0:1] pole_tilt", &["success.when", "use hold_s"]),
    ("when = \"pole_tilt", "when = \"pole_tild", &["success.when", "unknown signal `pole_tild`"]),
    ("hold_s = 1.0", "hold_s = nan", &["success.hold_s", "0 s to time_limit_s"]),
    ("at = \"end\"", "at = \"last\"", &["must be one of any, end, not last"]),
    ("id = \"cart_speed\"", "id = \"keep_in\"", &["clause[2].id", "rename one"]),
    ("id = \"cart_speed\"", "id = \"../x\"", &["clause[2].id", "use a-z"]),
    ("level = \"critical\"", "level = \"fatal\"", &["must be one of critical, warning, not fatal"]),
    ("weight = 1.0", "weight = 0", &["clause[0].weight", "(0, 1]"]),
    ("weight = 1.0", "harm = \"animal\"", &["harm", "person"]),
    ("weight = 1.0", "weight = 2", &["clause[0].weight", "(0, 1]"]),
    ("weight = 1.0", "weight = nan", &["clause[0].weight", "(0, 1]"]),
    ("limit = 50.0", "limit = 0", &["clause[1].scale", "must be given"]),
    ("limit = 50.0", "limit = inf", &["clause[1].limit", "must be a number"]),
    (
        "formula = \"always (end_stop_force <= limit)\"",
        "terminal = true\nformula = \"always[0:5] eventually (end_stop_force <= limit)\"",
        &["clause[1].formula", "cannot be `terminal`"],
    ),
    ("scale = 0.5", "scale = -0.5", &["clause[0].scale", "positive"]),
    ("scale = 0.5", "scales = 0.5", &["scales", "is not known; use one of"]),
    (
        "always (end_stop_force <= limit)",
        "always (end_stop_force =< limit)",
        &["clause[1].formula", "column 24", "expected"],
    ),
    (
        "always (end_stop_force <= limit)",
        "always (end_force <= limit)",
        &["clause[1].formula", "unknown signal `end_force`"],
    ),
    (
        "always (end_stop_force <= limit)",
        "always[0:0.003] (end_stop_force <= limit)",
        &["clause[1].formula", "whole number"],
    ),
    ("formula = \"always (end_stop_force <= limit)\"\n", "", &["formula is missing"]),
];

/// Mistakes in what it draws.
const DRAWS: &[Mistake] = &[
    ("{ uniform = [0.03, 0.10] }", "{ uniform = [0.10, 0.03] }", &["parameters.lean", "uniform = [low, high]"]),
    ("{ uniform = [0.03, 0.10] }", "{ uniform = [nan, 0.03] }", &["parameters.lean", "uniform = [low, high]"]),
    ("{ uniform = [0.03, 0.10] }", "{ uniform = [-1e308, 1e308] }", &["parameters.lean", "uniform = [low, high]"]),
    ("{ uniform = [0.03, 0.10] }", "{ uniform = [0.03] }", &["parameters.lean", "uniform = [low, high]"]),
    ("{ uniform = [0.03, 0.10] }", "{ gamma = [0.03, 0.10] }", &["parameters.lean", "uniform = [low, high]"]),
    ("{ uniform = [0.03, 0.10] }", "{ uniform = [0.03, 0.10], clip = [0, 1] }", &["parameters.lean", "uniform"]),
    ("{ uniform = [0.03, 0.10] }", "0.05", &["parameters.lean", "uniform = [low, high]"]),
    ("{ uniform = [0.03, 0.10] }", "{ choice = [] }", &["parameters.lean", "choice"]),
    ("normal = [0.0, 0.05]", "normal = [0.0, -0.05]", &["parameters.pole_rate", "normal = [mean, sd]"]),
    ("clip = [-0.1, 0.1]", "clip = [0.1, 0.1]", &["parameters.pole_rate", "clip = [low, high]"]),
    ("lean = { uniform", "\"lean angle\" = { uniform", &["parameters.lean angle", "rename it"]),
    ("lean = { uniform", "and = { uniform", &["parameters.and", "rename it"]),
    ("target = \"joint:hinge.qpos\"", "target = \"joint:hinge.angle\"", &["joint:hinge.angle", "joint:NAME.qpos"]),
    ("target = \"joint:hinge.qpos\"", "target = \"joint:hinge.qvel\"", &["set[1].target", "set twice; remove one"]),
    ("value = \"side * lean\"", "value = \"side * leen\"", &["set[0].value", "no parameter \"leen\"", "[parameters]"]),
    ("value = \"side * lean\"", "value = \"side *\"", &["set[0].value", "column 8"]),
    ("value = \"side * lean\"", "value = \"side > lean\"", &["set[0].value", "column"]),
    ("value = \"side * lean\"", "value = \"side > 0 and lean\"", &["set[0].value", "arithmetic over parameters"]),
    ("value = \"side * lean\"", "value = \"side) >= 0 or (lean\"", &["set[0].value", "column 5"]),
    ("value = \"side * lean\"", "value = nan", &["set[0].value", "finite number"]),
    ("value = \"side * lean\"", "value = true", &["value", "untagged enum Scalar"]),
];

/// Mistakes in the robot and placements of `tabletop_reach`.
const ROBOTS: &[Mistake] = &[
    ("model = \"panda\"", "model = \"../../etc\"", &["robot[0].model", "use a-z"]),
    ("model = \"panda\"", "model = \"\"", &["robot[0].model", "use a-z"]),
    ("model = \"panda\"", "model = \"ur5\"", &["robot[0].model", "no robot \"ur5\""]),
    ("name = \"arm\"", "name = \"left/arm\"", &["robot[0].name", "use a-z"]),
    ("mount = \"arm_mount\"", "mounts = \"arm_mount\"", &["mounts", "is not known; use one of"]),
    ("qpos = [-0.85, ", "qpos = [", &["robot[0].qpos", "needs 7 numbers"]),
    ("qpos = [-0.85, ", "qpos = [-2.9, ", &["robot[0].qpos", "joint1 starts at -2.9 rad", "-2.8973"]),
    ("qpos = [-0.85, ", "qpos = [nan, ", &["robot[0].qpos", "joint1 starts at NaN rad"]),
    (
        "mode = \"ee_velocity\"\nrobot = \"arm\"",
        "mode = \"ee_velocity\"\nrobot = \"hand\"",
        &["control.robot", "[[robot]]"],
    ),
    ("mode = \"ee_velocity\"\nrobot = \"arm\"", "mode = \"ee_velocity\"", &["control.robot", "[[robot]]"]),
    ("mode = \"ee_velocity\"", "mode = \"ee_velocity\"\nactuators = [\"a\"]", &["control.actuators", "remove it"]),
    ("name = \"vy\"", "name = \"vx\"", &["control.action[1].name", "rename one"]),
    ("cutoff = 0.2", "cutoff = -0.2", &["signals.post_clearance.cutoff", "positive"]),
    ("cutoff = 0.2", "cutoff = nan", &["signals.post_clearance.cutoff", "positive"]),
    ("x = [0.36, 0.54]", "x = [0.54, 0.36]", &["placement[0].x", "low <= high"]),
    ("x = [0.36, 0.54]", "x = [0.36, inf]", &["placement[0].x", "low <= high"]),
    ("x = [0.36, 0.54]", "x = [-1.7e308, 1.7e308]", &["placement[0].x", "low <= high"]),
    ("y = [-0.14, 0.10]", "y = [nan, 0.10]", &["placement[0].y", "low <= high"]),
    ("spacing = 0.10", "spacing = -0.10", &["placement[0].spacing", "0 or more"]),
    ("spacing = 0.10", "spacing = nan", &["placement[0].spacing", "0 or more"]),
    ("spacing = 0.10", "spacing = 0.10\nz = inf", &["placement[0].z", "number of m"]),
    ("spacing = 0.10", "spacing = 0.10\nyaw = [1, -1]", &["placement[0].yaw", "low <= high"]),
    (
        "spacing = 0.10",
        "spacing = 0.10\navoid = [{ x = 0, y = 0, radius = -1 }]",
        &["placement[0].avoid[0]", "0 or more"],
    ),
    ("spacing = 0.10", "spacing = 0.10\ngap = 1", &["gap", "is not known; use one of"]),
    ("bodies = [\"target\"]", "bodies = []", &["placement[1].bodies", "at least one"]),
    ("bodies = [\"target\"]", "bodies = [\"post_1\"]", &["placement[1].bodies", "\"post_1.x\" is drawn twice", "once"]),
    (
        "[parameters]",
        "[parameters]\n\"post_0.x\" = { uniform = [0, 1] }",
        &["placement[0].bodies", "\"post_0.x\" is drawn twice"],
    ),
    ("target = \"body:target.pos.z\"", "target = \"body:target.pos.x\"", &["set[0].target", "set twice; remove one"]),
];

/// What is wrong with a push.
const PUSHES: &[Mistake] = &[
    ("at_s = [1, 2]", "at_s = [2, 1]", &["disturbance[0].at_s", "[low, high]"]),
    ("at_s = [1, 2]", "at_s = [1, 11]", &["disturbance[0].at_s", "within the episode"]),
    ("at_s = [1, 2]", "at_s = [nan, 2]", &["disturbance[0].at_s", "[low, high]"]),
    ("duration_s = 0.1", "duration_s = 0", &["disturbance[0].duration_s", "positive"]),
    ("force_n = [1, 2]", "force_n = [-1, 2]", &["disturbance[0].force_n", "0 or more"]),
    ("force_n = [1, 2]", "force_n = [1, inf]", &["disturbance[0].force_n", "[low, high]"]),
    ("force_n = [1, 2]", "force_n = [1, 2]\nheading_rad = [1, 0]", &["disturbance[0].heading_rad", "[low, high]"]),
    ("force_n = [1, 2]", "force_n = [1, 2]\nelevation_rad = nan", &["disturbance[0].elevation_rad", "number of rad"]),
    ("force_n = [1, 2]", "force_n = [1, 2]\ntorque_nm = 1", &["torque_nm"]),
    ("kind = \"push\"", "kind = \"kick\"", &["not kick", "push"]),
    ("body = \"cart\"", "body = \"\"", &["disturbance[0].body", "must name a body"]),
];

#[test]
fn pushes() {
    const PUSH: &str = "[[disturbance]]\nkind = \"push\"\nbody = \"cart\"\nat_s = [1, 2]\nduration_s = 0.1\nforce_n = [1, 2]\n[budget]";
    for (old, new, words) in PUSHES {
        assert!(PUSH.contains(old), "{old}");
        check("cartpole_keepin", &[("[budget]", Box::leak(PUSH.replacen(old, new, 1).into_boxed_str()), words)]);
    }
}

fn check(id: &str, mistakes: &[Mistake]) {
    for (old, new, words) in mistakes {
        let loaded = Folder::edited(id, old, new).load();
        if words.is_empty() {
            loaded.unwrap();
            continue;
        }
        let error = loaded.err().unwrap_or_else(|| panic!("accepted {new:?} for {old:?}"));
        let message = error.to_string();
        for word in ["scenario.toml"].iter().chain(*words) {
            assert!(message.contains(word), "{new:?} for {old:?} should say {word:?}, but says:\n{message}");
        }
    }
}

#[test]
fn facts() {
    check("cartpole_keepin", FACTS);
}

#[test]
fn terms() {
    check("cartpole_keepin", TERMS);
}

#[test]
fn rules() {
    check("cartpole_keepin", RULES);
}

#[test]
fn draws() {
    check("cartpole_keepin", DRAWS);
}

#[test]
fn robots_and_placements() {
    check("tabletop_reach", ROBOTS);
    // A clause on the joints of a robot without any could not be violated.
    for kind in ["joint_position_margin", "joint_velocity_ratio", "joint_torque_ratio"] {
        let signal = format!("[signals.joints]\nkind = \"{kind}\"\nrobot = \"drone\"\n\n[signals.speed]");
        let words: &[&str] = &["signals.joints.robot", "must be a robot with joints"];
        check("quadrotor_gates", &[("[signals.speed]", Box::leak(signal.into_boxed_str()), words)]);
    }
}

#[test]
fn too_many_of_anything() {
    let many = |line: &dyn Fn(usize) -> String| (0..300).map(line).collect::<String>();
    let cases = [
        ("parameters", "[parameters]\n", many(&|i| format!("p{i} = {{ uniform = [0, 1] }}\n"))),
        ("groups", "[groups]\n", many(&|i| format!("g{i} = [\"cart\"]\n"))),
        (
            "signals",
            "[signals.cart_speed]\n",
            many(&|i| format!("[signals.s{i}]\nkind = \"joint_value\"\njoint = \"slide\"\n")),
        ),
        (
            "clause",
            "[budget]\n",
            many(&|i| {
                let facts = "title = \"t\"\nlevel = \"warning\"\nstandard = \"s\"\nunit = \"m\"\nlimit = 1";
                format!("[[clause]]\nid = \"c{i}\"\n{facts}\nformula = \"time <= limit\"\n")
            }),
        ),
        (
            "placement",
            "[[set]]\n",
            format!(
                "[[placement]]\nbodies = [{}]\nx = [0, 1]\ny = [0, 1]\nspacing = 0\n",
                many(&|i| format!("\"b{i}\", "))
            ),
        ),
    ];
    for (key, anchor, entries) in cases {
        // Tables open their list, arrays of tables stand before the next one.
        let new = if anchor.contains("[parameters]") || anchor.contains("[groups]") {
            format!("{anchor}{entries}")
        } else {
            format!("{entries}{anchor}")
        };
        let message = Folder::edited("cartpole_keepin", anchor, &new).load().unwrap_err().to_string();
        assert!(
            message.contains(&format!("scenario.toml: {key}: 30")) && message.contains("at most 256 are allowed"),
            "{message}"
        );
    }
}

#[test]
fn files_that_are_missing_or_too_large() {
    for (file, remedy) in [("README.md", "it describes the task"), ("scenario.toml", "it defines the scenario")] {
        let folder = Folder::of("cartpole_keepin");
        fs::remove_file(folder.scenario().join(file)).unwrap();
        let message = folder.load().unwrap_err().to_string();
        assert!(message.contains(file) && message.contains(remedy) && message.contains("add it"), "{message}");
        let folder = Folder::of("cartpole_keepin");
        fs::write(folder.scenario().join(file), "#".repeat(1024 * 1024 + 1)).unwrap();
        let message = folder.load().unwrap_err().to_string();
        assert!(message.contains(file) && message.contains("larger than 1048576 bytes; shorten it"), "{message}");
    }
}

#[test]
fn what_is_no_toml_is_told_with_its_line() {
    let folder = Folder::edited("cartpole_keepin", "difficulty = 1", "difficulty 1");
    let message = folder.load().unwrap_err().to_string();
    assert!(message.contains("scenario.toml") && message.contains("line 6, column 12"), "{message}");
}

#[test]
fn a_robot_with_a_mistake_is_told_with_its_key() {
    let cases = [
        ("velocity_share = 0.9", "velocity_share = 1.1", "ik.velocity_share: must lie in (0, 1]"),
        ("torque = [87.0, ", "torque = [", "limits.torque: needs 7 finite numbers"),
        ("torque = [87.0, ", "torque = [-87.0, ", "limits.torque: must be positive"),
        ("format = 1", "format = 7", "format: this version reads format 1"),
        ("leash_rad = 0.05", "leash_rad = nan", "ik.leash_rad: must be"),
        ("damping = 0.05", "damping = -1", "ik.damping: must be"),
        ("manipulability_threshold = 0.02", "manipulability_threshold = 0", "ik.manipulability_threshold: must be"),
        ("open_m = 0.04", "open_m = 0", "gripper.open_m: must be"),
        ("damping = 0.05", "dampings = 0.05", "dampings"),
    ];
    for (old, new, words) in cases {
        let folder = Folder::of("tabletop_reach");
        let path = folder.robots().join("panda/robot.toml");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(old), "{old}");
        fs::write(&path, text.replacen(old, new, 1)).unwrap();
        let message = folder.load().unwrap_err().to_string();
        assert!(message.contains("robot.toml") && message.contains(words), "{new}: {message}");
    }
}
