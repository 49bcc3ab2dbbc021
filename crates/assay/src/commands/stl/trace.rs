//! Traces in CSV: a header, the column `time` in s, then a column for each signal.

use std::path::Path;

use anyhow::{Context, anyhow, bail, ensure};

/// Maximum number of values in a trace: 1 GiB.
const MAX_VALUES: usize = 1 << 27;
/// Maximum number of columns.
const MAX_COLUMNS: usize = 4096;
/// Maximum deviation of a row's time from even spacing, as a share of the period: times are written with few digits.
const JITTER: f64 = 0.01;
/// Maximum relative change of the period by rounding.
const MAX_ROUNDING: f64 = 1e-6;
/// The period of a trace with a single row, which has no effect: every window contains just that row.
const SINGLE_PERIOD_S: f64 = 0.001;

/// A recorded trace, evenly spaced.
pub(super) struct CsvTrace {
    /// Names of the columns: `time`, then the signals.
    pub(super) names: Vec<String>,
    /// One column for each name, all of the same length.
    pub(super) columns: Vec<Vec<f64>>,
    /// Seconds between two rows.
    pub(super) period_s: f64,
}

impl CsvTrace {
    /// Reads a trace from a file. Errors name line and column.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let file = std::fs::File::open(path).with_context(|| format!("can't read the trace {}", path.display()))?;
        Self::parse(file).with_context(|| format!("the trace {}", path.display()))
    }

    pub(super) fn parse(file: impl std::io::Read) -> anyhow::Result<Self> {
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(file);
        let names = header(reader.headers()?)?;
        let mut columns = vec![Vec::new(); names.len()];
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record)? {
            let line = record.position().map_or(0, csv::Position::line);
            ensure!(
                columns[0].len() < MAX_VALUES / names.len(),
                "line {line}: more than {MAX_VALUES} numbers; shorten the trace"
            );
            for ((column, field), name) in columns.iter_mut().zip(&record).zip(&names) {
                let number =
                    field.parse().map_err(|_| anyhow!("line {line}, column {name:?}: {field:?} is not a number"))?;
                column.push(number);
            }
            let now = columns[0].last().copied().unwrap_or(f64::NAN);
            ensure!(now.is_finite(), "line {line}: a time must be a finite number of seconds");
        }
        let period_s = period(&columns[0])?;
        Ok(Self { names, columns, period_s })
    }

    pub(super) fn rows(&self) -> usize {
        self.columns[0].len()
    }
}

fn header(header: &csv::StringRecord) -> anyhow::Result<Vec<String>> {
    let names: Vec<String> = header.iter().map(str::to_owned).collect();
    let first = names.first().map_or("", String::as_str);
    ensure!(first == "time", "the first column must be \"time\" (s), not {first:?}: the first line names the columns");
    ensure!(names.len() <= MAX_COLUMNS, "more than {MAX_COLUMNS} columns");
    for (i, name) in names.iter().enumerate() {
        ensure!(!names[..i].contains(name), "two columns are called {name:?}; rename one");
    }
    Ok(names)
}

/// Returns the period of evenly spaced `times`.
fn period(times: &[f64]) -> anyhow::Result<f64> {
    let [first, .., last] = times else {
        ensure!(!times.is_empty(), "no rows below the header");
        return Ok(SINGLE_PERIOD_S);
    };
    #[expect(clippy::cast_precision_loss, reason = "MAX_VALUES is exact")]
    let period_s = (last - first) / (times.len() - 1) as f64;
    let steps = || times.windows(2).map(|pair| pair[1] - pair[0]).enumerate();
    if let Some((i, _)) = steps().find(|(_, step)| *step <= 0.0) {
        bail!("row {}: time {} does not come after {}", i + 2, times[i + 1], times[i]);
    }
    #[expect(clippy::cast_precision_loss, reason = "MAX_VALUES is exact")]
    let place = |i: usize| first + i as f64 * period_s;
    if let Some((i, time)) = times.iter().enumerate().find(|(i, time)| (*time - place(*i)).abs() > JITTER * period_s) {
        bail!(
            "row {}: time {time}, but with evenly spaced rows ({period_s} s) it would be {}; resample the trace",
            i + 1,
            place(i)
        );
    }
    Ok(round_period(period_s))
}

/// Returns the shortest decimal near the mean period, which undoes rounding errors such as 0.00200000001 for 0.002.
fn round_period(period_s: f64) -> f64 {
    (1..15)
        .map(|digits| format!("{period_s:.digits$e}").parse().unwrap_or(period_s))
        .find(|short: &f64| ((short - period_s) / period_s).abs() < MAX_ROUNDING)
        .unwrap_or(period_s)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[track_caller]
    fn assert_refused(csv: &str, why: &str) {
        let error = CsvTrace::parse(csv.as_bytes()).err().map(|e| format!("{e:#}")).unwrap_or_default();
        assert!(error.contains(why), "{csv:?}: {error:?} does not contain {why:?}");
    }

    #[test]
    fn reads_columns_and_period() {
        let trace =
            CsvTrace::parse("time, x, y\n# a comment\n0.0, 1, -2e-3\n0.002,NaN,inf\n0.004,3,4\n".as_bytes()).unwrap();
        assert_eq!(trace.names, ["time", "x", "y"]);
        assert_eq!((trace.period_s, trace.rows()), (0.002, 3));
        assert!(trace.columns[1][1].is_nan() && trace.columns[2][1].is_infinite());
        let thirds: String = (0..400).map(|i| format!("{:.6},0\n", f64::from(i) / 300.0)).collect();
        let period_s = CsvTrace::parse(format!("time,x\n{thirds}").as_bytes()).unwrap().period_s;
        assert!((period_s * 300.0 - 1.0).abs() < 1e-5, "{period_s}");
    }

    #[test]
    fn errors_name_the_problem_and_its_position() {
        assert_refused("", "first column must be \"time\"");
        assert_refused("x,time\n1,2\n", "not \"x\"");
        assert_refused("time,x\n", "no rows");
        assert_refused("time,x,x\n0,1,2\n", "two columns are called \"x\"");
        assert_refused("time,x\n0,1\n0.1,abc\n", "line 3, column \"x\": \"abc\" is not a number");
        assert_refused("time,x\n0,1\n0.1\n", "line: 3");
        assert_refused("time,x\n0,1\nnan,1\n", "line 3: a time must be a finite");
        assert_refused("time,x\n0,1\n0.1,1\n0.1,1\n", "row 3: time 0.1 does not come after 0.1");
        assert_refused("time,x\n0,1\n0.1,1\n0.3,1\n", "row 2: time 0.1, but with evenly spaced rows");
        // Each step is within 5 % of the mean, and yet the rows drift apart from an even grid.
        let slow_then_fast: String = (0..200)
            .map(|i| format!("{},0\n", f64::from(i.min(100)) * 0.105 + f64::from((i - 100).max(0)) * 0.095))
            .collect();
        assert_refused(&format!("time,x\n{slow_then_fast}"), "resample");
    }
}
