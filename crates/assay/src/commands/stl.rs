//! `assay stl`: evaluates a formula on a recorded trace.

mod columns;
mod csv_file;
mod grid;
mod parquet_file;
mod trace;

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use assay_stl::{BindError, Formula, ParseError, Status, TraceEvaluation};
use clap::Args;
use serde_json::json;

use self::trace::RecordedTrace;
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::screen;

/// Rates of rows, in Hz.
const MIN_HZ: f64 = 1e-6;
const MAX_HZ: f64 = 1e9;

#[derive(Debug, Args)]
#[command(
    after_help = "The trace is CSV with a header, or Parquet (such as trace.parquet of a report): a column `time` or \
`time_s` in s, evenly spaced, and a column for each signal. Other columns are ignored. A name that is not a word is written \
in quotation marks: '\"/arm/force\" < 5'. A window that reaches beyond the last row leaves the result undetermined (docs/stl.md).

Examples:
  assay stl --formula 'always (speed <= 0.25)' --trace run.csv
  assay stl --formula 'always (force > 50 implies eventually[0:0.5] force < 20)' --trace run.csv --json
  assay stl --formula 'always (\"/tool/force\" < 5)' --trace bag.csv --rate 100

Exit codes: 0 satisfied, 1 violated, 3 undetermined, 2 wrong usage or input."
)]
pub(crate) struct StlArgs {
    /// The formula, in the syntax of a scenario's clauses
    #[arg(short, long, allow_hyphen_values = true)]
    formula: String,
    /// File with the recorded signals
    #[arg(short, long, value_name = "FILE")]
    trace: PathBuf,
    /// Rows per second, if their times are too inexact to tell
    #[arg(long, value_name = "HZ", value_parser = rate)]
    rate: Option<f64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &StlArgs) -> Result<ExitStatus, Failure> {
    let formula = parse(&arguments.formula).or_usage()?;
    let trace = RecordedTrace::read(&arguments.trace, arguments.rate).or_usage()?;
    let (outcome, period_s) = evaluate(&formula, &trace).or_usage()?;
    super::stdout::print(&if arguments.json {
        document(&outcome)
    } else {
        screen::layout().paragraph(&text(&outcome, (trace.rows(), period_s)), 0)
    });
    Ok(match outcome.status {
        Status::Satisfied => ExitStatus::Success,
        Status::Violated => ExitStatus::Unsafe,
        Status::Undetermined => ExitStatus::Inconclusive,
    })
}

fn parse(formula: &str) -> anyhow::Result<Formula> {
    Formula::parse(formula, &[]).map_err(|e| with_caret(formula, &e))
}

/// Evaluates the formula with the first of the trace's periods of which its time bounds are whole numbers. Returns
/// that, too.
fn evaluate(formula: &Formula, trace: &RecordedTrace) -> anyhow::Result<(TraceEvaluation, f64)> {
    let columns = &trace.columns;
    columns.check(formula.signals())?;
    let bind = |period_s: &f64| formula.bind(&columns.names, *period_s).map(|bound| (bound, *period_s));
    let mut bindings = trace.periods_s.iter().map(bind);
    let first = bindings.next().context("a trace has a period")?;
    let mut later = || bindings.find(|binding| !matches!(binding, Err(BindError::NotWholePeriods { .. })));
    let bound = if matches!(first, Err(BindError::NotWholePeriods { .. })) { later().unwrap_or(first) } else { first };
    let (bound, period_s) = bound.map_err(|error| explain(error, trace))?;
    let values: Vec<&[f64]> = columns.values.iter().map(Vec::as_slice).collect();
    Ok((bound.evaluate_recording(&values), period_s))
}

/// Reads a rate in Hz.
fn rate(text: &str) -> Result<f64, String> {
    let hz = text.parse().ok().filter(|hz: &f64| hz.is_finite() && (MIN_HZ..=MAX_HZ).contains(hz));
    hz.ok_or_else(|| format!("must be a number from {MIN_HZ} to {MAX_HZ}"))
}

/// Returns the output of [`run`] for a trace in memory.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn evaluate_csv(formula: &str, csv: &[u8]) -> anyhow::Result<String> {
    let formula = parse(formula)?;
    let trace = RecordedTrace::parse(csv)?;
    let (outcome, period_s) = evaluate(&formula, &trace)?;
    Ok(document(&outcome) + &text(&outcome, (trace.rows(), period_s)))
}

fn verdict(status: Status) -> &'static str {
    match status {
        Status::Satisfied => "satisfied",
        Status::Violated => "violated",
        Status::Undetermined => "undetermined",
    }
}

/// Returns the result as JSON. Infinite numbers, which JSON can't express, are null.
fn document(outcome: &TraceEvaluation) -> String {
    let (low, high) = outcome.interval;
    json!({
        "robustness": outcome.robustness,
        "verdict": verdict(outcome.status),
        "robustness_interval": [low, high],
        "vacuous": outcome.vacuous,
    })
    .to_string()
}

fn text(outcome: &TraceEvaluation, (rows, seconds): (usize, f64)) -> String {
    let mut text = format!("{}  robustness {}", verdict(outcome.status), outcome.robustness);
    if outcome.interval.0 != outcome.interval.1 {
        let _ = write!(
            text,
            "  between {} and {} for any continuation of the trace",
            outcome.interval.0, outcome.interval.1
        );
    }
    let _ = match rows {
        1 => write!(text, "\n1 row"),
        _ => write!(text, "\n{rows} rows, one every {seconds} s"),
    };
    if outcome.vacuous {
        text.push_str("\nvacuous: the premise of the formula never became true");
    }
    text
}

/// Returns the error with the formula and a caret under the position.
fn with_caret(formula: &str, error: &ParseError) -> anyhow::Error {
    // Only the part around the position is shown, on one line.
    const AROUND: usize = 60;
    let at = error.column.saturating_sub(1);
    let from = at.saturating_sub(AROUND);
    let shown: String =
        formula.chars().skip(from).take(2 * AROUND).map(|c| if c.is_control() { ' ' } else { c }).collect();
    anyhow!("syntax error in the formula at {error}\n  {shown}\n  {:>width$}", "^", width = at - from + 1)
}

/// Adds the columns or the period of the trace to an error about binding the formula.
fn explain(error: BindError, trace: &RecordedTrace) -> anyhow::Error {
    match error {
        BindError::UnknownSignal { name } => {
            anyhow!("the trace has no column {name:?}; it has {}", trace.columns.names.join(", "))
        }
        BindError::NotWholePeriods { .. } => {
            anyhow!("{error}, which is the time between two rows of the trace (--rate gives another one)")
        }
        other => other.into(),
    }
}
