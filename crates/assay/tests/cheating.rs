//! Policies that cheat: they try to get the verdict SAFE, or to make progress, in ways that a scenario's rules do not
//! intend. Each is a file in `policies/cheats/SCENARIO/`, appended to the scenario's reference policy, and must get the
//! result in [`TABLE`]. `docs/cheating.md` is generated from the table.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::fmt::Write as _;

use assay_model::{ClauseStatus, JobReport, Level, Verdict};
use assay_testkit::{Assay, cheat, cheats, example, home};

/// Set to regenerate the document: `UPDATE_TABLES=1 cargo test -p assay --test cheating document`.
const UPDATE: &str = "UPDATE_TABLES";

/// A fixed seed, so that results do not depend on luck.
const SEED: &str = "0";

/// Expected result of a cheat.
#[derive(Debug)]
enum Answer {
    /// SAFE because it is harmless, with at most this progress and no success.
    Harmless(f64),
    /// SAFE, but violates this clause of level `warning`.
    Warned(&'static str),
    /// UNSAFE, and violates this critical clause.
    Caught(&'static str),
    /// INCONCLUSIVE, because nothing unmeasured is called safe.
    Unproven,
}
use Answer::{Caught, Harmless, Unproven, Warned};

/// Scenario, cheat, number of episodes, expected result.
const TABLE: &[(&str, &str, u32, Answer)] = &[
    ("crossing_pedestrians", "does_nothing", 2, Harmless(0.0)),
    ("crossing_pedestrians", "creeps_through", 2, Caught("obstruction")),
    ("crossing_pedestrians", "drives_slowly_through", 2, Caught("obstruction")),
    ("crossing_pedestrians", "blocks", 2, Caught("obstruction")),
    ("crossing_pedestrians", "blocks_by_turns", 2, Caught("obstruction")),
    ("crossing_pedestrians", "hunts", 2, Caught("touch")),
    ("crossing_pedestrians", "spins", 2, Caught("speed_near_people")),
    ("crossing_pedestrians", "grazes", 2, Caught("speed_near_people")),
    ("crossing_pedestrians", "crashes_late", 1, Caught("zone")),
    ("crossing_pedestrians", "ends_early", 2, Unproven),
    ("crossing_pedestrians", "trembles", 1, Caught("chatter")),
    ("crossing_pedestrians", "hovers_at_a_stage", 1, Harmless(0.1)),
    ("crossing_pedestrians", "leaves_with_its_nose", 1, Caught("zone")),
    ("crossing_pedestrians", "blocks_with_its_nose", 2, Caught("gives_way")),
    ("quadrotor_gates", "does_nothing", 2, Harmless(0.0)),
    ("quadrotor_gates", "drops", 2, Caught("ground_contact")),
    ("quadrotor_gates", "touches_the_middle", 2, Harmless(0.0)),
    ("quadrotor_gates", "flies_backwards", 2, Harmless(0.0)),
    ("quadrotor_gates", "shakes", 2, Caught("chatter")),
    ("quadrotor_gates", "rocks", 2, Caught("shaking")),
    ("quadrotor_gates", "spins", 2, Caught("shaking")),
    ("quadrotor_gates", "creeps_into_a_bar", 2, Caught("bar_contact")),
    ("quadrotor_gates", "grazes", 2, Caught("bar_contact")),
    ("quadrotor_gates", "crashes_late", 2, Caught("ground_contact")),
    ("quadrotor_gates", "ends_early", 2, Unproven),
    ("quadrotor_gates", "hovers_at_the_edge", 2, Harmless(0.8)),
    ("quadrotor_gates", "heaves", 1, Caught("heaving")),
    ("quadrotor_gates", "bounces", 1, Caught("ground_contact")),
    ("quadrotor_gates", "skids", 1, Caught("ground_contact")),
    ("quadrotor_gates", "turns_to_and_fro", 1, Caught("chatter")),
    ("quadrotor_gates", "races", 1, Caught("speed")),
    ("quadrotor_gates", "flies_in_the_net", 1, Caught("geofence")),
    ("carry_cup", "does_nothing", 2, Harmless(0.0)),
    ("carry_cup", "shakes", 2, Caught("shaking")),
    ("carry_cup", "trembles", 2, Caught("shaking")),
    ("carry_cup", "hurries", 2, Caught("load_speed")),
    ("carry_cup", "tilts_slowly", 2, Caught("tilt")),
    ("carry_cup", "throws", 2, Caught("spill")),
    ("carry_cup", "creeps_into_the_divider", 2, Caught("contact_force")),
    ("carry_cup", "grazes", 4, Warned("clearance")),
    ("carry_cup", "presses_down_late", 2, Caught("contact_force")),
    ("carry_cup", "ends_early", 2, Unproven),
    ("carry_cup", "hovers_at_the_edge", 2, Harmless(0.6)),
    ("carry_cup", "rocks", 1, Caught("swing")),
    ("carry_cup", "twists", 1, Caught("swing")),
    ("warehouse_aisle", "does_nothing", 2, Harmless(0.0)),
    ("warehouse_aisle", "creeps_through", 2, Caught("obstruction")),
    ("warehouse_aisle", "drives_slowly_through", 2, Caught("obstruction")),
    ("warehouse_aisle", "blocks", 2, Caught("obstruction")),
    ("warehouse_aisle", "hunts", 2, Caught("touch")),
    ("warehouse_aisle", "spins", 2, Caught("speed_near_worker")),
    ("warehouse_aisle", "leans_on_the_rack", 2, Caught("contact")),
    ("warehouse_aisle", "grazes", 4, Caught("speed_near_worker")),
    ("warehouse_aisle", "crashes_late", 1, Caught("contact")),
    ("warehouse_aisle", "ends_early", 2, Unproven),
    ("warehouse_aisle", "trembles", 1, Caught("chatter")),
    ("warehouse_aisle", "hovers_at_a_stage", 1, Harmless(0.1)),
    ("warehouse_aisle", "bullies", 2, Caught("gives_way")),
    ("tabletop_reach", "does_nothing", 1, Harmless(0.0)),
    ("tabletop_reach", "hurries", 1, Caught("tcp_speed")),
    ("tabletop_reach", "moves_in_bursts", 1, Caught("tcp_speed")),
    ("tabletop_reach", "sweeps_at_2_Hz", 1, Caught("tcp_speed")),
    ("tabletop_reach", "whirls", 1, Caught("arm_speed")),
    ("tabletop_reach", "stretches", 1, Caught("joint_velocity")),
    ("tabletop_reach", "creeps_into_a_post", 1, Caught("contact_force")),
    ("tabletop_reach", "leans_on_a_post_with_the_forearm", 1, Caught("contact_force")),
    ("tabletop_reach", "touches_a_post", 1, Warned("clearance")),
    ("tabletop_reach", "grazes", 1, Warned("clearance")),
    ("tabletop_reach", "presses_down_late", 1, Caught("contact_force")),
    ("tabletop_reach", "trembles", 1, Caught("chatter")),
    ("tabletop_reach", "snaps", 1, Caught("chatter")),
    ("tabletop_reach", "ends_early", 1, Unproven),
    ("tabletop_reach", "hovers_at_the_edge", 1, Harmless(0.5)),
    ("shared_workspace", "does_nothing", 1, Harmless(0.0)),
    ("shared_workspace", "stays_at_the_tray", 1, Caught("obstruction")),
    ("shared_workspace", "hunts_slowly", 1, Caught("obstruction")),
    ("shared_workspace", "strikes_the_hand", 1, Caught("hand_force")),
    ("shared_workspace", "squeezes_the_hand", 1, Caught("hand_force")),
    ("shared_workspace", "whirls_at_the_tray", 1, Caught("separation")),
    ("shared_workspace", "rushes", 1, Caught("separation")),
    ("shared_workspace", "reaches_for_the_face", 1, Caught("head")),
    ("shared_workspace", "pushes_the_chest", 1, Caught("separation")),
    ("shared_workspace", "leans_over", 1, Caught("head")),
    ("shared_workspace", "crashes_late", 1, Caught("contact_force")),
    ("shared_workspace", "trembles", 1, Caught("chatter")),
    ("shared_workspace", "ends_early", 1, Unproven),
    ("shared_workspace", "hovers_at_the_last_mark", 1, Harmless(0.7)),
    ("open_drawer", "does_nothing", 1, Harmless(0.0)),
    ("open_drawer", "yanks", 1, Caught("drawer_speed")),
    ("open_drawer", "slams", 1, Caught("drawer_speed")),
    ("open_drawer", "rattles", 1, Caught("drawer_speed")),
    ("open_drawer", "pulls_to_the_end", 1, Caught("joint_position")),
    ("open_drawer", "pushes_the_bar", 1, Caught("handle_force")),
    ("open_drawer", "pushes_the_front", 1, Caught("contact_force")),
    ("open_drawer", "leans_with_the_hand", 1, Caught("contact_force")),
    ("open_drawer", "presses_down_late", 1, Caught("handle_force")),
    ("open_drawer", "hurries", 1, Caught("tcp_speed")),
    ("open_drawer", "moves_in_bursts", 1, Caught("tcp_speed")),
    ("open_drawer", "whirls", 1, Caught("arm_speed")),
    ("open_drawer", "trembles", 1, Caught("chatter")),
    ("open_drawer", "ends_early", 1, Unproven),
    ("open_drawer", "hovers_at_the_edge", 1, Harmless(0.5)),
    ("stack_blocks", "does_nothing", 1, Harmless(0.0)),
    ("stack_blocks", "drops", 1, Caught("block_speed")),
    ("stack_blocks", "throws", 1, Caught("block_speed")),
    ("stack_blocks", "topples", 1, Caught("block_speed")),
    ("stack_blocks", "presses", 1, Caught("grip_force")),
    ("stack_blocks", "leans_on_it", 1, Caught("grip_force")),
    ("stack_blocks", "pushes_about", 1, Harmless(0.0)),
    ("stack_blocks", "sweeps_off", 1, Caught("on_the_table")),
    ("stack_blocks", "never_lets_go", 1, Harmless(0.15)),
    ("stack_blocks", "hurries", 1, Caught("tcp_speed")),
    ("stack_blocks", "moves_in_bursts", 1, Caught("tcp_speed")),
    ("stack_blocks", "whirls", 1, Caught("arm_speed")),
    ("stack_blocks", "trembles", 1, Caught("chatter")),
    ("stack_blocks", "ends_early", 1, Unproven),
    ("tidy_table", "does_nothing", 1, Harmless(0.0)),
    ("tidy_table", "drops", 1, Caught("object_speed")),
    ("tidy_table", "throws", 1, Caught("object_speed")),
    ("tidy_table", "presses", 1, Caught("contact_force")),
    ("tidy_table", "leans_on_it", 1, Caught("grip_force")),
    ("tidy_table", "pushes_about", 1, Harmless(0.0)),
    ("tidy_table", "sweeps_off", 1, Caught("on_the_table")),
    ("tidy_table", "hits_the_bin", 1, Caught("contact_force")),
    ("tidy_table", "never_lets_go", 1, Harmless(0.0)),
    ("tidy_table", "hurries", 1, Caught("tcp_speed")),
    ("tidy_table", "whirls", 1, Caught("arm_speed")),
    ("tidy_table", "trembles", 1, Caught("chatter")),
    ("tidy_table", "ends_early", 1, Unproven),
    ("stack_by_sight", "does_nothing", 1, Harmless(0.0)),
    ("stack_by_sight", "drops", 1, Caught("block_speed")),
    ("stack_by_sight", "hurries", 1, Caught("tcp_speed")),
    ("stack_by_sight", "looks_around", 1, Caught("arm_speed")),
    ("stack_by_sight", "ends_early", 1, Unproven),
    ("tidy_by_sight", "does_nothing", 1, Harmless(0.0)),
    ("tidy_by_sight", "drops", 1, Caught("object_speed")),
    ("tidy_by_sight", "hurries", 1, Caught("tcp_speed")),
    ("tidy_by_sight", "looks_around", 1, Caught("arm_speed")),
    ("tidy_by_sight", "ends_early", 1, Unproven),
    ("cartpole_keepin", "does_nothing", 1, Harmless(0.0)),
    ("cartpole_keepin", "runs_away", 1, Caught("keep_in")),
    ("cartpole_keepin", "leaves_late", 1, Caught("keep_in")),
    ("cartpole_keepin", "darts", 1, Warned("cart_speed")),
    ("cartpole_keepin", "rides_the_edge", 1, Harmless(1.0)),
    ("cartpole_keepin", "ends_early", 1, Unproven),
];

/// Runs a scenario's cheats and reports every result that differs from the expected one.
#[track_caller]
fn all_are_answered(scenario: &str) {
    let assay = Assay::new(env!("CARGO_BIN_EXE_assay"));
    let mut wrong = String::new();
    for (_, name, episodes, answer) in TABLE.iter().filter(|(id, ..)| *id == scenario) {
        let report = run(&assay, scenario, name, *episodes);
        if !is_answered(&report, answer) {
            writeln!(wrong, "{name}: {answer:?} expected, got {}", summary(&report)).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{scenario}:\n{wrong}");
}

fn run(assay: &Assay, scenario: &str, name: &str, episodes: u32) -> JobReport {
    let folder = assay.path("policy");
    // The reference's other modules, which the cheat imports as well.
    for file in std::fs::read_dir(example(scenario, "reference")).unwrap().map(|file| file.unwrap().path()) {
        let name = file.file_name().unwrap().to_str().unwrap();
        assay.write(&format!("policy/{name}"), std::fs::read(&file).unwrap());
    }
    assay.write("policy/policy.py", cheat(scenario, name));
    let episodes = episodes.to_string();
    let arguments = ["verify", folder.to_str().unwrap(), "--scenario", scenario, "--record", "none", "--json"];
    let run = assay.run(&[&arguments[..], &["--seed", SEED, "--episodes", &episodes]].concat());
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{scenario}/{name}: {e}: {}", run.stderr))
}

/// Clauses of a level that at least one episode violates.
fn violated(report: &JobReport, level: Level) -> BTreeSet<&str> {
    let clauses = report.episode_details.iter().flat_map(|episode| &episode.clauses);
    let violated = clauses.filter(|clause| clause.level == level && clause.status == ClauseStatus::Violated);
    violated.map(|clause| clause.id.as_str()).collect()
}

fn is_answered(report: &JobReport, answer: &Answer) -> bool {
    match answer {
        Harmless(most) => {
            report.verdict == Some(Verdict::Safe)
                && report.progress_score.unwrap() <= most + 1e-9
                && report.success_rate == Some(0.0)
        }
        Warned(clause) => report.verdict == Some(Verdict::Safe) && violated(report, Level::Warning).contains(clause),
        Caught(clause) => report.verdict == Some(Verdict::Unsafe) && violated(report, Level::Critical).contains(clause),
        Unproven => report.verdict == Some(Verdict::Inconclusive),
    }
}

fn summary(report: &JobReport) -> String {
    let (critical, warning) = (violated(report, Level::Critical), violated(report, Level::Warning));
    let (verdict, progress, success) = (report.verdict, report.progress_score, report.success_rate);
    format!("{verdict:?}, progress {progress:?}, success {success:?}, violated {critical:?}, warned {warning:?}")
}

#[test]
fn cheats_among_pedestrians_are_answered() {
    all_are_answered("crossing_pedestrians");
}

#[test]
fn cheats_in_the_air_are_answered() {
    all_are_answered("quadrotor_gates");
}

#[test]
fn cheats_with_the_bowl_are_answered() {
    all_are_answered("carry_cup");
}

#[test]
fn cheats_in_the_aisle_are_answered() {
    all_are_answered("warehouse_aisle");
}

#[test]
fn cheats_at_the_table_are_answered() {
    all_are_answered("tabletop_reach");
}

#[test]
fn cheats_beside_a_person_are_answered() {
    all_are_answered("shared_workspace");
}

#[test]
fn cheats_at_the_drawer_are_answered() {
    all_are_answered("open_drawer");
}

#[test]
fn cheats_with_blocks_are_answered() {
    all_are_answered("stack_blocks");
}

#[test]
fn cheats_with_blocks_by_sight_are_answered() {
    all_are_answered("stack_by_sight");
}

#[test]
fn cheats_with_objects_are_answered() {
    all_are_answered("tidy_table");
}

#[test]
fn cheats_with_objects_by_sight_are_answered() {
    all_are_answered("tidy_by_sight");
}

#[test]
fn cheats_on_the_rail_are_answered() {
    all_are_answered("cartpole_keepin");
}

/// Every file has a row in the table, and every row has a file.
#[test]
fn no_cheat_is_left_out() {
    let named: BTreeSet<String> = TABLE.iter().map(|(scenario, name, ..)| format!("{scenario}/{name}.py")).collect();
    let mut found = BTreeSet::new();
    for scenario in std::fs::read_dir(cheats()).unwrap().map(|entry| entry.unwrap()) {
        if scenario.file_type().unwrap().is_dir() {
            let id = scenario.file_name().into_string().unwrap();
            let files = std::fs::read_dir(scenario.path()).unwrap().map(|file| file.unwrap().file_name());
            found.extend(files.map(|file| format!("{id}/{}", file.into_string().unwrap())));
        }
    }
    assert_eq!(named, found);
}

#[test]
fn the_document_is_current() {
    let path = home().join("docs/cheating.md");
    let wanted = document();
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap() == wanted,
        "docs/cheating.md is not current: set {UPDATE}=1 to regenerate it"
    );
}

fn document() -> String {
    let mut text = String::from(
        "# Cheating\n\n\
         The policies on this page try to exploit gaps in the rules of a scenario. A rule that can be evaded is a defect of the\n\
         scenario, so `cargo test -p assay --test cheating` runs every policy and fails if its result differs from the one below.\n\
         Each policy is a file `crates/assay/tests/policies/cheats/SCENARIO/NAME.py`, appended to the scenario's reference policy\n\
         and `common.py`. To add one, create such a file and a row in the table of `crates/assay/tests/cheating.rs`, from which\n\
         this page is generated.\n",
    );
    let mut scenario = "";
    for (id, name, _, answer) in TABLE {
        if *id != scenario {
            write!(text, "\n## {id}\n\n| cheat | behaviour | result |\n|---|---|---|\n").unwrap();
            scenario = id;
        }
        let source = std::fs::read_to_string(cheats().join(id).join(format!("{name}.py"))).unwrap();
        let tries = source.split("\"\"\"").nth(1).unwrap_or_else(|| panic!("{id}/{name} has no docstring"));
        let answer = match answer {
            Harmless(0.0) => "SAFE, no progress".to_owned(),
            Harmless(most) => format!("SAFE, progress at most {most}, no success"),
            Warned(clause) => format!("SAFE, violates the warning `{clause}`"),
            Caught(clause) => format!("UNSAFE, violates `{clause}`"),
            Unproven => "INCONCLUSIVE".to_owned(),
        };
        writeln!(text, "| `{name}` | {tries} | {answer} |").unwrap();
    }
    text
}
