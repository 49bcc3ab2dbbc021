//! Every output of a row tells the same violation: clause, times and values are read back out of its text, and compared
//! with the episode's trace.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use assay_model::{
    ClauseEvent, ClauseStatus, EpisodeResult, Harm, JobHeader, JobReport, JobStatus, Level, Plan, PolicyIdentity,
    Record, Sha256Digest, Termination, Verdict, conclude, seconds, with_unit,
};
use assay_report::terminal::TerminalOptions;
use assay_report::{attest, html, junit, markdown, sarif, terminal};
use assay_scenario::{Clause, Scenario};
use assay_stl::TraceEnd;
use parquet::column::reader::ColumnReader;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::outcome::{Outcome, plan};

/// A violation as the trace shows it: the interval with the smallest margin.
struct Shown {
    onset_s: f64,
    onset: Option<f64>,
    peak_s: f64,
    peak: Option<f64>,
}

/// Returns everything in which an output differs from the traces below `evidence`, whose first episode is `first`.
pub(super) fn differences(scenario: &Scenario, outcome: &Outcome, evidence: &Path, first: u32) -> Vec<String> {
    let Some(worst) = ClauseEvent::worst(&outcome.episodes) else { return unviolated(scenario, outcome) };
    let clause = scenario.clauses.iter().find(|clause| clause.id == worst.clause).unwrap();
    let mut wrong = misordered(&worst, outcome);
    let trace = evidence.join(format!("episodes/{:03}/trace.parquet", first + worst.episode));
    let ended = outcome.episodes.iter().find(|episode| episode.episode == worst.episode).unwrap().termination;
    let Some(shown) = shown(scenario, clause, &trace, ended) else {
        wrong.push(format!("{}: no violation of {}", trace.display(), clause.id));
        return wrong;
    };
    let report = report(scenario, outcome);
    for (output, text) in outputs(&report) {
        for part in parts(clause, &worst, &shown, output) {
            if !text.contains(&part) {
                wrong.push(format!("{output} lacks {part:?}: {}", excerpt(&text, &clause.id)));
            }
        }
    }
    wrong
}

/// Returns everything that is wrong with the words about a job without a violation.
fn unviolated(scenario: &Scenario, outcome: &Outcome) -> Vec<String> {
    let Some(closest) = ClauseEvent::closest(&outcome.episodes) else { return Vec::new() };
    let clause = scenario.clauses.iter().find(|clause| clause.id == closest.clause).unwrap();
    let at_best = clause.best_margin().is_some_and(|best| closest.margin.unwrap() >= best);
    let mut wrong = Vec::new();
    if at_best {
        wrong.push(format!("the closest clause {} is at its best value", clause.id));
    }
    let text = terminal_text(&report(scenario, outcome));
    let value =
        closest.peak.value.map_or_else(String::new, |value| format!("{}, limit", with_unit(value, &clause.unit)));
    for part in [clause.title.clone(), value, seconds(closest.peak.time_s.unwrap())] {
        if !text.contains(&part) {
            wrong.push(format!("the terminal lacks {part:?} of the closest clause"));
        }
    }
    wrong
}

/// Returns the violated clauses that are graver than `worst`.
fn misordered(worst: &ClauseEvent, outcome: &Outcome) -> Vec<String> {
    let rank = |level: Level, harm: Option<Harm>| (level != Level::Critical, harm);
    let clauses = outcome.episodes.iter().flat_map(|episode| &episode.clauses);
    let graver = clauses.filter(|clause| {
        clause.status == ClauseStatus::Violated && rank(clause.level, clause.harm) < rank(worst.level, worst.harm)
    });
    graver.map(|clause| format!("{} is graver than {}", clause.id, worst.clause)).collect()
}

/// Returns the texts of all outputs.
fn outputs(report: &JobReport) -> Vec<(&'static str, String)> {
    let evidence = vec![attest::Evidence::new("report.json", Sha256Digest::of("report"))];
    let statement = attest::Statement::of(report, None, "1", evidence).unwrap();
    let worst = report.worst.as_ref().unwrap();
    let mut outputs = vec![
        ("the JUnit file", junit::render(report)),
        ("the SARIF file", sarif::render(report, "1").unwrap()),
        ("the line of a list", worst.violation()),
    ];
    if report.verdict != Some(Verdict::Inconclusive) {
        outputs.push(("the page", html::render(report, html::Assets::default()).unwrap()));
        outputs.push(("the lead", html::lead(report)));
    }
    if report.verdict == Some(Verdict::Unsafe) {
        outputs.push(("the reason", report.reason.clone().unwrap()));
        outputs.push(("the statement", statement.predicate.reason.unwrap()));
        outputs.push(("the terminal", terminal_text(report)));
        // Without the escapes of Markdown.
        outputs.push(("the Markdown file", markdown::render(report).replace('\\', "")));
    }
    outputs
}

fn terminal_text(report: &JobReport) -> String {
    let options = TerminalOptions { width: usize::from(u16::MAX), colour: false, paths: Vec::new(), again: None };
    terminal::render(report, &options)
}

/// Returns the parts that an output must contain: title, id, onset and peak with their values, the limit.
fn parts(clause: &Clause, worst: &ClauseEvent, shown: &Shown, output: &str) -> Vec<String> {
    let escaped = |text: &str| match output {
        "the page" => text.replace('\'', "&#39;"),
        "the JUnit file" => text.replace('\'', "&apos;"),
        _ => text.to_owned(),
    };
    let unit = |value: f64| with_unit(value, &clause.unit);
    let onset = shown.onset.map_or_else(String::new, |value| format!(" ({})", unit(value)));
    let peak = match shown.peak {
        Some(value) => format!(
            "{} {} at {}",
            if value < clause.limit { "lowest" } else { "peak" },
            unit(value),
            seconds(shown.peak_s)
        ),
        None => format!("beyond the limit at {}", seconds(shown.peak_s)),
    };
    vec![
        escaped(&format!("{} ({})", clause.title, clause.id)),
        format!("in episode {}, from {}{onset}, ", worst.episode, seconds(shown.onset_s)),
        peak,
        format!("limit {}", unit(clause.limit)),
    ]
}

/// Returns the worst violation of a clause, computed from the trace's columns.
fn shown(scenario: &Scenario, clause: &Clause, trace: &Path, ended: Termination) -> Option<Shown> {
    let columns = columns(scenario, trace);
    let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let is_whole = matches!(ended, Termination::Success | Termination::TimeLimit);
    let margins = clause.bound.pointwise_at(&columns, if is_whole { TraceEnd::Complete } else { TraceEnd::Cut });
    let peak = (0..margins.len()).min_by(|a, b| margins[*a].total_cmp(&margins[*b]))?;
    let is_beyond = margins[peak] < 0.0;
    let onset = margins[..peak].iter().rposition(|margin| *margin >= 0.0).map_or(0, |row| row + 1);
    let value = |row: usize| measured(scenario, clause, &columns, row).or(clause.formula.measured_value(margins[row]));
    is_beyond.then(|| Shown {
        onset_s: columns[0][onset],
        onset: value(onset),
        peak_s: columns[0][peak],
        peak: value(peak),
    })
}

/// Returns the recorded value of the signal of `always (SIGNAL <= limit)`, and of its opposite.
fn measured(scenario: &Scenario, clause: &Clause, columns: &[&[f64]], row: usize) -> Option<f64> {
    let text = clause.formula.to_string();
    let [signal] = clause.formula.signals() else { return None };
    let is_plain = ["<=", ">="].iter().any(|op| text.contains(&format!("{signal} {op}")));
    let is_alone = !text.contains(['*', '/', '+', '[']) && !text.contains("abs") && !text.contains("implies");
    let index = scenario.signals.iter().position(|(name, _)| name == signal)?;
    (is_plain && is_alone).then(|| columns[index + 1][row])
}

/// Reads time and signals of a trace, in the scenario's order.
fn columns(scenario: &Scenario, trace: &Path) -> Vec<Vec<f64>> {
    let file = File::open(trace).unwrap_or_else(|e| panic!("{}: {e}", trace.display()));
    let reader = SerializedFileReader::new(file).unwrap();
    let group = reader.get_row_group(0).unwrap();
    let rows = usize::try_from(group.metadata().num_rows()).unwrap();
    let names: Vec<String> = group.metadata().columns().iter().map(|c| c.column_path().parts().join(".")).collect();
    let column = |name: &str| {
        let index = names.iter().position(|own| own == name).unwrap_or_else(|| panic!("no column {name}"));
        let ColumnReader::DoubleColumnReader(mut reader) = group.get_column_reader(index).unwrap() else {
            panic!("{name} is not a number")
        };
        let mut values = Vec::new();
        reader.read_records(rows, None, None, &mut values).unwrap();
        values
    };
    let signals = scenario.signals.iter().map(|(name, _)| column(&format!("signal.{name}")));
    std::iter::once(column("time_s")).chain(signals).collect()
}

/// Returns the report of a job with the row's episodes.
fn report(scenario: &Scenario, outcome: &Outcome) -> JobReport {
    let plan: Plan = plan(scenario, u32::try_from(outcome.episodes.len()).unwrap());
    let episodes: Vec<EpisodeResult> = outcome.episodes.clone();
    let conclusion = conclude(&plan, PolicyIdentity::Measured, &episodes).unwrap();
    let header = JobHeader {
        job_id: "00000000-0000-7000-8000-000000000000".parse().unwrap(),
        scenario: scenario.id.clone(),
        scenario_version: scenario.version.clone(),
        scenario_digest: scenario.digest,
        drawn_ranges: None,
        render_profile: None,
        policy_name: "row".into(),
        policy_sha256: Some(Sha256Digest::of("policy")),
        policy_identity: PolicyIdentity::Measured,
        runtime: None,
        models: Vec::new(),
        replan_steps: None,
        seed: 0,
        policy_key: None,
        record: Record::None,
        plan,
        created_at: "2026-01-01T00:00:00Z".parse().unwrap(),
        warnings: Vec::new(),
        arena: None,
        labels: BTreeMap::new(),
    };
    let queued = JobReport::queued(&header).in_status(JobStatus::Completed, None);
    queued.with_episodes(&episodes).with_conclusion(&conclusion)
}

/// Returns the part of a text around the first occurrence of `word`.
fn excerpt(text: &str, word: &str) -> String {
    let at = text.find(word).unwrap_or(0);
    let start = text[..at].char_indices().rev().nth(120).map_or(0, |(index, _)| index);
    text[start..].chars().take(500).collect()
}
