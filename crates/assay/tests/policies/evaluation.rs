//! Runs rows: a scenario's reference by the program `assay verify`, all others in this process as the episodes of one
//! job, so that they share an engine, a fork server and lanes. Each episode still has a policy process of its own in
//! its own jail, and the world of its index in `assay verify --seed 0`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use assay_model::{
    AssignedEpisode, EpisodeResult, EpisodeSeeds, JobReport, MAX_EPISODE_EVIDENCE_BYTES, Record, SeedSource,
};
use assay_policy::{IntakeLimits, PolicyHome, intake};
use assay_scenario::Scenario;
use assay_testkit::{Assay, example, home};
use assay_worker::{
    Cancel, Engine, EngineOptions, Evaluation, EvaluationEvents, Installation, Job, PolicyFolder, PolicySource,
    evaluate,
};

use super::outcome::{Outcome, plan};
use super::row::Row;

/// A fixed seed, so that results do not depend on luck; it is also that of the clips.
const SEED: u64 = 0;
/// Lanes of a scenario. Other tests run at the same time.
const LANES: usize = 2;

/// Ignores the events of an evaluation.
struct Unobserved;

impl EvaluationEvents for Unobserved {
    fn progress(&self, _episode: u32, _step: u32, _of: u32) {}

    fn finished(&self, _result: &EpisodeResult) {}
}

/// Starts an engine for one job after the other.
pub(super) fn engine() -> Engine {
    let lane = Path::new(env!("CARGO_BIN_EXE_assay")).with_file_name("assay-lane");
    assert!(lane.is_file(), "{} is missing: run `cargo build --workspace` first", lane.display());
    let installation = Installation { home: home(), lane, added_runtimes: Vec::new() };
    let engine = Engine::start(&installation, EngineOptions { policies: Some(1), ..EngineOptions::new(LANES) });
    let engine = engine.unwrap();
    engine.runs_policies().unwrap();
    engine
}

/// Runs the rows on a scenario and returns their results in order. Their episodes, numbered over all rows, are recorded
/// in `evidence`, if it is given.
pub(super) fn run_rows(engine: &Engine, scenario: &Scenario, rows: &[Row], evidence: Option<&Path>) -> Vec<Outcome> {
    let work = engine.scratch("rows").unwrap();
    let given = work.path().join("given");
    write_policy(scenario, rows, &given);
    let path = work.path().join("policy");
    let declaration = intake(&given, &path, &IntakeLimits::default()).unwrap().declaration;
    let runtime = Some(engine.runtime_for(&declaration).unwrap());
    let source = PolicySource::Folder(PolicyFolder { path, runtime, home: PolicyHome::default() });
    let assigned = assigned(rows);
    let episodes = u32::try_from(assigned.len()).unwrap();
    let job = Job {
        scenario: Arc::new(scenario.clone()),
        policy: source,
        seeds: SeedSource::Assigned { episodes: assigned, is_arena: false },
        record: Record::None,
        folder: evidence.map(Path::to_owned),
        max_episode_bytes: MAX_EPISODE_EVIDENCE_BYTES,
        max_observation_bytes: None,
    };
    let evaluation = Evaluation { job, plan: plan(scenario, episodes), lanes: engine.lanes() };
    let results = evaluate(engine, &evaluation, &Cancel::new(), &Unobserved);
    let mut results = results.unwrap_or_else(|error| panic!("{}: {error}", scenario.id)).into_iter();
    let outcome = |row: &Row| {
        let own = results.by_ref().take(row.episodes as usize).zip(0..);
        let own: Vec<_> = own.map(|(result, episode)| EpisodeResult { episode, ..result }).collect();
        assert_eq!(own.len(), row.episodes as usize, "{}, {}", scenario.id, row.name());
        Outcome::of_episodes(scenario, own, engine.fingerprint().clone())
    };
    rows.iter().map(outcome).collect()
}

/// Writes the policy that stands for those of all rows.
fn write_policy(scenario: &Scenario, rows: &[Row], folder: &Path) {
    for (number, row) in rows.iter().enumerate() {
        let own = folder.join("rows").join(number.to_string());
        fs::create_dir_all(&own).unwrap();
        row.write(scenario.id.as_str(), &own);
    }
    let source = format!("ROWS = {}\n\n{}", rows.len(), include_str!("one_of_many.py"));
    fs::write(folder.join("policy.py"), source).unwrap();
}

/// Returns the seeds of all rows' episodes. The seed of a row's policy is the row's number.
fn assigned(rows: &[Row]) -> BTreeMap<u32, AssignedEpisode> {
    let of_row = |(number, row): (u64, &Row)| {
        let seeds = move |episode| EpisodeSeeds { world: EpisodeSeeds::derive(SEED, episode).world, policy: number };
        (0..row.episodes).map(seeds).collect::<Vec<_>>()
    };
    let seeds = (0..).zip(rows).flat_map(of_row);
    (0..).zip(seeds).map(|(episode, seeds)| (episode, AssignedEpisode { episode, seeds, is_showcase: false })).collect()
}

/// Runs the reference with the program and returns its exit code and report.
pub(super) fn run_program(scenario: &str, policy: &str, episodes: u32) -> (i32, JobReport) {
    let assay = Assay::new(env!("CARGO_BIN_EXE_assay"));
    let (folder, seed, episodes) = (example(scenario, policy), SEED.to_string(), episodes.to_string());
    let arguments = ["verify", folder.to_str().unwrap(), "--scenario", scenario, "--record", "none", "--json"];
    let run = assay.run(&[&arguments[..], &["--seed", &seed, "--episodes", &episodes]].concat());
    let report = serde_json::from_str(&run.stdout);
    let report = report.unwrap_or_else(|e| panic!("{scenario}, {policy}: {e}: {}", run.stderr));
    assay.assert_clean();
    (run.code, report)
}
