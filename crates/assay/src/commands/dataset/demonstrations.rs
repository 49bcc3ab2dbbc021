//! The recorded episodes of a dataset, and where they come from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use assay_api::OsEntropy;
use assay_dataset::DatasetEpisode;
use assay_jail::UntrustedFolder;
use assay_model::lane::files;
use assay_model::{EpisodeResult, Plan, Record, SeedSource, job_seeds};
use assay_scenario::Scenario;
use assay_worker::{Cancel, Engine, Evaluation, Job, PolicySource, evaluate};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::arguments::DatasetArgs;
use crate::exit::{Failure, OrFail};
use crate::output::REPORT_JSON;
use crate::progress::Progress;
use crate::results_folder::{self, StoredReport};
use crate::source;

/// Episodes recorded unless a number is given.
const DEFAULT_EPISODES: u32 = 10;
/// Maximum size of an episode's recording, in bytes: a little less than a lane may write into a file.
const MAX_RECORDING_BYTES: u64 = 1000 << 20;

/// Recorded episodes.
#[derive(Debug)]
pub(super) struct Demonstrations {
    pub(super) scenario: Arc<Scenario>,
    pub(super) episodes: Vec<DatasetEpisode>,
    /// Policy, scenario and seeds.
    pub(super) origin: Value,
    /// The recordings, if they are temporary.
    _work: Option<TempDir>,
}

impl Demonstrations {
    /// Runs the policy.
    pub(super) fn record(engine: &Engine, arguments: &DatasetArgs, cancel: &Cancel) -> Result<Self, Failure> {
        let (Some(policy), Some(scenario)) = (&arguments.policy, &arguments.scenario) else {
            return Err(Failure::Usage(anyhow!("give a policy and --scenario, or --from")));
        };
        let scenario = super::super::verify::find(engine, scenario)?;
        let work = engine.scratch("dataset").or_internal()?;
        let found = source::find(policy, arguments.how(), (engine, &scenario), &work.path().join("policy"))?;
        if matches!(found.source, PolicySource::Folder(_)) {
            engine.runs_policies().or_internal()?;
        }
        let (seed, policy_key) = job_seeds(arguments.seed, None, &OsEntropy);
        let scenario = Arc::new(scenario);
        let origin = json!({
            "policy": found.name, "policy_sha256": found.sha256, "policy_identity": found.identity,
            "scenario": scenario.id, "scenario_version": scenario.version, "scenario_digest": scenario.digest,
            "render_profile": scenario.card().render_profile, "seed": seed, "policy_key": policy_key,
        });
        let folder = work.path().join("evidence");
        let job = Job {
            scenario: Arc::clone(&scenario),
            policy: found.source,
            seeds: SeedSource::Job { seed, policy_key: Some(policy_key) },
            record: Record::None,
            folder: Some(folder.clone()),
            max_episode_bytes: MAX_RECORDING_BYTES,
            max_observation_bytes: Some(MAX_RECORDING_BYTES),
        };
        let plan = Plan {
            episodes: arguments.episodes.unwrap_or(DEFAULT_EPISODES),
            target: None,
            confidence_level: Plan::DEFAULT_CONFIDENCE_LEVEL,
            max_violation_probability: scenario.arena.max_violation_probability,
            draws_worlds: !scenario.drawn_ranges().is_empty(),
        };
        let progress = Progress::of("recording", plan.episodes, arguments.json);
        let evaluation = Evaluation { job, plan, lanes: engine.lanes() };
        let outcome = evaluate(engine, &evaluation, cancel, &progress);
        progress.clear();
        let episodes = outcome?.into_iter().filter_map(|result| recording(&result, &folder, false).transpose());
        let episodes = episodes.collect::<anyhow::Result<_>>().or_usage()?;
        Ok(Self { scenario, episodes, origin, _work: Some(work) })
    }

    /// Takes the recordings of a results folder, which must be those of its report.
    pub(super) fn recorded(engine: &Engine, folder: &Path) -> Result<Self, Failure> {
        let StoredReport { folder: opened, report, .. } =
            results_folder::report(&folder.join(REPORT_JSON)).or_usage()?;
        let scenario = super::super::replay::scenario(engine, &report, &opened).or_usage()?;
        let results = report.episode_details.iter();
        let episodes: Vec<DatasetEpisode> = results
            .filter_map(|result| recording(result, folder, true).transpose())
            .collect::<anyhow::Result<_>>()
            .or_usage()?;
        if episodes.is_empty() {
            let problem = format!("{} has no recorded observations", folder.display());
            let remedy = "run `assay verify --out DIR --record-observations`";
            return Err(Failure::Usage(anyhow!("{problem}; {remedy}")));
        }
        let origin = json!({
            "policy": report.policy_name, "policy_sha256": report.policy_sha256,
            "policy_identity": report.policy_identity, "scenario": report.scenario,
            "scenario_version": report.scenario_version, "scenario_digest": report.scenario_digest,
            "render_profile": report.render_profile, "seed": report.seed, "policy_key": report.policy_key,
            "job_id": report.job_id,
        });
        Ok(Self { scenario: Arc::new(scenario), episodes, origin, _work: None })
    }
}

/// Returns the recording of an episode in `folder`, whose evidence has the names of the report; `None` if the policy
/// never acted, or if observations were not recorded. With `compared`, the file must have the hash of the report.
fn recording(result: &EpisodeResult, folder: &Path, compared: bool) -> anyhow::Result<Option<DatasetEpisode>> {
    let name = format!("episodes/{:03}/{}", result.episode, files::OBSERVATIONS);
    let Some(file) = result.evidence.iter().find(|file| file.name == name) else {
        if result.steps > 0 && !compared {
            let mib = MAX_RECORDING_BYTES >> 20;
            return Err(anyhow!(
                "the observations of episode {} take more than {mib} MiB; record smaller or fewer images",
                result.episode
            ));
        }
        return Ok(None);
    };
    if result.steps == 0 {
        return Ok(None);
    }
    let recording: PathBuf = folder.join(&name);
    if compared {
        let found = UntrustedFolder::open(folder).and_then(|folder| folder.sha256(&name));
        let found = found.with_context(|| recording.display().to_string())?;
        if found != file.sha256 {
            return Err(anyhow!("{} is not the file of the report: its SHA-256 is {found}", recording.display()));
        }
    }
    let EpisodeResult { episode, seed, success, .. } = *result;
    Ok(Some(DatasetEpisode { episode, seed, success, recording }))
}
