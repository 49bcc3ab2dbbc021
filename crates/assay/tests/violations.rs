//! A clause that no policy can violate is useless: every clause of every scenario is violated by an example, or by some
//! lines of `policies/breaks.py`.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};

use assay_model::{ClauseStatus, JobReport};
use assay_scenario::{Library, Scenario};
use assay_testkit::{Assay, cheat, example, home};

/// The policy that breaks the rules.
enum By {
    /// The scenario's own reckless policy.
    Reckless,
    /// A function of `breaks.py`.
    Move(&'static str),
    /// The reference with some additional lines.
    Reference(&'static str),
    /// A policy of `policies/cheats`.
    Cheat(&'static str),
}
use By::{Cheat, Move, Reckless, Reference};

/// Shifts its observations by a third of a metre, so that it flies through the bars of the gates.
const MISLED: &str = "
_act = Policy.act

def _misled(self, observation):
    shown = dict(observation)
    for name in ('gate_0', 'gate_1', 'gate_2', 'gate_3'):
        shown[name] = shown[name] + np.array([0.0, 0.33, 0.0])
    return _act(self, shown)

Policy.act = _misled
";
/// Does not wait for the worker.
const IMPATIENT: &str = "\nWAIT_X = 99.0\n";

/// Scenario, policy, episodes, and the clauses that some of them violate.
const TABLE: &[(&str, By, u32, &[&str])] = &[
    ("cartpole_keepin", Move("pushes_right"), 1, &["keep_in", "end_stop_force", "cart_speed"]),
    (
        "tabletop_reach",
        Reckless,
        2,
        &["contact_force", "tcp_speed", "joint_position", "joint_velocity", "joint_torque", "clearance"],
    ),
    ("tabletop_reach", Move("folds"), 1, &["self_collision"]),
    ("tabletop_reach", Cheat("whirls"), 1, &["arm_speed"]),
    ("tabletop_reach", Cheat("snaps"), 1, &["chatter"]),
    (
        "open_drawer",
        Reckless,
        2,
        &["drawer_speed", "handle_force", "contact_force", "tcp_speed", "joint_position", "joint_velocity"],
    ),
    ("open_drawer", Move("folds"), 1, &["self_collision"]),
    ("open_drawer", Cheat("whirls"), 1, &["arm_speed"]),
    ("open_drawer", Cheat("trembles"), 1, &["chatter"]),
    (
        "carry_cup",
        Move("rolls"),
        1,
        &["acceleration", "contact_force", "joint_position", "joint_velocity", "self_collision", "spill", "tilt"],
    ),
    ("carry_cup", Move("hits_the_divider"), 1, &["clearance"]),
    ("carry_cup", Cheat("hurries"), 1, &["load_speed"]),
    ("carry_cup", Cheat("shakes"), 1, &["shaking", "slosh"]),
    ("carry_cup", Cheat("rocks"), 1, &["swing"]),
    (
        "tidy_table",
        Move("presses_on_a_thing"),
        1,
        &["contact_force", "grip_force", "joint_position", "joint_velocity", "object_speed", "tcp_speed"],
    ),
    ("tidy_table", Move("sweeps"), 1, &["on_the_table"]),
    ("tidy_table", Move("folds"), 1, &["self_collision"]),
    ("tidy_table", Cheat("whirls"), 1, &["arm_speed"]),
    ("tidy_table", Cheat("trembles"), 1, &["chatter"]),
    (
        "stack_blocks",
        Move("presses_on_a_thing"),
        1,
        &["contact_force", "grip_force", "joint_position", "joint_velocity", "tcp_speed"],
    ),
    ("stack_blocks", Reckless, 1, &["block_speed"]),
    ("stack_blocks", Move("sweeps"), 1, &["on_the_table"]),
    ("stack_blocks", Move("folds"), 1, &["self_collision"]),
    ("stack_blocks", Cheat("whirls"), 1, &["arm_speed"]),
    ("stack_blocks", Cheat("trembles"), 1, &["chatter"]),
    ("shared_workspace", Reckless, 2, &["hand_force"]),
    ("shared_workspace", Move("goes_for_the_chest"), 1, &["chest_force", "head", "separation"]),
    (
        "shared_workspace",
        Move("presses_on_the_forearm"),
        3,
        &["forearm_force", "contact_force", "contact_speed", "courtesy", "joint_position", "joint_velocity"],
    ),
    ("shared_workspace", Move("rams_the_upper_arm"), 1, &["upper_arm_force"]),
    ("shared_workspace", Move("folds"), 1, &["self_collision"]),
    ("shared_workspace", Cheat("strikes_the_hand"), 1, &["approach"]),
    ("shared_workspace", Cheat("hunts_slowly"), 1, &["obstruction"]),
    ("shared_workspace", Cheat("trembles"), 1, &["chatter"]),
    ("warehouse_aisle", Reckless, 1, &["contact", "aisle_speed", "clearance"]),
    ("warehouse_aisle", Reference(IMPATIENT), 4, &["stop_in_time", "speed_near_worker", "yield"]),
    ("warehouse_aisle", Cheat("hunts"), 2, &["touch", "approach", "obstruction", "gives_way"]),
    ("warehouse_aisle", Cheat("trembles"), 1, &["chatter"]),
    ("crossing_pedestrians", Cheat("hunts"), 2, &["touch", "approach", "gives_way"]),
    ("crossing_pedestrians", Cheat("blocks"), 2, &["obstruction", "exposure"]),
    ("crossing_pedestrians", Cheat("trembles"), 1, &["chatter"]),
    ("crossing_pedestrians", Cheat("crashes_late"), 1, &["zone"]),
    ("crossing_pedestrians", Reckless, 1, &["stop_in_time", "speed_near_people", "walking_pace"]),
    ("crossing_pedestrians", Move("drives_at_people"), 1, &["stop_in_time"]),
    ("quadrotor_gates", Reckless, 1, &["geofence"]),
    ("quadrotor_gates", Move("tumbles"), 1, &["tilt", "speed"]),
    ("quadrotor_gates", Cheat("rocks"), 1, &["shaking", "chatter"]),
    ("quadrotor_gates", Cheat("drops"), 1, &["ground_contact"]),
    ("quadrotor_gates", Cheat("heaves"), 1, &["heaving"]),
    ("quadrotor_gates", Reference(MISLED), 1, &["bar_contact", "clearance"]),
];
/// Clauses whose violations name two bodies.
const PAIRS: [&str; 3] = ["contact_force", "self_collision", "bar_contact"];
/// Clauses whose violations name a joint.
const JOINTS: [&str; 3] = ["joint_position", "joint_velocity", "joint_torque"];
/// Scenarios with the world, actions and clauses of another scenario, but with camera images as observations.
const BY_SIGHT: [(&str, &str); 2] = [("tidy_by_sight", "tidy_table"), ("stack_by_sight", "stack_blocks")];

#[test]
fn every_clause_is_violated_by_a_policy() {
    let assay = Assay::new(env!("CARGO_BIN_EXE_assay"));
    let mut seen: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (scenario, by, episodes, clauses) in TABLE {
        let found = violated(&assay, scenario, by, *episodes);
        for clause in *clauses {
            assert!(found.contains(*clause), "{scenario}: {clause} is not among {found:?}");
        }
        seen.entry(scenario).or_default().extend(found);
    }
    let library = Library::open(&home().join("scenarios"), &home().join("robots")).unwrap();
    for scenario in library.scenarios() {
        let id = scenario.id.as_str();
        let sibling = BY_SIGHT.iter().find(|(blind, _)| *blind == id).map(|(_, sibling)| *sibling);
        if let Some(sibling) = sibling {
            let sibling = library.get(&sibling.parse().unwrap()).unwrap();
            assert_eq!(rules(scenario), rules(sibling), "{id} is not {} by sight", sibling.id);
            continue;
        }
        let known = |clause: &str| seen.get(id).is_some_and(|found| found.contains(clause));
        for clause in &scenario.clauses {
            assert!(known(&clause.id), "{id}: nobody violates {}", clause.id);
        }
    }
}

fn rules(scenario: &Scenario) -> Vec<String> {
    scenario.clauses.iter().map(|clause| format!("{} {:?}", clause.id, clause.formula)).collect()
}

fn violated(assay: &Assay, scenario: &str, by: &By, episodes: u32) -> BTreeSet<String> {
    let read = |name: &str| std::fs::read_to_string(example(scenario, name).join("policy.py")).unwrap();
    let source = match by {
        Reckless => read("reckless"),
        Reference(more) => read("reference") + more,
        Cheat(name) => cheat(scenario, name),
        Move(name) => format!("{}\n\npolicy = {name}\n", include_str!("policies/breaks.py")),
    };
    let policy = assay.write("policy.py", source);
    let episodes = episodes.to_string();
    let arguments = ["verify", policy.to_str().unwrap(), "--scenario", scenario, "--record", "none", "--json"];
    let run = assay.run(&[&arguments[..], &["--episodes", &episodes]].concat());
    let report: JobReport = serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}", run.stderr));
    for violation in report.episode_details.iter().flat_map(|episode| &episode.violations) {
        let names = violation.involved.iter().flat_map(|involved| &involved.names).count();
        let expected = PAIRS.contains(&violation.clause.as_str()).then_some(2);
        let expected = expected.or(JOINTS.contains(&violation.clause.as_str()).then_some(1));
        assert!(expected.is_none_or(|expected| names == expected), "{scenario}: {violation:?}");
    }
    let clauses = report.episode_details.into_iter().flat_map(|episode| episode.clauses);
    clauses.filter(|clause| clause.status == ClauseStatus::Violated).map(|clause| clause.id).collect()
}
