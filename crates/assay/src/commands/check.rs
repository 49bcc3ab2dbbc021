//! `assay check`: tries a policy on a scenario for a few seconds, before an evaluation.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_model::{ActionTerm, Finding, FindingLevel, LatencyMs, ObservedTerm, Preflight};
use assay_report::shell_words;
use assay_worker::{PolicySource, PreflightJob, preflight};
use clap::Args;

use crate::exit::{ExitStatus, Failure, OrFail};
use crate::interrupt::cancel_on_signal;
use crate::options::{AdapterArgs, IsolationArgs, ModelArgs, PolicyServerArgs};
use crate::program_name::program_name;
use crate::screen;
use crate::source::{self, PolicyArgs};

/// No-break space between words.
const NO_BREAK: &str = "\u{a0}";
/// The unit, with a no-break space before it.
const MILLISECONDS: &str = "\u{a0}ms";
/// Number of lines shown from the end of a log.
const LOG_LINES: usize = 12;

#[derive(Debug, Args)]
#[command(after_help = "Runs a few steps, twice, in the same jail as an evaluation. It gives no verdict.

Exit codes: 0 an episode can be run, 1 it cannot, 2 wrong usage or input, 4 internal error, 130 interrupted.

Examples:
  assay check my_policy --scenario tabletop_reach
  assay check ws://localhost:8000 --scenario tabletop_reach --replan-steps 8 --json")]
pub(crate) struct CheckArgs {
    /// The policy: a zip archive, a folder, a single .py file, or the address of a policy server (ws://, http://)
    policy: PathBuf,
    /// The scenario: an id (see `assay scenario list`) or a scenario's folder
    #[arg(short, long, value_name = "ID|PATH")]
    scenario: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    models: ModelArgs,
    #[command(flatten)]
    adapter: AdapterArgs,
    #[command(flatten)]
    policy_server: PolicyServerArgs,
    #[command(flatten)]
    isolation: IsolationArgs,
}

pub(crate) fn run(arguments: &CheckArgs) -> Result<ExitStatus, Failure> {
    let cancel = cancel_on_signal().or_internal()?;
    let installation = super::machine::installation()?;
    let engine = super::machine::engine(&installation, Some(1), arguments.isolation.accepted())?
        .guarded_by(arguments.policy_server.guard())
        .or_internal()?;
    let scenario = super::verify::find(&engine, &arguments.scenario)?;
    let work = engine.scratch("check").or_internal()?;
    let policy = source::find(
        &arguments.policy,
        PolicyArgs { server: &arguments.policy_server, models: &arguments.models, adapter: &arguments.adapter },
        (&engine, &scenario),
        &work.path().join("policy"),
    )?;
    if matches!(policy.source, PolicySource::Folder(_)) {
        engine.runs_policies().or_internal()?;
    }
    let warnings = policy.warnings;
    let job = PreflightJob {
        scenario: Arc::new(scenario),
        policy: policy.source,
        policy_name: policy.name,
        policy_sha256: policy.sha256,
    };
    let found = preflight(&engine, &job, &cancel)?;
    if arguments.json {
        super::stdout::print(&serde_json::to_string_pretty(&found).or_internal()?);
    } else {
        let mut text = text(&found, &warnings);
        if found.holds {
            let _ = writeln!(text, "Next: {}", next(arguments));
        }
        super::stdout::print(&text);
    }
    Ok(if found.holds { ExitStatus::Success } else { ExitStatus::Unsafe })
}

/// Returns the command that evaluates the policy that was checked.
fn next(arguments: &CheckArgs) -> String {
    let path = |path: &Path| path.display().to_string();
    let mut words = vec![program_name(), "verify".to_owned(), path(&arguments.policy)];
    words.extend(["--scenario".to_owned(), arguments.scenario.clone()]);
    words.extend(arguments.adapter.words(&path));
    words.extend(arguments.models.words(&path));
    words.extend(arguments.policy_server.words(&path));
    if let Some(steps) = arguments.policy_server.replan_steps {
        words.extend(["--replan-steps".to_owned(), steps.to_string()]);
    }
    words.extend(arguments.isolation.words());
    shell_words(&words)
}

fn text(found: &Preflight, warnings: &[String]) -> String {
    let mut text = format!("{} on {} {}\n", found.policy_name, found.scenario, found.scenario_version);
    if let Some(speaks) = &found.speaks {
        let _ = writeln!(text, "protocol: {speaks}");
    }
    write_observation(&mut text, found);
    write_action(&mut text, found);
    write_measurements(&mut text, found);
    for finding in &found.findings {
        write_finding(&mut text, finding);
    }
    for warning in warnings {
        let _ = writeln!(text, "\n{}", assay_model::sanitise(warning, usize::MAX));
    }
    if let Some(error) = &found.error
        && !error.log_tail.trim().is_empty()
    {
        let lines: Vec<_> = error.log_tail.trim_end().lines().collect();
        let _ = writeln!(text, "\nEnd of its log");
        lines[lines.len().saturating_sub(LOG_LINES)..].iter().for_each(|line| {
            let _ = writeln!(text, "  | {line}");
        });
    }
    let count = |level| found.findings.iter().filter(|finding| finding.level == level).count();
    let (problems, warnings) = (count(FindingLevel::Problem), count(FindingLevel::Warning));
    let took = found.wall_time_s;
    let _ = writeln!(text, "\n{}, {} ({took:.1} s)", plural(problems, "problem"), plural(warnings, "warning"));
    text
}

fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Describes the terms of the observation.
fn write_observation(text: &mut String, found: &Preflight) {
    let rate = format!("Observation, {} times per simulated second, for {} s", found.control_hz, found.time_limit_s);
    let _ = write!(text, "\n{}", screen::layout().paragraph(&rate, 0));
    let shape = |term: &ObservedTerm| {
        let lengths: Vec<_> = term.shape.iter().map(u32::to_string).collect();
        if lengths.is_empty() { "number".to_owned() } else { format!("[{}]", lengths.join(",")) }
    };
    let row = |term: &ObservedTerm| {
        let unit = if term.unit == "1" { "" } else { &term.unit };
        let ObservedTerm { name, dtype, description, .. } = term;
        vec![name.clone(), dtype.clone(), shape(term), unit.to_owned(), description.clone()]
    };
    let mut rows: Vec<_> = found.observation.iter().map(row).collect();
    if let Some(instruction) = &found.instruction {
        let text = ["instruction", "text", "", "", &format!("{instruction:?}")].map(str::to_owned);
        rows.push(text.to_vec());
    }
    text.push_str(&screen::layout().table(&["name", "type", "shape", "unit", "meaning"], &rows, 2));
    if let Some(cost) = &found.images {
        text.push_str(&screen::layout().paragraph(&format!("Images: {}", cost.summary()), 2));
    }
}

/// Describes the numbers of an action, and the values received.
fn write_action(text: &mut String, found: &Preflight) {
    let _ = writeln!(text, "\nAction: {}", plural(found.action.len(), "number"));
    let row = |(index, term): (usize, &ActionTerm)| {
        let seen = match (term.least, term.greatest) {
            (Some(least), Some(greatest)) => format!("{least:.3} to {greatest:.3}"),
            _ => String::new(),
        };
        let range = format!("{} to {}{}", term.low, term.high, super::stdout::unit(&term.unit));
        [format!("[{index}] {}", term.name), range, seen].map(|cell| cell.replace(' ', NO_BREAK)).to_vec()
    };
    let rows: Vec<_> = found.action.iter().enumerate().map(row).collect();
    text.push_str(&screen::layout().table(&["number", "range", "sent"], &rows, 2));
}

/// Describes the latencies and answers measured.
fn write_measurements(text: &mut String, found: &Preflight) {
    let _ = writeln!(text, "\nMeasured: {}", plural(found.steps as usize, "step"));
    let spread = |ms: &LatencyMs| format!("p50 {:.1} ms, p95 {:.1} ms, max {:.1} ms", ms.p50, ms.p95, ms.max);
    let mut rows: Vec<(String, String)> = Vec::new();
    let mut row = |name: &str, value: String| rows.push((name.to_owned(), value.replace(" ms", MILLISECONDS)));
    if let Some(ms) = found.import_cpu_ms {
        row("import", format!("{ms:.0} ms of CPU time, of {:.0}", found.budget.import_cpu_ms));
    }
    if let Some(ms) = found.first_latency_ms {
        row("first action", format!("{ms:.1} ms"));
    }
    if let Some(ms) = &found.latency_ms {
        row("later actions", spread(ms));
    }
    if let Some(ms) = &found.cpu_ms {
        row("CPU time", format!("{}, of {:.0} ms", spread(ms), found.budget.step_cpu_ms));
    }
    if let Some(answers) = &found.answers {
        row("answers", format!("{}, with {} to {} actions each", answers.count, answers.shortest, answers.longest));
    }
    match found.deterministic {
        Some(true) => row("repetition", "the same observations led to the same actions".to_owned()),
        Some(false) => row("repetition", "the same observations led to different actions".to_owned()),
        None if found.holds => {
            row("repetition", "left out: whether the policy is deterministic is not known".to_owned());
        }
        None => {}
    }
    text.push_str(&screen::layout().facts(&rows, 2));
}

fn write_finding(text: &mut String, finding: &Finding) {
    let level = match finding.level {
        FindingLevel::Problem => "PROBLEM",
        FindingLevel::Warning => "warning",
        FindingLevel::Note => "note   ",
    };
    let fact = (level.to_owned(), format!("{}\n-> {}", finding.message, finding.advice));
    let _ = write!(text, "\n{}", screen::layout().facts(&[fact], 0));
}
