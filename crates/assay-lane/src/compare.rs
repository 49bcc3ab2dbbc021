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
    let difference = world(recorded, replayed)
        .or_else(|| rows(recorded, replayed))
        .or_else(|| hashes(recorded, replayed))
        .or_else(|| input_names(recorded, replayed));
    let difference = difference.map(|found| match found.cause {
        DifferenceCause::Physics | DifferenceCause::Policy if is_forged(recorded, replayed) => {
            Difference { cause: DifferenceCause::Recording, ..found }
        }
        _ => found,
    });
    Comparison { recorded_steps: steps(recorded), replayed_steps: steps(replayed), difference }
}

/// Returns true if every trace hash is that of the replay, and so are the states and actions that the recording was
/// made of. Any difference is then a change of the recording.
fn is_forged(recorded: &Trace, replayed: &Trace) -> bool {
    !recorded.hashes.is_empty() && recorded.hashes == replayed.hashes && recorded.rows() == replayed.rows()
}

/// Compares the inputs that have a column, after everything that decides which ones do.
fn input_names(recorded: &Trace, replayed: &Trace) -> Option<Difference> {
    let (a, b) = (&recorded.inputs.names, &replayed.inputs.names);
    let other = || a.iter().find(|name| !b.contains(name)).or_else(|| b.iter().find(|name| !a.contains(name)));
    let is_same_length = recorded.rows() == replayed.rows();
    (is_same_length && a != b).then(|| at(recorded, 0, other().map_or_else(|| "columns".to_owned(), String::clone)))
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

/// Returns the first row with a difference, and its first differing column: state, action, signals, inputs.
fn rows(recorded: &Trace, replayed: &Trace) -> Option<Difference> {
    let own = recorded.names.iter().zip(recorded.columns.iter().zip(&replayed.columns));
    let inputs = recorded.inputs.names.iter().zip(&recorded.inputs.columns).filter_map(|(name, column)| {
        let place = replayed.inputs.names.iter().position(|other| other == name)?;
        Some((name, (column, replayed.inputs.columns.get(place)?)))
    });
    let columns: Vec<_> = own.chain(inputs).collect();
    (0..recorded.rows().min(replayed.rows())).find_map(|row| {
        let differs = |(_, (a, b)): &&(&String, (&Vec<f64>, &Vec<f64>))| a[row].to_bits() != b[row].to_bits();
        let (name, (a, b)) = columns.iter().find(differs)?;
        let quantity = (*name).clone();
        // The state is that of the row's start, so with equal states a differing action is due to the policy.
        let policy = quantity.starts_with("action.");
        Some(Difference {
            recorded: Some(a[row]),
            replayed: Some(b[row]),
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
    use crate::Inputs;

    fn trace() -> Trace {
        Trace {
            names: vec!["time_s".into(), "qpos.0".into(), "action.0".into(), "signal.x".into()],
            columns: vec![vec![0.0, 0.1, 0.2, 0.3], vec![1.0; 4], vec![5.0; 4], vec![7.0; 4]],
            control_step: vec![0, 0, 1, 1],
            inputs: Inputs { names: vec!["ctrl.0".into()], columns: vec![vec![1.0; 4]] },
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

    /// Changes of a recording that leave its hashes alone.
    type Forgery = fn(&mut Trace);
    const FORGED: [(&str, Forgery); 6] = [
        ("signal.x", |t| t.columns[3][2] = 6.0),
        ("ctrl.0", |t| t.inputs.columns[0][3] = 0.5),
        ("qpos.0", |t| t.columns[1][0] = 9.0),
        ("action.0", |t| t.columns[2][3] = 4.0),
        ("ctrl.0", |t| t.inputs = Inputs::default()),
        ("xfrc_applied.2", |t| {
            t.inputs.names.push("xfrc_applied.2".into());
            t.inputs.columns.push(vec![0.0; 4]);
        }),
    ];

    #[test]
    fn a_forged_column_is_called_forged() {
        for (quantity, change) in FORGED {
            let (.., found, cause) = difference(change);
            assert_eq!((found.as_str(), cause), (quantity, DifferenceCause::Recording));
        }
    }

    #[test]
    fn the_first_difference_is_reported() {
        use DifferenceCause::{Physics, Policy, World};
        assert_eq!(compared(&trace(), &trace()).difference, None);
        assert_eq!(difference(|t| t.facts[0].1 = "0.25".into()), (0, 0.0, "draw.lean".into(), World));
        assert_eq!(difference(|t| t.names[3] = "signal.y".into()), (0, 0.0, "columns".into(), World));
        let both = |t: &mut Trace| (t.columns[2][2], t.columns[1][3], t.hashes[1]) = (5.5, 2.0, [9; 32]);
        assert_eq!(difference(both), (1, 0.2, "action.0".into(), Policy));
        let state = |t: &mut Trace| (t.columns[1][1], t.hashes[0]) = (-1.0, [9; 32]);
        assert_eq!(difference(state), (0, 0.1, "qpos.0".into(), Physics));
        let shorter = |t: &mut Trace| {
            t.columns.iter_mut().for_each(|column| column.truncate(3));
            t.control_step.truncate(3);
        };
        assert_eq!(difference(shorter), (1, 0.3, "length".into(), Policy));
        assert_eq!(difference(|t| t.hashes[1] = [9; 32]), (1, 0.2, "trace_hash".into(), Physics));
        let pushed = |t: &mut Trace| (t.inputs.columns[0][2], t.hashes[1]) = (2.0, [9; 32]);
        assert_eq!(difference(pushed), (1, 0.2, "ctrl.0".into(), Physics));
        let mut zero = trace();
        zero.columns[3][0] = -0.0;
        let mut minus = trace();
        minus.columns[3][0] = 0.0;
        assert!(compared(&zero, &minus).difference.is_some(), "zeros of different sign differ");
    }
}
