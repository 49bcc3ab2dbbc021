//! `assay stl`: a formula on a recorded trace.

mod trace;

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::anyhow;
use assay_stl::{BindError, Formula, ParseError, Status, TraceEvaluation};
use clap::Args;
use serde_json::json;

use self::trace::CsvTrace;
use crate::exit::{Code, Failure, OrFail};
use crate::screen;

#[derive(Debug, Args)]
#[command(
    after_help = "The trace is CSV with a header: `time` in s, evenly spaced, then a column for each signal. A window \
that reaches beyond the last row leaves the result undetermined (docs/stl.md).

Examples:
  assay stl --formula 'always (speed <= 0.25)' --trace run.csv
  assay stl --formula 'always (force > 50 implies eventually[0:0.5] force < 20)' --trace run.csv --json

Exit codes: 0 satisfied, 1 violated, 3 undetermined, 2 wrong use or input."
)]
pub(crate) struct StlArgs {
    /// The formula, in the syntax of a scenario's clauses
    #[arg(short, long)]
    formula: String,
    /// The recorded signals
    #[arg(short, long, value_name = "FILE.csv")]
    trace: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &StlArgs) -> Result<Code, Failure> {
    let formula = parse(&arguments.formula).usage()?;
    let trace = CsvTrace::read(&arguments.trace).usage()?;
    let outcome = evaluate(&formula, &trace).usage()?;
    super::stdout::print(&if arguments.json {
        document(&outcome)
    } else {
        screen::layout().paragraph(&text(&outcome, &trace), 0)
    });
    Ok(match outcome.status {
        Status::Satisfied => Code::Success,
        Status::Violated => Code::Unsafe,
        Status::Undetermined => Code::Inconclusive,
    })
}

fn parse(formula: &str) -> anyhow::Result<Formula> {
    Formula::parse(formula, &[]).map_err(|e| pointed(formula, &e))
}

fn evaluate(formula: &Formula, trace: &CsvTrace) -> anyhow::Result<TraceEvaluation> {
    let bound = formula.bind(&trace.names, trace.period_s).map_err(|e| explained(e, trace))?;
    let columns: Vec<&[f64]> = trace.columns.iter().map(Vec::as_slice).collect();
    Ok(bound.evaluate_recording(&columns))
}

/// Returns the output of [`run`] for a trace that is not in a file.
#[cfg(feature = "fuzzing")]
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

/// Infinite numbers, for which JSON has no word, are null.
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
        let _ = write!(text, "  between {} and {} whatever follows", outcome.interval.0, outcome.interval.1);
    }
    let (rows, seconds) = (trace.rows(), trace.period_s);
    let _ = match rows {
        1 => write!(text, "\n1 row"),
        _ => write!(text, "\n{rows} rows, one every {seconds} s"),
    };
    if outcome.vacuous {
        text.push_str("\nvacuous: nothing in the trace put the formula to the test");
    }
    text
}

/// The error with the formula and a mark under the place.
fn pointed(formula: &str, error: &ParseError) -> anyhow::Error {
    // A formula over several lines, or a long one, is shown around the place.
    const AROUND: usize = 60;
    let at = error.column.saturating_sub(1);
    let from = at.saturating_sub(AROUND);
    let shown: String =
        formula.chars().skip(from).take(2 * AROUND).map(|c| if c.is_control() { ' ' } else { c }).collect();
    anyhow!("the formula is wrong at {error}\n  {shown}\n  {:>width$}", "^", width = at - from + 1)
}

fn explained(error: BindError, trace: &CsvTrace) -> anyhow::Error {
    match error {
        BindError::UnknownSignal { name } => {
            anyhow!("the trace has no column {name:?}; it has {}", trace.names.join(", "))
        }
        BindError::NotWholePeriods { .. } => anyhow!("{error}: the rows of the trace are that far apart"),
        other => other.into(),
    }
}
