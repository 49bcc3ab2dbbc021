//! Numbers of a declaration: a mean and a standard deviation, limits of an action.

use serde::Deserialize;

use super::declaration::StatisticsSource;
use super::error::AdapterError;
use super::limits::MAX_NAME_BYTES;

/// Keys that give a mean and a standard deviation.
#[derive(Debug, Default)]
pub(super) struct StatisticsKeys {
    pub(super) mean: Option<Vec<f64>>,
    pub(super) std: Option<Vec<f64>>,
    pub(super) statistics: Option<StatisticsTable>,
}

/// The table `statistics`: a file with a mean and a standard deviation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StatisticsTable {
    file: String,
    mean: Option<String>,
    std: Option<String>,
}

impl StatisticsKeys {
    /// Checks them; `size` numbers are normalised by them. `at` is the path of the table that has them.
    pub(super) fn check(self, at: &str, size: usize) -> Result<Option<StatisticsSource>, AdapterError> {
        let key = |name: &str| format!("{at}.{name}");
        if let Some(StatisticsTable { file, mean, std }) = self.statistics {
            if self.mean.is_some() || self.std.is_some() {
                return Err(AdapterError::key(key("statistics"), "says the same as mean and std; keep one of them"));
            }
            if !file.ends_with(".npz") && !file.ends_with(".json") {
                return Err(AdapterError::key(key("statistics.file"), "must be a file .npz or .json of the policy"));
            }
            if mean.iter().chain(&std).any(|name| name.is_empty() || name.len() > MAX_NAME_BYTES) {
                let why = format!("must name arrays of the file, with 1 to {MAX_NAME_BYTES} bytes");
                return Err(AdapterError::key(key("statistics"), why));
            }
            return Ok(Some(StatisticsSource::File(file)));
        }
        let (mean, std) = match (self.mean, self.std) {
            (None, None) => return Ok(None),
            (Some(mean), Some(std)) => (mean, std),
            _ => return Err(AdapterError::key(at, "has only one of mean and std; give both")),
        };
        check_numbers(&mean, &key("mean"), size)?;
        check_numbers(&std, &key("std"), size)?;
        if let Some(index) = std.iter().position(|value| *value <= 0.0) {
            let why = format!("must be positive; number {index} is {}. Use 1 where nothing varies", std[index]);
            return Err(AdapterError::key(key("std"), why));
        }
        Ok(Some(StatisticsSource::Inline))
    }
}

/// Checks the limits of an action of `size` numbers.
pub(super) fn check_range(low: Option<&[f64]>, high: Option<&[f64]>, size: usize) -> Result<(), AdapterError> {
    for (name, numbers) in [("action.low", low), ("action.high", high)] {
        if let Some(numbers) = numbers {
            check_numbers(numbers, name, size)?;
        }
    }
    let mut pairs = low.unwrap_or_default().iter().zip(high.unwrap_or_default());
    if let Some(index) = pairs.position(|(low, high)| low > high) {
        return Err(AdapterError::key("action.low", format!("is above action.high in number {index}")));
    }
    Ok(())
}

fn check_numbers(numbers: &[f64], key: &str, size: usize) -> Result<(), AdapterError> {
    if numbers.len() != size {
        let why = format!("has {} numbers, but {size} are needed, one for each number it applies to", numbers.len());
        return Err(AdapterError::key(key, why));
    }
    match numbers.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(AdapterError::key(key, format!("must be finite; number {index} is {}", numbers[index]))),
        None => Ok(()),
    }
}
