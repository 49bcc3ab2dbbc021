//! A distribution from which a scenario draws part of an episode's world.

use serde::{Deserialize, Serialize};

/// Maximum number of distributions that are listed of a scenario.
pub const MAX_DRAWN_RANGES: usize = 256;

/// Kind of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DrawnFrom {
    /// Uniform between two bounds.
    Uniform,
    /// Normal, clipped to two bounds.
    Normal,
    /// One of a list of numbers.
    Choice,
    /// Noise of an observation, added to each number: normal, without bounds.
    Noise,
}

/// A distribution with more than one value that reaches the episodes of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DrawnRange {
    /// Name of the number drawn, as in the scenario; `noise.NAME` for the noise of an observation.
    pub name: String,
    /// Kind of the distribution.
    pub distribution: DrawnFrom,
    /// Smallest value; `null` for noise.
    pub low: Option<f64>,
    /// Largest value; `null` for noise.
    pub high: Option<f64>,
    /// Standard deviation, of a normal distribution or of noise.
    pub sd: Option<f64>,
}

impl std::fmt::Display for DrawnRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.name)?;
        if let (Some(low), Some(high)) = (self.low, self.high) {
            write!(f, " {low} to {high}")?;
        }
        match (self.distribution, self.sd) {
            (DrawnFrom::Uniform, _) => Ok(()),
            (DrawnFrom::Choice, _) => f.write_str(" (choice)"),
            (DrawnFrom::Normal, Some(sd)) => write!(f, " (normal, standard deviation {sd})"),
            (DrawnFrom::Normal, None) => f.write_str(" (normal)"),
            (DrawnFrom::Noise, sd) => write!(f, " (standard deviation {})", sd.unwrap_or_default()),
        }
    }
}
