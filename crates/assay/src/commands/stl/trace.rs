//! A recorded trace: evenly spaced rows of numbers.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use anyhow::Context;

use super::columns::Columns;
use super::{csv_file, grid, parquet_file};

/// A recorded trace, evenly spaced.
#[derive(Debug)]
pub(super) struct RecordedTrace {
    /// Its columns; that with the times is the signal `time`.
    pub(super) columns: Columns,
    /// Seconds between two rows: what fits the times, the most likely first.
    pub(super) periods_s: Vec<f64>,
}

impl RecordedTrace {
    /// Reads a trace from a file, whose rows have the rate `rate_hz`, if it is given. Errors name line and column.
    pub(super) fn read(path: &Path, rate_hz: Option<f64>) -> anyhow::Result<Self> {
        let open = || {
            let mut file = File::open(path)?;
            let mut magic = Vec::new();
            file.by_ref().take(parquet_file::MAGIC.len() as u64).read_to_end(&mut magic)?;
            file.rewind()?;
            Ok::<_, std::io::Error>((file, magic))
        };
        let (file, magic) = open().with_context(|| format!("can't read the trace {}", path.display()))?;
        let columns = if magic == parquet_file::MAGIC { parquet_file::read(file) } else { csv_file::read(file) };
        columns.and_then(|columns| Self::of(columns, rate_hz)).with_context(|| format!("the trace {}", path.display()))
    }

    /// Reads a trace in CSV.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn parse(csv: &[u8]) -> anyhow::Result<Self> {
        Self::of(csv_file::read(csv)?, None)
    }

    fn of(columns: Columns, rate_hz: Option<f64>) -> anyhow::Result<Self> {
        let periods_s = grid::periods(&columns.values[columns.time_at], columns.rounding_s, rate_hz)?;
        Ok(Self { columns, periods_s })
    }

    pub(super) fn rows(&self) -> usize {
        self.columns.values[self.columns.time_at].len()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[track_caller]
    fn assert_refused(csv: &str, why: &str) {
        let error = RecordedTrace::parse(csv.as_bytes()).err().map(|e| format!("{e:#}")).unwrap_or_default();
        assert!(error.contains(why), "{csv:?}: {error:?} does not contain {why:?}");
    }

    #[test]
    fn reads_columns_and_period() {
        let csv = "time, x, y\n# a comment\n0.0, 1, -2e-3\n0.002,NaN,inf\n0.004,3,4\n";
        let trace = RecordedTrace::parse(csv.as_bytes()).unwrap();
        assert_eq!(trace.columns.names, ["time", "x", "y"]);
        assert_eq!((trace.periods_s[0], trace.rows()), (0.002, 3));
        assert!(trace.columns.values[1][1].is_nan() && trace.columns.values[2][1].is_infinite());
        let thirds: String = (0..400).map(|i| format!("{:.6},0\n", f64::from(i) / 300.0)).collect();
        let period_s = RecordedTrace::parse(format!("time,x\n{thirds}").as_bytes()).unwrap().periods_s[0];
        assert!((period_s * 300.0 - 1.0).abs() < 1e-5, "{period_s}");
        // Columns of pandas and of this project, in any order.
        for csv in ["x,time\n1,0\n2,0.1\n", ",time,x\n0,0,1\n1,0.1,2\n", "\u{feff}time_s,x,\n0,1,\n0.1,2,\n"] {
            let trace = RecordedTrace::parse(csv.as_bytes()).unwrap();
            assert_eq!((trace.periods_s[0], trace.rows()), (0.1, 2), "{csv}");
            trace.columns.check(&["x".to_owned()]).unwrap();
        }
    }

    #[test]
    fn errors_name_the_problem_and_its_position() {
        assert_refused("", "no column is called \"time\" (in s)");
        assert_refused("__time,x\n1,2\n", "rename the one with the times; the columns are \"__time\", \"x\"");
        assert_refused("time,x\n", "no rows");
        assert_refused("time,x\n0,1\nlater,1\n", "line 3, column \"time\": \"later\" is not a number");
        assert_refused("time,x\n0,1\n0.1\n", "line: 3");
        assert_refused("time,x\n0,1\nnan,1\n", "line 3: a time must be a finite");
        assert_refused("time,x\n0,1\n0.1,1\n0.1,1\n", "row 3: time 0.1 does not come after 0.1");
        assert_refused("time,x\n0,1\n0.1,1\n0.3,1\n", "row 3: time 0.3 is 0.2 s after the row before it");
        // Each step is within 5 % of the mean, and yet the rows drift apart from an even grid.
        let slow_then_fast: String = (0..200)
            .map(|i| format!("{},0\n", f64::from(i.min(100)) * 0.105 + f64::from((i - 100).max(0)) * 0.095))
            .collect();
        assert_refused(&format!("time,x\n{slow_then_fast}"), "resample");
    }

    #[test]
    fn only_columns_that_are_used_must_have_numbers() {
        let csv = "time,x,phase,x2,x2,gap\n0,1,approach,1,1,\n0.1,2,grasp,1,1,3\n";
        let columns = RecordedTrace::parse(csv.as_bytes()).unwrap().columns;
        let check = |name: &str| columns.check(&[name.to_owned()]).map_err(|error| error.to_string());
        assert_eq!((check("x"), check("time")), (Ok(()), Ok(())));
        for (name, why) in [
            ("phase", "line 2, column \"phase\": \"approach\" is not a number"),
            ("gap", "line 2, column \"gap\": \"\" is not a number"),
            ("x2", "two columns are called \"x2\"; rename one"),
        ] {
            assert_eq!(check(name), Err(why.to_owned()));
        }
    }
}
