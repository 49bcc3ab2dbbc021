//! The period of evenly spaced rows.

use anyhow::{bail, ensure};

/// Maximum deviation of a row's time from even spacing, as a share of the period.
const JITTER: f64 = 0.01;
/// Maximum share of the period by which times may be rounded because they are written with few digits.
const MAX_ROUNDED: f64 = 0.1;
/// The same with a declared rate: each time is nearest to its own row.
const MAX_DECLARED_JITTER: f64 = 0.5;
/// Maximum relative change of the period by rounding errors of the times.
const MAX_ROUNDING: f64 = 1e-6;
/// Rates of recorders in Hz: a few rows, written with few digits, have several whole rates.
const USUAL_HZ: [f64; 18] = [
    10.0, 15.0, 20.0, 24.0, 25.0, 30.0, 40.0, 50.0, 60.0, 100.0, 120.0, 125.0, 200.0, 240.0, 250.0, 300.0, 500.0,
    1000.0,
];
/// Allowance for the rounding of sums.
const SLACK: f64 = 1.01;
/// The period of a trace with a single row, which has no effect: every window contains just that row.
const SINGLE_PERIOD_S: f64 = 0.001;

/// Returns the periods that `times` may have, the most likely first: times are not exact, so several fit them.
/// `rounding_s` is the error of their last digit. With a `rate_hz`, the only period is that.
pub(super) fn periods(times: &[f64], rounding_s: f64, rate_hz: Option<f64>) -> anyhow::Result<Vec<f64>> {
    let declared = rate_hz.map(|rate_hz| 1.0 / rate_hz);
    let [first, .., last] = times else {
        ensure!(!times.is_empty(), "no rows below the header");
        return Ok(vec![declared.unwrap_or(SINGLE_PERIOD_S)]);
    };
    if let Some(at) = (1..times.len()).find(|at| times[*at] <= times[at - 1]) {
        bail!("row {}: time {} does not come after {}", at + 1, times[at], times[at - 1]);
    }
    if let Some(period_s) = declared {
        ensure!(
            deviation(times, period_s) < MAX_DECLARED_JITTER * period_s,
            "the rows are not {period_s} s apart, as --rate says: {}",
            unevenness(times)
        );
        return Ok(vec![period_s]);
    }
    #[expect(clippy::cast_precision_loss, reason = "MAX_VALUES is exact")]
    let steps = (times.len() - 1) as f64;
    let mean_s = (last - first) / steps;
    let is_rounded = rounding_s <= MAX_ROUNDED * mean_s;
    let tolerance_s = (JITTER * mean_s).max(if is_rounded { rounding_s * SLACK } else { 0.0 });
    // Both ends may be off.
    let doubt_s = 2.0 * tolerance_s / steps;
    let mut found: Vec<f64> = Vec::new();
    let exact = shortest(mean_s, MAX_ROUNDING * mean_s);
    let whole_hz = 1.0 / (1.0 / mean_s).round().max(1.0);
    let usual = USUAL_HZ.map(f64::recip);
    let usual = usual.into_iter().min_by(|a, b| (a - mean_s).abs().total_cmp(&(b - mean_s).abs())).unwrap_or(mean_s);
    for period_s in [exact, whole_hz, usual, shortest(mean_s, doubt_s), mean_s] {
        let fits = (period_s - mean_s).abs() <= doubt_s.max(MAX_ROUNDING * mean_s) && !found.contains(&period_s);
        if fits && deviation(times, period_s) <= tolerance_s {
            found.push(period_s);
        }
    }
    ensure!(
        !found.is_empty(),
        "{}; resample the trace, or give the rate of its rows with --rate if they are only written so",
        unevenness(times)
    );
    Ok(found)
}

/// Returns half of the range of the differences between `times` and rows that are exactly `period_s` apart.
fn deviation(times: &[f64], period_s: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "MAX_VALUES is exact")]
    let errors = times.iter().enumerate().map(|(row, time)| time - times[0] - row as f64 * period_s);
    let (low, high) = errors.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), e| (low.min(e), high.max(e)));
    (high - low) / 2.0
}

/// Describes the row after the step that differs most from the others.
fn unevenness(times: &[f64]) -> String {
    let steps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mut sorted = steps.clone();
    sorted.sort_by(f64::total_cmp);
    let usual = sorted[(sorted.len() - 1) / 2];
    let by = |step: &f64| (step - usual).abs();
    let worst = steps.iter().enumerate().max_by(|a, b| by(a.1).total_cmp(&by(b.1)).then(b.0.cmp(&a.0)));
    let (at, step) = worst.unwrap_or((0, &usual));
    format!(
        "row {}: time {} is {} s after the row before it, but half of the rows are at most {} s apart",
        at + 2,
        times[at + 1],
        shortest(*step, MAX_ROUNDING * step),
        shortest(usual, MAX_ROUNDING * usual)
    )
}

/// Returns the shortest decimal within `doubt_s` of a period, which undoes rounding errors such as 0.00200000001 for
/// 0.002.
fn shortest(period_s: f64, doubt_s: f64) -> f64 {
    (0..15)
        .map(|digits| format!("{period_s:.digits$e}").parse().unwrap_or(period_s))
        .find(|short: &f64| (short - period_s).abs() <= doubt_s)
        .unwrap_or(period_s)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// Times of `rows` rows at a rate, written with `digits` decimals.
    fn written(rows: u32, hz: f64, digits: usize, start: f64) -> Vec<f64> {
        (0..rows).map(|row| format!("{:.digits$}", start + f64::from(row) / hz).parse().unwrap()).collect()
    }

    #[test]
    fn one_of_the_periods_is_that_of_the_recorder() {
        let counts = [2, 3, 5, 10, 11, 31, 32, 33, 61, 62, 301, 302, 601];
        for (hz, digits, start) in [
            (30.0, 4, 0.0),
            (30.0, 4, 5.0),
            (60.0, 3, 0.0),
            (60.0, 6, 0.0),
            (500.0, 3, 1_700_000_000.0),
            (100.0, 2, 0.0),
            (15.0, 3, 0.0),
            (24.0, 4, 100.0),
            (120.0, 4, 0.0),
            (1000.0, 3, 0.0),
            (300.0, 6, 0.0),
            (7.0, 4, 0.0),
        ] {
            for rows in counts {
                let (times, rounding_s) =
                    (written(rows, hz, digits, start), 0.5 * 10_f64.powi(-i32::try_from(digits).unwrap()));
                let found =
                    periods(&times, rounding_s, None).unwrap_or_else(|error| panic!("{hz} Hz, {rows}: {error}"));
                let fits = found.iter().any(|period_s| (period_s * hz - 1.0).abs() < 1e-6);
                assert!(fits, "{hz} Hz, {digits} digits, {rows} rows: {found:?}");
                assert_eq!(periods(&times, rounding_s, Some(hz)).unwrap(), [1.0 / hz]);
            }
        }
    }

    #[test]
    fn jitter_of_a_clock_is_no_other_period() {
        // Within 1 % of a period, and, with a declared rate, within half of one.
        let noisy = |share: f64| -> Vec<f64> {
            (0..500_u32)
                .map(|i| f64::from(i) * 0.01 + share * 0.01 * (f64::from(i * 7919 % 100) / 50.0 - 1.0))
                .collect()
        };
        assert!(periods(&noisy(0.005), 5e-7, None).unwrap().contains(&0.01));
        assert!(periods(&noisy(0.05), 5e-7, None).is_err());
        assert_eq!(periods(&noisy(0.05), 5e-7, Some(100.0)).unwrap(), [0.01]);
    }

    #[test]
    fn the_row_after_a_gap_is_named() {
        let times: Vec<f64> = (0..21).filter(|i| *i != 7).map(f64::from).collect();
        let error = periods(&times, 0.5, None).unwrap_err().to_string();
        assert!(
            error.starts_with("row 8: time 8 is 2 s after the row before it, but half of the rows are at most 1 s"),
            "{error}"
        );
        let error = periods(&times, 0.5, Some(1.0)).unwrap_err().to_string();
        assert!(error.contains("as --rate says: row 8"), "{error}");
        let error = periods(&written(50, 100.0, 4, 0.0), 5e-5, Some(50.0)).unwrap_err().to_string();
        assert!(error.contains("the rows are not 0.02 s apart, as --rate says"), "{error}");
    }
}
