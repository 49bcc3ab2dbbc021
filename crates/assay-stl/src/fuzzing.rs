//! The fuzz target of formulas and their evaluation.

use assay_fuzz::{pair, with_text};

use crate::{Formula, TraceEnd};

/// Seconds between two samples.
const PERIOD_S: f64 = 0.5;
/// Maximum number of samples.
const MAX_ROWS: usize = 64;

/// Parses a formula, and turns the remaining bytes into samples of its signals: the printed formula parses to the same
/// one, and the evaluation of a whole trace agrees with the monitor that receives one sample at a time.
///
/// # Panics
/// Panics if the input reveals a bug.
pub fn formula(data: &[u8]) {
    let (text, samples) = pair(data);
    with_text(text, |text| {
        let Ok(formula) = Formula::parse(text, &[("limit", 0.25)]) else { return };
        let shown = formula.to_string();
        match Formula::parse(&shown, &[]) {
            Ok(again) => assert_eq!(again.to_string(), shown, "the printed formula parses to the same one"),
            // Added parentheses may make the text too long or too deep.
            Err(error) => assert!(error.expected.contains("at most"), "{shown:?}: {error}"),
        }
        evaluate(&formula, samples);
    });
}

fn evaluate(formula: &Formula, samples: &[u8]) {
    let names = formula.signals().to_vec();
    let Ok(bound) = formula.bind(&names, PERIOD_S) else { return };
    let columns = columns(samples, names.len());
    let views: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    for end in [TraceEnd::Complete, TraceEnd::Cut] {
        let mut monitor = bound.monitor();
        for row in 0..columns.first().map_or(0, Vec::len) {
            monitor.push(&columns.iter().map(|column| column[row]).collect::<Vec<_>>());
        }
        let (whole, stream) = (bound.evaluate(&views, end), monitor.finish(end));
        if !names.is_empty() {
            assert_eq!(format!("{whole:?}"), format!("{stream:?}"), "offline and streaming evaluation agree");
        }
    }
    bound.evaluate_recording(&views);
    bound.pointwise(&views);
    bound.violations(&views);
}

/// Returns a column for each signal: a byte becomes a small number, or one of the special values.
fn columns(samples: &[u8], signals: usize) -> Vec<Vec<f64>> {
    let number = |byte: &u8| match byte {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => f64::NEG_INFINITY,
        byte => (f64::from(*byte) - 128.0) / 16.0,
    };
    let rows = (samples.len() / signals.max(1)).min(MAX_ROWS);
    (0..signals).map(|signal| (0..rows).map(|row| number(&samples[row * signals + signal])).collect()).collect()
}

#[cfg(test)]
mod tests {
    use assay_fuzz::run_corpus;

    #[test]
    fn formula_accepts_its_corpus() {
        run_corpus("formula", super::formula);
    }
}
