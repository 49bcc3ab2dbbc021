//! Datasets of demonstrations: observations and actions of recorded episodes, exactly as a policy received and answered
//! them, as a table (Parquet), a LeRobot dataset, or logs (MCAP).
//!
//! Where to begin: [`write_dataset`]. A recording ([`assay_model::RecordingHeader`]) was written by a lane and is
//! untrusted: reading it uses bounded memory, and a damaged one is an error.

mod episode_writer;
mod error;
mod format;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod image;
mod job;
mod lerobot;
mod logs;
mod reader;
mod table;
mod table_file;
mod write;

pub use error::DatasetError;
pub use format::{DatasetFormat, InvalidFormat};
pub use job::{DatasetEpisode, DatasetJob};
pub use reader::{RecordedArray, RecordedStep, RecordingReader};
pub use write::{DatasetSummary, write_dataset};
