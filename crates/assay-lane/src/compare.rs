//! Bitwise comparison of two recordings of the same episode. Runs in a separate jail: both were written by untrusted
//! processes.

use std::fs;

use assay_model::lane::files;
use assay_model::{Comparison, Difference, DifferenceCause};

use crate::{Places, Trace, TraceFileError};

/// The reason why two recordings cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// One of them cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceFileError),
    /// The answer cannot be written.
    #[error("could not write the comparison")]
    Io(#[from] std::io::Error),
}

/// Compares `recorded.parquet` with `replayed.parquet` in the scratch, and writes `comparison.json`.
///
/// # Errors
/// [`CompareError`] if one of them is not a trace.
pub fn compare(places: &Places) -> Result<(), CompareError> {
    let read = |name: &str| Trace::read(&places.scratch.join(name));
    let comparison = compared(&read(files::RECORDED)?, &read(files::REPLAYED)?);
    let text = serde_json::to_vec(&comparison).map_err(std::io::Error::other)?;
    Ok(fs::write(places.scratch.join(files::COMPARISON), text)?)
}

pub(crate) fn compared(recorded: &Trace, replayed: &Trace) -> Comparison {
    let found = compared_start(recorded, replayed);
    Comparison { difference: found.difference.or_else(|| length(recorded, replayed)), ..found }
}

/// Compares recordings like [`compared`], up to the end of the shorter one.
pub(crate) fn compared_start(recorded: &Trace, replayed: &Trace) -> Comparison {
    let steps = |trace: &Trace| u32::try_from(trace.control_rows().len()).unwrap_or(u32::MAX);
    let difference =
        world(recorded, replayed).or_else(|| rows(recorded, replayed)).or_else(|| hashes(recorded, replayed));
    Comparison { recorded_steps: steps(recorded), replayed_steps: steps(replayed), difference }
}

/// Compares the facts that determine an episode before it begins.
fn world(recorded: &Trace, replayed: &Trace) -> Option<Difference> {
    let decides =
        |key: &str| key.starts_with("draw.") || matches!(key, "policy_seed" | "world_seed" | "scenario_digest");
    let keys = recorded.facts.iter().chain(&replayed.facts).map(|(key, _)| key.as_str()).filter(|key| decides(key));
    let differs = |key: &&str| recorded.fact(key) != replayed.fact(key);
    let quantity = keys.into_iter().find(differs).map(str::to_owned).or_else(|| {
        let same = recorded.names == replayed.names;
        (!same).then(|| "columns".to_owned())
    })?;
    let number = |trace: &Trace| trace.fact(&quantity).and_then(|value| value.parse().ok());
    let (recorded, replayed) = (number(recorded), number(replayed));
    Some(Difference { control_step: 0, time_s: 0.0, quantity, recorded, replayed, cause: DifferenceCause::World })
}

/// Returns the first row with a difference, and its first differing column: state, action, signals.
fn rows(recorded: &Trace, replayed: &Trace) -> Option<Difference> {
    (0..recorded.rows().min(replayed.rows())).find_map(|row| {
        let columns = recorded.columns.iter().zip(&replayed.columns);
        let differs = |(a, b): (&Vec<f64>, &Vec<f64>)| a[row].to_bits() != b[row].to_bits();
        let column = columns.into_iter().position(differs)?;
        let quantity = recorded.names[column].clone();
        // The state is that of the row's start, so with equal states a differing action is due to the policy.
        let policy = quantity.starts_with("action.");
        Some(Difference {
            recorded: Some(recorded.columns[column][row]),
            replayed: Some(replayed.columns[column][row]),
            cause: if policy { DifferenceCause::Policy } else { DifferenceCause::Physics },
            ..at(recorded, row, quantity)
        })
    })
}

/// Compares the lengths: one recording continues where the other ends, because the policy failed in one of them.
fn length(recorded: &Trace, replayed: &Trace) -> Option<Difference> {
    let (a, b) = (recorded.rows(), replayed.rows());
    let longer = if a > b { recorded } else { replayed };
    let rows = |n: usize| u32::try_from(n).ok().map(f64::from);
    (a != b).then(|| Difference {
        recorded: rows(a),
        replayed: rows(b),
        cause: DifferenceCause::Policy,
        ..at(longer, a.min(b), "length".to_owned())
    })
}

/// Compares the hashes, which also cover the state that the columns omit.
fn hashes(recorded: &Trace, replayed: &Trace) -> Option<Difference> {
    let step = recorded.hashes.iter().zip(&replayed.hashes).position(|(a, b)| a != b)?;
    let row = recorded.control_rows().get(step).copied().unwrap_or_default();
    Some(at(recorded, row, "trace_hash".to_owned()))
}

fn at(trace: &Trace, row: usize, quantity: String) -> Difference {
    Difference {
        control_step: trace.control_step.get(row).and_then(|step| u32::try_from(*step).ok()).unwrap_or_default(),
        time_s: trace.columns.first().and_then(|time| time.get(row)).copied().unwrap_or_default(),
        quantity,
        recorded: None,
        replayed: None,
        cause: DifferenceCause::Physics,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::{DifferenceCause, Trace, compared};

    fn trace() -> Trace {
        Trace {
            names: vec!["time_s".into(), "qpos.0".into(), "action.0".into(), "signal.x".into()],
            columns: vec![vec![0.0, 0.1, 0.2, 0.3], vec![1.0; 4], vec![5.0; 4], vec![7.0; 4]],
            control_step: vec![0, 0, 1, 1],
            hashes: vec![[1; 32], [2; 32]],
            facts: vec![("draw.lean".into(), "0.5".into()), ("world_seed".into(), "3".into())],
            first_signal: 3,
            ..Trace::default()
        }
    }

    #[track_caller]
    fn difference(change: impl FnOnce(&mut Trace)) -> (u32, f64, String, DifferenceCause) {
        let mut changed = trace();
        change(&mut changed);
        let found = compared(&trace(), &changed).difference.unwrap();
        (found.control_step, found.time_s, found.quantity, found.cause)
    }

    #[test]
    fn the_first_difference_is_reported() {
        use DifferenceCause::{Physics, Policy, World};
        assert_eq!(compared(&trace(), &trace()).difference, None);
        assert_eq!(difference(|t| t.facts[0].1 = "0.25".into()), (0, 0.0, "draw.lean".into(), World));
        assert_eq!(difference(|t| t.names[3] = "signal.y".into()), (0, 0.0, "columns".into(), World));
        let both = |t: &mut Trace| (t.columns[2][2], t.columns[1][3]) = (5.5, 2.0);
        assert_eq!(difference(both), (1, 0.2, "action.0".into(), Policy));
        assert_eq!(difference(|t| t.columns[1][1] = -1.0), (0, 0.1, "qpos.0".into(), Physics));
        let shorter = |t: &mut Trace| {
            t.columns.iter_mut().for_each(|column| column.truncate(3));
            t.control_step.truncate(3);
        };
        assert_eq!(difference(shorter), (1, 0.3, "length".into(), Policy));
        assert_eq!(difference(|t| t.hashes[1] = [9; 32]), (1, 0.2, "trace_hash".into(), Physics));
        let mut zero = trace();
        zero.columns[3][0] = -0.0;
        let mut minus = trace();
        minus.columns[3][0] = 0.0;
        assert!(compared(&zero, &minus).difference.is_some(), "zeros of different sign differ");
    }
}
