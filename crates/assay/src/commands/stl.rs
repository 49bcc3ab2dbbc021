//! `assay stl`: evaluates a formula on a recorded trace.

mod trace;

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::anyhow;
use assay_stl::{BindError, Formula, ParseError, Status, TraceEvaluation};
use clap::Args;
use serde_json::json;

use self::trace::CsvTrace;
use crate::exit::{ExitStatus, Failure, OrFail};
use crate::screen;

#[derive(Debug, Args)]
#[command(
    after_help = "The trace is CSV with a header: `time` in s, evenly spaced, then a column for each signal. A window \
that reaches beyond the last row leaves the result undetermined (docs/stl.md).

Examples:
  assay stl --formula 'always (speed <= 0.25)' --trace run.csv
  assay stl --formula 'always (force > 50 implies eventually[0:0.5] force < 20)' --trace run.csv --json

Exit codes: 0 satisfied, 1 violated, 3 undetermined, 2 wrong usage or input."
)]
pub(crate) struct StlArgs {
    /// The formula, in the syntax of a scenario's clauses
    #[arg(short, long)]
    formula: String,
    /// File with the recorded signals
    #[arg(short, long, value_name = "FILE.csv")]
    trace: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &StlArgs) -> Result<ExitStatus, Failure> {
    let formula = parse(&arguments.formula).or_usage()?;
    let trace = CsvTrace::read(&arguments.trace).or_usage()?;
    let outcome = evaluate(&formula, &trace).or_usage()?;
    super::stdout::print(&if arguments.json {
        document(&outcome)
    } else {
        screen::layout().paragraph(&text(&outcome, &trace), 0)
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

fn evaluate(formula: &Formula, trace: &CsvTrace) -> anyhow::Result<TraceEvaluation> {
    let bound = formula.bind(&trace.names, trace.period_s).map_err(|e| explain(e, trace))?;
    let columns: Vec<&[f64]> = trace.columns.iter().map(Vec::as_slice).collect();
    Ok(bound.evaluate_recording(&columns))
}

/// Returns the output of [`run`] for a trace in memory.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn evaluate_csv(formula: &str, csv: &[u8]) -> anyhow::Result<String> {
    let formula = parse(formula)?;
    let trace = CsvTrace::parse(csv)?;
    let outcome = evaluate(&formula, &trace)?;
    Ok(document(&outcome) + &text(&outcome, &trace))
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

fn text(outcome: &TraceEvaluation, trace: &CsvTrace) -> String {
    let mut text = format!("{}  robustness {}", verdict(outcome.status), outcome.robustness);
    if outcome.interval.0 != outcome.interval.1 {
        let _ = write!(
            text,
            "  between {} and {} for any continuation of the trace",
            outcome.interval.0, outcome.interval.1
        );
    }
    let (rows, seconds) = (trace.rows(), trace.period_s);
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
fn explain(error: BindError, trace: &CsvTrace) -> anyhow::Error {
    match error {
        BindError::UnknownSignal { name } => {
            anyhow!("the trace has no column {name:?}; it has {}", trace.names.join(", "))
        }
        BindError::NotWholePeriods { .. } => anyhow!("{error}, which is the time between two rows of the trace"),
        other => other.into(),
    }
}
