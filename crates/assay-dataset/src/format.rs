//! Formats of a dataset.

use std::fmt;
use std::str::FromStr;

/// The format of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatasetFormat {
    /// A LeRobot dataset, version 3.0.
    Lerobot,
    /// One table, `data.parquet`.
    Parquet,
    /// A log per episode, `episodes/NNN.mcap`.
    Mcap,
}

/// A name that is not that of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("use lerobot, parquet or mcap")]
pub struct InvalidFormat;

impl DatasetFormat {
    /// Returns the name of the format.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lerobot => "lerobot",
            Self::Parquet => "parquet",
            Self::Mcap => "mcap",
        }
    }
}

impl fmt::Display for DatasetFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for DatasetFormat {
    type Err = InvalidFormat;

    fn from_str(text: &str) -> Result<Self, InvalidFormat> {
        [Self::Lerobot, Self::Parquet, Self::Mcap].into_iter().find(|f| f.as_str() == text).ok_or(InvalidFormat)
    }
}
