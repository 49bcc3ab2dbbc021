//! Errors of reading recordings and writing datasets.

use std::io;

use assay_model::RecordingError;

/// The reason why a dataset cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// A file cannot be read or written.
    #[error("could not read or write a file of the dataset")]
    Io(#[from] io::Error),
    /// A recording is not valid.
    #[error("the recording of episode {episode} is not valid")]
    Recording {
        /// The episode.
        episode: u32,
        /// The problem.
        #[source]
        source: RecordingError,
    },
    /// Recordings of different scenarios or scenario versions.
    #[error("the recording of episode {0} has other observations or actions than the first")]
    Mixed(u32),
    /// An array that cannot be part of the state.
    #[error("the observation has no array of numbers {name:?}; it has {known}")]
    State {
        /// The name.
        name: String,
        /// The names of all such arrays.
        known: String,
    },
    /// A Parquet file cannot be written.
    #[error("could not write Parquet")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// An MCAP file cannot be written.
    #[error("could not write MCAP")]
    Mcap(#[from] mcap::McapError),
    /// A message of an MCAP file cannot be encoded.
    #[error("could not encode a message: {0}")]
    Encode(String),
    /// An image cannot be encoded.
    #[error("could not encode a PNG")]
    Png(#[from] png::EncodingError),
    /// The caller stopped it.
    #[error("stopped")]
    Stopped,
}

impl From<serde_json::Error> for DatasetError {
    fn from(error: serde_json::Error) -> Self {
        Self::Io(error.into())
    }
}
