//! The records of a report.

use assay_model::{EpisodeResult, JobReport, JobStatus, sanitise};
use jiff::Timestamp;
use serde_json::Value;

use super::messages::{
    ConfigRecord, FileItem, FilesRecord, HeaderRecord, HistoryRecord, HistoryStep, JsonItem, MetricOptions,
    MetricRecord, ProtoTime, RecordContent, RecordControl, RunExitRecord, RunRecord, SummaryRecord, VersionInfo,
    WandbRecord,
};
use crate::{ClauseSummary, outcome};

/// Name of the copy of the report in the run's folder `files`, which the log names.
pub const REPORT_FILE: &str = "report.json";
/// Project that the run belongs to, unless `wandb sync --project` names another.
const PROJECT: &str = "assay";
/// Metric on the horizontal axis of all others.
const EPISODE: &str = "episode";
/// Oldest version of the format's reader, as wandb itself writes it.
const MIN_CONSUMER: &str = "0.70.0";
/// Maximum length of a text from a policy or scenario, in bytes.
const MAX_TEXT_BYTES: usize = 1024;
/// Maximum length of a run's name, and of a tag, in bytes.
const MAX_NAME_BYTES: usize = 64;
const AT_END: i32 = 1;

/// Returns the records of a run, numbered from 1.
pub(super) fn of(report: &JobReport, id: &str, version: &str) -> Vec<WandbRecord> {
    let mut contents = vec![header(version), RecordContent::Run(run(report, id))];
    contents.extend(metrics());
    let mut elapsed_s = 0.0;
    for (step, episode) in (0..).zip(&report.episode_details) {
        elapsed_s += episode.wall_time_s;
        contents.push(RecordContent::History(HistoryRecord {
            item: row(report, episode, step, elapsed_s),
            step: Some(HistoryStep { num: step }),
        }));
    }
    contents.push(RecordContent::Summary(SummaryRecord { update: summary(report) }));
    contents.push(RecordContent::Files(FilesRecord {
        files: vec![FileItem { path: REPORT_FILE.to_owned(), policy: AT_END }],
    }));
    contents.push(RecordContent::Exit(RunExitRecord {
        // A verdict is a result: only a job that failed is shown as failed.
        exit_code: i32::from(report.status == JobStatus::Failed),
        runtime: runtime_s(report),
    }));
    (1..).zip(contents).map(|(num, content)| record(num, content)).collect()
}

fn record(num: i64, content: RecordContent) -> WandbRecord {
    let is_answered = matches!(content, RecordContent::Run(_) | RecordContent::Exit(_));
    let control = is_answered.then(|| RecordControl { mailbox_slot: num.to_string() });
    WandbRecord { num, control, content: Some(content) }
}

/// Returns the time at which the job began.
pub(super) fn began(report: &JobReport) -> Timestamp {
    report.started_at.unwrap_or(report.created_at)
}

fn header(version: &str) -> RecordContent {
    let producer = format!("assay {version}");
    RecordContent::Header(HeaderRecord {
        version_info: Some(VersionInfo { producer, min_consumer: MIN_CONSUMER.to_owned() }),
    })
}

fn run(report: &JobReport, id: &str) -> RunRecord {
    let began = began(report);
    let headline = outcome::headline(report);
    RunRecord {
        run_id: id.to_owned(),
        project: PROJECT.to_owned(),
        config: Some(ConfigRecord { update: config(report).into_iter().map(plain).collect() }),
        run_group: report.scenario.to_string(),
        job_type: "verification".to_owned(),
        display_name: sanitise(&format!("{}: {headline}", report.policy_name), MAX_NAME_BYTES),
        notes: sanitise(&outcome::reason(report), MAX_TEXT_BYTES),
        tags: vec![headline.to_owned(), sanitise(report.scenario.as_str(), MAX_NAME_BYTES)],
        start_time: Some(ProtoTime { seconds: began.as_second(), nanos: began.subsec_nanosecond() }),
    }
}

fn metrics() -> [RecordContent; 2] {
    let axis = MetricOptions { step_sync: false, defined: true };
    let others = MetricOptions { step_sync: true, defined: true };
    [
        MetricRecord { name: EPISODE.to_owned(), options: Some(axis), ..MetricRecord::default() },
        MetricRecord {
            glob_name: "*".to_owned(),
            step_metric: EPISODE.to_owned(),
            options: Some(others),
            ..MetricRecord::default()
        },
    ]
    .map(RecordContent::Metric)
}

fn config(report: &JobReport) -> Vec<JsonItem> {
    let mut items = vec![
        text("scenario", report.scenario.as_str()),
        text("scenario_version", &report.scenario_version),
        text("scenario_sha256", &report.scenario_digest.to_string()),
        text("policy", &report.policy_name),
        text("policy_identity", &outcome::identity(report)),
        item("episodes", report.num_episodes),
        item("seed", report.seed),
    ];
    items.extend(report.policy_sha256.map(|digest| text("policy_sha256", &digest.to_string())));
    items.extend(report.replan_steps.map(|steps| item("replan_steps", steps)));
    items
}

fn row(report: &JobReport, episode: &EpisodeResult, step: i64, elapsed_s: f64) -> Vec<JsonItem> {
    let began = began(report).as_duration().as_secs_f64();
    let mut items = vec![
        item(EPISODE, episode.episode),
        item("success", u8::from(episode.success)),
        item("violations", episode.clauses.iter().map(|clause| clause.violation_count).sum::<u32>()),
        item("deadline_misses", episode.deadline_misses),
    ];
    let numbers = [
        ("progress_score", episode.progress_score),
        ("safety_score", episode.safety_score),
        ("composite_score", episode.composite_score),
        ("sim_time_s", episode.sim_time_s),
        ("unsafe_time_s", episode.unsafe_time_s),
    ];
    items.extend(numbers.into_iter().filter_map(|(key, value)| number(key, value)));
    let margins = episode.clauses.iter();
    items.extend(margins.filter_map(|clause| number(&format!("margin/{}", clause.id), clause.robustness?)));
    items.extend(number("_timestamp", began + elapsed_s));
    items.extend(number("_runtime", elapsed_s));
    items.push(item("_step", step));
    items
}

fn summary(report: &JobReport) -> Vec<JsonItem> {
    let mut items = vec![
        text("verdict", outcome::headline(report)),
        text("reason", &outcome::reason(report)),
        item("needs_review", report.needs_review),
        item("_runtime", runtime_s(report)),
    ];
    let bound = report.statistics.as_ref().map(|found| found.violation_probability_upper);
    let numbers = [
        ("score", report.score),
        ("progress_score", report.progress_score),
        ("safety_score", report.safety_score),
        ("composite_score", report.composite_score),
        ("consistency", report.consistency),
        ("success_rate", report.success_rate),
        ("violation_probability_upper", bound),
    ];
    items.extend(numbers.into_iter().filter_map(|(key, value)| number(key, value?)));
    for clause in ClauseSummary::of(&report.episode_details) {
        items.extend(clause.worst.and_then(|w| number(&format!("margin/{}", clause.clause.id), w.robustness)));
    }
    items
}

fn runtime_s(report: &JobReport) -> i32 {
    let ended = report.completed_at.unwrap_or(began(report));
    i32::try_from(ended.as_second().saturating_sub(began(report).as_second()).max(0)).unwrap_or(i32::MAX)
}

/// Returns an item, unless the number is not finite, which JSON cannot express.
fn number(key: &str, value: f64) -> Option<JsonItem> {
    value.is_finite().then(|| item(key, value))
}

fn text(key: &str, value: &str) -> JsonItem {
    item(key, sanitise(value, MAX_TEXT_BYTES))
}

/// Returns an item with a path of one part as its key, as wandb writes rows of the history.
fn item(key: &str, value: impl Into<Value>) -> JsonItem {
    JsonItem { key: String::new(), nested_key: vec![key.to_owned()], value_json: value.into().to_string() }
}

/// Returns the item with a plain key, as wandb writes the configuration.
fn plain(mut item: JsonItem) -> JsonItem {
    item.key = item.nested_key.drain(..).collect();
    item
}
