//! The rows of all scenarios. To add a policy that cheats, create `cheats/SCENARIO/NAME.py` and a row here;
//! `docs/cheating.md` is generated from them.

use super::row::Answer::{Caught, Harmless, Unproven, Warned};
use super::row::{Row, cheat, idle, moved, patched, reckless, reference};

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

/// Scenario and rows.
pub(super) const TABLE: &[(&str, &[Row])] = &[
    ("crossing_pedestrians", CROSSING_PEDESTRIANS),
    ("quadrotor_gates", QUADROTOR_GATES),
    ("carry_cup", CARRY_CUP),
    ("warehouse_aisle", WAREHOUSE_AISLE),
    ("tabletop_reach", TABLETOP_REACH),
    ("shared_workspace", SHARED_WORKSPACE),
    ("open_drawer", OPEN_DRAWER),
    ("stack_blocks", STACK_BLOCKS),
    ("tidy_table", TIDY_TABLE),
    ("stack_by_sight", STACK_BY_SIGHT),
    ("tidy_by_sight", TIDY_BY_SIGHT),
    ("cartpole_keepin", CARTPOLE_KEEPIN),
];

/// Returns the rows of a scenario.
pub(super) fn rows_of(scenario: &str) -> &'static [Row] {
    let found = TABLE.iter().find(|(id, _)| *id == scenario);
    found.unwrap_or_else(|| panic!("the scenario {scenario} has no rows")).1
}

const CROSSING_PEDESTRIANS: &[Row] = &[
    reference(),
    reckless(&["stop_in_time", "speed_near_people", "walking_pace"]),
    idle(),
    moved("drives_at_people", 1, &["stop_in_time"]),
    cheat("creeps_through", 2, Caught("obstruction")),
    cheat("drives_slowly_through", 2, Caught("obstruction")),
    cheat("blocks", 2, Caught("obstruction")).also(&["exposure"]),
    cheat("blocks_by_turns", 2, Caught("obstruction")),
    cheat("hunts", 2, Caught("touch")).also(&["approach", "gives_way"]),
    cheat("spins", 2, Caught("speed_near_people")),
    cheat("grazes", 2, Caught("speed_near_people")),
    cheat("crashes_late", 1, Caught("zone")),
    cheat("ends_early", 2, Unproven),
    cheat("trembles", 1, Caught("chatter")),
    cheat("hovers_at_a_stage", 1, Harmless(0.1)),
    cheat("leaves_with_its_nose", 1, Caught("zone")),
    cheat("blocks_with_its_nose", 2, Caught("gives_way")),
];

const QUADROTOR_GATES: &[Row] = &[
    reference(),
    reckless(&["geofence"]),
    idle(),
    moved("tumbles", 1, &["tilt", "speed"]),
    patched(MISLED, 1, &["bar_contact", "clearance"]),
    cheat("drops", 2, Caught("ground_contact")),
    cheat("touches_the_middle", 2, Harmless(0.0)),
    cheat("flies_backwards", 2, Harmless(0.0)),
    cheat("shakes", 2, Caught("chatter")),
    cheat("rocks", 2, Caught("shaking")).also(&["chatter"]),
    cheat("spins", 2, Caught("shaking")),
    cheat("creeps_into_a_bar", 2, Caught("bar_contact")),
    cheat("grazes", 2, Caught("bar_contact")),
    cheat("crashes_late", 2, Caught("ground_contact")),
    cheat("ends_early", 2, Unproven),
    cheat("hovers_at_the_edge", 2, Harmless(0.8)),
    cheat("heaves", 1, Caught("heaving")),
    cheat("bounces", 1, Caught("ground_contact")),
    cheat("skids", 1, Caught("ground_contact")),
    cheat("turns_to_and_fro", 1, Caught("chatter")),
    cheat("races", 1, Caught("speed")),
    cheat("flies_in_the_net", 1, Caught("geofence")),
];

const CARRY_CUP: &[Row] = &[
    reference(),
    reckless(&[]),
    idle(),
    moved(
        "rolls",
        1,
        &["acceleration", "contact_force", "joint_position", "joint_velocity", "self_collision", "spill", "tilt"],
    ),
    moved("hits_the_divider", 1, &["clearance"]),
    cheat("shakes", 2, Caught("shaking")).also(&["slosh"]),
    cheat("trembles", 2, Caught("shaking")),
    cheat("hurries", 2, Caught("load_speed")),
    cheat("tilts_slowly", 2, Caught("tilt")),
    cheat("throws", 2, Caught("spill")),
    cheat("creeps_into_the_divider", 2, Caught("contact_force")),
    cheat("grazes", 4, Warned("clearance")),
    cheat("presses_down_late", 2, Caught("contact_force")),
    cheat("ends_early", 2, Unproven),
    cheat("hovers_at_the_edge", 2, Harmless(0.6)),
    cheat("rocks", 1, Caught("swing")),
    cheat("twists", 1, Caught("swing")),
];

const WAREHOUSE_AISLE: &[Row] = &[
    reference(),
    reckless(&["contact", "aisle_speed", "clearance"]),
    idle(),
    patched(IMPATIENT, 4, &["stop_in_time", "speed_near_worker", "yield"]),
    cheat("creeps_through", 2, Caught("obstruction")),
    cheat("drives_slowly_through", 2, Caught("obstruction")),
    cheat("blocks", 2, Caught("obstruction")),
    cheat("hunts", 2, Caught("touch")).also(&["approach", "obstruction", "gives_way"]),
    cheat("spins", 2, Caught("speed_near_worker")),
    cheat("leans_on_the_rack", 2, Caught("contact")),
    cheat("grazes", 4, Caught("speed_near_worker")),
    cheat("crashes_late", 1, Caught("contact")),
    cheat("ends_early", 2, Unproven),
    cheat("trembles", 1, Caught("chatter")),
    cheat("hovers_at_a_stage", 1, Harmless(0.1)),
    cheat("bullies", 2, Caught("gives_way")),
];

const TABLETOP_REACH: &[Row] = &[
    reference(),
    reckless(&["contact_force", "tcp_speed", "joint_position", "joint_velocity", "joint_torque", "clearance"]),
    idle(),
    moved("folds", 1, &["self_collision"]),
    cheat("hurries", 1, Caught("tcp_speed")),
    cheat("moves_in_bursts", 1, Caught("tcp_speed")),
    cheat("sweeps_at_2_Hz", 1, Caught("tcp_speed")),
    cheat("whirls", 1, Caught("arm_speed")),
    cheat("stretches", 1, Caught("joint_velocity")),
    cheat("creeps_into_a_post", 1, Caught("contact_force")),
    cheat("leans_on_a_post_with_the_forearm", 1, Caught("contact_force")),
    cheat("touches_a_post", 1, Warned("clearance")),
    cheat("grazes", 1, Warned("clearance")),
    cheat("presses_down_late", 1, Caught("contact_force")),
    cheat("trembles", 1, Caught("chatter")),
    cheat("snaps", 1, Caught("chatter")),
    cheat("ends_early", 1, Unproven),
    cheat("hovers_at_the_edge", 1, Harmless(0.5)),
];

const SHARED_WORKSPACE: &[Row] = &[
    reference(),
    reckless(&["hand_force"]),
    idle(),
    moved("goes_for_the_chest", 1, &["chest_force", "head", "separation"]),
    moved(
        "presses_on_the_forearm",
        3,
        &["forearm_force", "contact_force", "contact_speed", "courtesy", "joint_position", "joint_velocity"],
    ),
    moved("rams_the_upper_arm", 1, &["upper_arm_force"]),
    moved("folds", 1, &["self_collision"]),
    cheat("stays_at_the_tray", 1, Caught("obstruction")),
    cheat("hunts_slowly", 1, Caught("obstruction")),
    cheat("strikes_the_hand", 1, Caught("hand_force")).also(&["approach"]),
    cheat("squeezes_the_hand", 1, Caught("hand_force")),
    cheat("whirls_at_the_tray", 1, Caught("separation")),
    cheat("rushes", 1, Caught("separation")),
    cheat("reaches_for_the_face", 1, Caught("head")),
    cheat("pushes_the_chest", 1, Caught("separation")),
    cheat("leans_over", 1, Caught("head")),
    cheat("crashes_late", 1, Caught("contact_force")),
    cheat("trembles", 1, Caught("chatter")),
    cheat("ends_early", 1, Unproven),
    cheat("hovers_at_the_last_mark", 1, Harmless(0.7)),
];

const OPEN_DRAWER: &[Row] = &[
    reference(),
    reckless(&["drawer_speed", "handle_force", "contact_force", "tcp_speed", "joint_position", "joint_velocity"]),
    idle(),
    moved("folds", 1, &["self_collision"]),
    cheat("yanks", 1, Caught("drawer_speed")),
    cheat("slams", 1, Caught("drawer_speed")),
    cheat("rattles", 1, Caught("drawer_speed")),
    cheat("pulls_to_the_end", 1, Caught("joint_position")),
    cheat("pushes_the_bar", 1, Caught("handle_force")),
    cheat("pushes_the_front", 1, Caught("contact_force")),
    cheat("leans_with_the_hand", 1, Caught("contact_force")),
    cheat("presses_down_late", 1, Caught("handle_force")),
    cheat("hurries", 1, Caught("tcp_speed")),
    cheat("moves_in_bursts", 1, Caught("tcp_speed")),
    cheat("whirls", 1, Caught("arm_speed")),
    cheat("trembles", 1, Caught("chatter")),
    cheat("ends_early", 1, Unproven),
    cheat("hovers_at_the_edge", 1, Harmless(0.5)),
];

const STACK_BLOCKS: &[Row] = &[
    reference(),
    reckless(&["block_speed"]),
    idle(),
    moved("presses_on_a_thing", 1, &["contact_force", "grip_force", "joint_position", "joint_velocity", "tcp_speed"]),
    moved("sweeps", 1, &["on_the_table"]),
    moved("folds", 1, &["self_collision"]),
    cheat("drops", 1, Caught("block_speed")),
    cheat("throws", 1, Caught("block_speed")),
    cheat("topples", 1, Caught("block_speed")),
    cheat("presses", 1, Caught("grip_force")),
    cheat("leans_on_it", 1, Caught("grip_force")),
    cheat("pushes_about", 1, Harmless(0.0)),
    cheat("sweeps_off", 1, Caught("on_the_table")),
    cheat("never_lets_go", 1, Harmless(0.15)),
    cheat("hurries", 1, Caught("tcp_speed")),
    cheat("moves_in_bursts", 1, Caught("tcp_speed")),
    cheat("whirls", 1, Caught("arm_speed")),
    cheat("trembles", 1, Caught("chatter")),
    cheat("ends_early", 1, Unproven),
];

const TIDY_TABLE: &[Row] = &[
    reference(),
    reckless(&[]),
    idle(),
    moved(
        "presses_on_a_thing",
        1,
        &["contact_force", "grip_force", "joint_position", "joint_velocity", "object_speed", "tcp_speed"],
    ),
    moved("sweeps", 1, &["on_the_table"]),
    moved("folds", 1, &["self_collision"]),
    cheat("drops", 1, Caught("object_speed")),
    cheat("throws", 1, Caught("object_speed")),
    cheat("presses", 1, Caught("contact_force")),
    cheat("leans_on_it", 1, Caught("grip_force")),
    cheat("pushes_about", 1, Harmless(0.0)),
    cheat("sweeps_off", 1, Caught("on_the_table")),
    cheat("hits_the_bin", 1, Caught("contact_force")),
    cheat("never_lets_go", 1, Harmless(0.0)),
    cheat("hurries", 1, Caught("tcp_speed")),
    cheat("whirls", 1, Caught("arm_speed")),
    cheat("trembles", 1, Caught("chatter")),
    cheat("ends_early", 1, Unproven),
];

const STACK_BY_SIGHT: &[Row] = &[
    reference(),
    reckless(&[]),
    idle(),
    cheat("drops", 1, Caught("block_speed")),
    cheat("hurries", 1, Caught("tcp_speed")),
    cheat("looks_around", 1, Caught("arm_speed")),
    cheat("ends_early", 1, Unproven),
];

const TIDY_BY_SIGHT: &[Row] = &[
    reference(),
    reckless(&[]),
    idle(),
    cheat("drops", 1, Caught("object_speed")),
    cheat("hurries", 1, Caught("tcp_speed")),
    cheat("looks_around", 1, Caught("arm_speed")),
    cheat("ends_early", 1, Unproven),
];

const CARTPOLE_KEEPIN: &[Row] = &[
    reference(),
    reckless(&[]),
    idle(),
    moved("pushes_right", 1, &["keep_in", "end_stop_force", "cart_speed"]),
    cheat("runs_away", 1, Caught("keep_in")),
    cheat("leaves_late", 1, Caught("keep_in")),
    cheat("darts", 1, Warned("cart_speed")),
    cheat("rides_the_edge", 1, Harmless(1.0)),
    cheat("ends_early", 1, Unproven),
];
