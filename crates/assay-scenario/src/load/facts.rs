//! Checks of single values: ranges, counts, rates, the action space.

use std::collections::BTreeSet;

use assay_model::MAX_REPLAN_STEPS;

use crate::schema::{Control, Document};
use crate::whole::whole;
use crate::{
    Budget, FORMAT, MAX_ITEMS, MAX_LATENCY_STEPS, MAX_PHYSICS_STEPS, MAX_TIME_LIMIT_S, Mode, Robot, ScenarioError,
};

pub(super) fn check_facts(document: &Document) -> Result<(), ScenarioError> {
    let fail = |key: &str, problem: String| Err(ScenarioError::value(key, problem));
    if document.format != FORMAT {
        return fail("format", format!("this version reads format {FORMAT}"));
    }
    if !(1..=5).contains(&document.difficulty) {
        return fail("difficulty", "must be 1 to 5".to_owned());
    }
    if document.max_score == 0 {
        return fail("max_score", "must be positive".to_owned());
    }
    if !(1..=MAX_TIME_LIMIT_S).contains(&document.time_limit_s) {
        return fail("time_limit_s", format!("must be 1 to {MAX_TIME_LIMIT_S}"));
    }
    if !(1e-4..=0.02).contains(&document.world.timestep_s) {
        return fail("world.timestep_s", "must be 0.0001 to 0.02".to_owned());
    }
    if whole(1.0 / (document.world.control_hz * document.world.timestep_s)).is_none() {
        return fail("world.control_hz", "must leave a whole number of physics steps between actions".to_owned());
    }
    if whole(f64::from(document.time_limit_s) * document.world.control_hz).is_none() {
        return fail("world.control_hz", "must give a whole number of actions within the time limit".to_owned());
    }
    if f64::from(document.time_limit_s) / document.world.timestep_s > f64::from(MAX_PHYSICS_STEPS) {
        return fail("time_limit_s", format!("an episode may have at most {MAX_PHYSICS_STEPS} physics steps"));
    }
    for (key, text) in
        [("version", &document.version), ("name", &document.name), ("description", &document.description)]
    {
        if text.trim().is_empty() {
            return fail(key, "must not be empty".to_owned());
        }
    }
    check_budget(document)?;
    check_counts(document)
}

fn check_budget(document: &Document) -> Result<(), ScenarioError> {
    let budget = &document.budget;
    let times = [
        ("step_cpu_ms", budget.step_cpu_ms),
        ("hard_cpu_ms", budget.hard_cpu_ms),
        ("first_cpu_ms", budget.first_cpu_ms),
        ("import_cpu_ms", budget.import_cpu_ms),
    ];
    for (key, ms) in times {
        if !(ms > 0.0 && ms <= Budget::MAX_CPU_MS) {
            let problem = format!("must be a positive number of ms, at most {}", Budget::MAX_CPU_MS);
            return Err(ScenarioError::value(format!("budget.{key}"), problem));
        }
    }
    if budget.hard_cpu_ms < budget.step_cpu_ms {
        return Err(ScenarioError::value("budget.hard_cpu_ms", "must be a number of ms, at least step_cpu_ms"));
    }
    if !Budget::MEMORY_MIB.contains(&budget.memory_mib) {
        let (least, most) = (Budget::MEMORY_MIB.start(), Budget::MEMORY_MIB.end());
        return Err(ScenarioError::value("budget.memory_mib", format!("must lie between {least} and {most}")));
    }
    if budget.archive_mib.is_some_and(|mib| !Budget::ARCHIVE_MIB.contains(&mib)) {
        let (least, most) = (Budget::ARCHIVE_MIB.start(), Budget::ARCHIVE_MIB.end());
        return Err(ScenarioError::value("budget.archive_mib", format!("must lie between {least} and {most}")));
    }
    let probability = document.arena.max_violation_probability;
    if !(probability > 0.0 && probability < 1.0) {
        return Err(ScenarioError::value("arena.max_violation_probability", "must lie between 0 and 1"));
    }
    if !(1..=1000).contains(&document.arena.episodes) {
        return Err(ScenarioError::value("arena.episodes", "must be 1 to 1000"));
    }
    if !(0.0..1.0).contains(&document.arena.idle_progress) {
        return Err(ScenarioError::value("arena.idle_progress", "must be 0 or more and below 1"));
    }
    Ok(())
}

fn check_counts(document: &Document) -> Result<(), ScenarioError> {
    let counts = [
        ("robot", document.robot.len()),
        ("groups", document.groups.len()),
        ("control.action", document.control.action.len()),
        ("parameters", document.parameters.len()),
        ("placement", document.placement.iter().map(|p| p.bodies.len()).sum()),
        ("set", document.set.len()),
        ("disturbance", document.disturbance.len()),
        ("tags", document.tags.len()),
        ("actor", document.actor.len()),
        ("observation", document.observation.len()),
        ("signals", document.signals.len()),
        ("stage", document.stage.len()),
        ("clause", document.clause.len()),
    ];
    for (key, count) in counts {
        if count > MAX_ITEMS {
            return Err(ScenarioError::value(key, format!("{count} entries, but at most {MAX_ITEMS} are allowed")));
        }
    }
    Ok(())
}

pub(super) fn check_control(document: &Document, robots: &[Robot]) -> Result<(), ScenarioError> {
    let control = &document.control;
    let count = control.action.len();
    let mut names = BTreeSet::new();
    for (i, action) in control.action.iter().enumerate() {
        if !(action.low.is_finite() && action.high.is_finite() && action.low < action.high) {
            let problem = "low must be a number below high".to_owned();
            return Err(ScenarioError::value(format!("control.action[{i}]"), problem));
        }
        if !names.insert(&action.name) {
            return Err(ScenarioError::value(format!("control.action[{i}].name"), "is used twice; rename one"));
        }
    }
    if control.action_latency_steps > MAX_LATENCY_STEPS {
        let problem = format!("must be 0 to {MAX_LATENCY_STEPS}");
        return Err(ScenarioError::value("control.action_latency_steps", problem));
    }
    if control.replan_steps.is_some_and(|steps| !(1..=MAX_REPLAN_STEPS).contains(&steps)) {
        let problem = format!("must be 1 to {MAX_REPLAN_STEPS}; omit it to execute whole answers");
        return Err(ScenarioError::value("control.replan_steps", problem));
    }
    if control.mode == Mode::Actuator {
        return check_actuators(control, count);
    }
    check_robot_mode(control, robots)
}

fn check_actuators(control: &Control, count: usize) -> Result<(), ScenarioError> {
    if control.actuators.len() != count || count == 0 {
        let problem = format!("must name {count} actuators, one per [[control.action]]");
        return Err(ScenarioError::value("control.actuators", problem));
    }
    if control.robot.is_some() {
        return Err(ScenarioError::value("control.robot", "is only for modes that move a robot; remove it"));
    }
    Ok(())
}

/// Checks modes that move a robot, for which the robot determines the number of action values.
fn check_robot_mode(control: &Control, robots: &[Robot]) -> Result<(), ScenarioError> {
    if !control.actuators.is_empty() {
        return Err(ScenarioError::value("control.actuators", "is only for mode = \"actuator\"; remove it"));
    }
    let count = control.action.len();
    if control.mode == Mode::EeVelocity && count != 7 {
        return Err(ScenarioError::value("control.action", "ee_velocity has 7 values: linear 3, angular 3, gripper"));
    }
    if control.mode == Mode::EePose && count != 8 {
        return Err(ScenarioError::value("control.action", "ee_pose has 8 values: position 3, quaternion 4, gripper"));
    }
    if control.mode == Mode::BaseTwist && count != 2 {
        return Err(ScenarioError::value("control.action", "base_twist has 2 values: forward speed, yaw rate"));
    }
    if control.mode == Mode::Thrust && count != 4 {
        return Err(ScenarioError::value("control.action", "thrust has 4 values: thrust, body rates 3"));
    }
    let robot = robots.iter().find(|robot| Some(&robot.name) == control.robot.as_ref());
    let robot = robot.ok_or_else(|| ScenarioError::value("control.robot", "must name a [[robot]]"))?;
    check_moves(control.mode, robot)?;
    if matches!(control.mode, Mode::EeVelocity | Mode::EePose | Mode::BaseTwist | Mode::Thrust) {
        return Ok(());
    }
    let joints = robot.model.joints.len();
    let wanted = joints + usize::from(robot.model.gripper.is_some());
    if count == wanted {
        return Ok(());
    }
    let problem = format!("{} has {joints} joints: give {wanted} entries, the gripper (if any) last", robot.name);
    Err(ScenarioError::value("control.action", problem))
}

/// Checks that the robot has the parts that its mode moves.
fn check_moves(mode: Mode, robot: &Robot) -> Result<(), ScenarioError> {
    let lacks = match mode {
        Mode::BaseTwist if robot.model.drive.is_none() => "[drive]",
        Mode::Thrust if robot.model.rotors.is_none() => "[rotors]",
        Mode::Actuator | Mode::BaseTwist | Mode::Thrust => return Ok(()),
        _ if robot.model.joints.is_empty() => "joints",
        _ => return Ok(()),
    };
    let problem = format!("{} has no {lacks} in its robot.toml; choose another mode or robot", robot.model.id);
    Err(ScenarioError::value("control.robot", problem))
}
