//! Writes a dataset from recordings.

use std::fs::{self, File};
use std::path::Path;

use assay_model::RecordingHeader;
use serde::Serialize;

use crate::episode_writer::EpisodeWriter;
use crate::format::DatasetFormat;
use crate::job::DatasetJob;
use crate::lerobot::LerobotWriter;
use crate::logs::LogWriter;
use crate::reader::RecordingReader;
use crate::table_file::TableFile;
use crate::{DatasetError, lerobot};

/// Name of the file with the dataset's origin.
const ORIGIN: &str = "assay.json";

/// A written dataset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DatasetSummary {
    /// Number of episodes.
    pub episodes: usize,
    /// Number of frames: control steps.
    pub frames: u64,
    /// Names of arrays that the format cannot hold.
    pub omitted: Vec<String>,
}

/// Writes a dataset into the empty folder `folder`. `proceed` is called after each episode with their number so far,
/// and stops the writing by returning false.
///
/// # Errors
/// [`DatasetError`]: a recording is damaged, or a file cannot be written. The folder is then incomplete.
pub fn write_dataset(
    folder: &Path,
    job: &DatasetJob<'_>,
    proceed: &mut dyn FnMut(usize) -> bool,
) -> Result<DatasetSummary, DatasetError> {
    let mut writer: Option<Box<dyn EpisodeWriter>> = None;
    let mut first: Option<RecordingHeader> = None;
    let mut summary = DatasetSummary { episodes: 0, frames: 0, omitted: Vec::new() };
    for episode in job.episodes {
        let mut reader = RecordingReader::open(File::open(&episode.recording)?, episode.episode)?;
        let header = reader.header().clone();
        match &first {
            Some(first) if !fits(first, &header) => return Err(DatasetError::Mixed(episode.episode)),
            Some(_) => {}
            None => {
                let created: Box<dyn EpisodeWriter> = match job.format {
                    DatasetFormat::Lerobot => Box::new(LerobotWriter::create(folder, job, &header)?),
                    DatasetFormat::Parquet => Box::new(TableFile::create(folder, &header)?),
                    DatasetFormat::Mcap => Box::new(LogWriter::create(folder)?),
                };
                writer = Some(created);
                if job.format == DatasetFormat::Lerobot {
                    summary.omitted = lerobot::omitted(&header, job);
                }
                first = Some(header.clone());
            }
        }
        let Some(writer) = &mut writer else { continue };
        writer.begin(episode, &header)?;
        while let Some(step) = reader.step()? {
            writer.step(&step)?;
            summary.frames += 1;
        }
        writer.end()?;
        summary.episodes += 1;
        if !proceed(summary.episodes) {
            return Err(DatasetError::Stopped);
        }
    }
    if let Some(writer) = writer {
        writer.finish()?;
    }
    let origin = serde_json::json!({
        "format": job.format.as_str(), "origin": job.origin, "episodes": job.episodes, "frames": summary.frames,
        "recorded": first,
    });
    fs::write(folder.join(ORIGIN), serde_json::to_vec_pretty(&origin)?)?;
    Ok(summary)
}

/// Returns whether two recordings can be part of one dataset.
fn fits(first: &RecordingHeader, other: &RecordingHeader) -> bool {
    let same_rate = first.control_hz.to_bits() == other.control_hz.to_bits();
    same_rate && first.observation == other.observation && first.action == other.action
}
