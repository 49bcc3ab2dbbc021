//! The files of `data/`: a row per control step.

use std::fs;
use std::mem;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use serde_json::Value;

use super::frame::TrainingFrame;
use super::meta::{CHUNK_FILES, DATA_FILE_MB, ENVIRONMENT, FeatureLayout, STATE};
use super::statistics::DatasetStatistics;
use crate::DatasetError;
use crate::table::{TableColumn, TableWriter, Values};

/// Maximum number of rows of a row group.
const MAX_ROWS: usize = 2_000;
/// Bytes of images after which a row group ends.
const MAX_IMAGE_BYTES: usize = 64 << 20;

/// The files being written.
pub(super) struct DataFiles {
    folder: PathBuf,
    layout: FeatureLayout,
    writer: Option<TableWriter>,
    /// Number of the current file.
    file: i64,
    rows: FrameRows,
    image_bytes: usize,
    episode: i64,
    frame: i64,
    index: i64,
    statistics: DatasetStatistics,
}

#[derive(Debug, Default)]
struct FrameRows {
    state: Vec<f32>,
    environment: Vec<f32>,
    action: Vec<f32>,
    images: Vec<Vec<Bytes>>,
    timestamp: Vec<f32>,
    frame: Vec<i64>,
    episode: Vec<i64>,
    index: Vec<i64>,
}

impl DataFiles {
    pub(super) fn new(folder: &Path, layout: &FeatureLayout) -> Self {
        Self {
            folder: folder.join("data"),
            writer: None,
            file: 0,
            rows: FrameRows::default(),
            image_bytes: 0,
            episode: 0,
            frame: 0,
            index: 0,
            statistics: DatasetStatistics::new(layout),
            layout: layout.clone(),
        }
    }

    pub(super) fn begin(&mut self, episode: i64) {
        (self.episode, self.frame) = (episode, 0);
    }

    pub(super) fn push(&mut self, frame: &TrainingFrame<'_>) -> Result<(), DatasetError> {
        let rows = &mut self.rows;
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "as LeRobot computes it")]
        let timestamp = (self.frame as f64 / self.layout.control_hz) as f32;
        self.statistics.push(frame, timestamp, [self.frame, self.episode, self.index]);
        rows.state.extend(&frame.state);
        rows.environment.extend(&frame.environment);
        rows.action.extend(&frame.action);
        rows.images.resize(frame.images.len(), Vec::new());
        for (column, (png, pixels)) in rows.images.iter_mut().zip(&frame.images) {
            column.push(png.clone());
            self.image_bytes += pixels.map_or(0, |_| png.len());
        }
        rows.timestamp.push(timestamp);
        rows.frame.push(self.frame);
        rows.episode.push(self.episode);
        rows.index.push(self.index);
        self.frame += 1;
        self.index += 1;
        if rows.frame.len() >= MAX_ROWS || self.image_bytes >= MAX_IMAGE_BYTES { self.flush() } else { Ok(()) }
    }

    /// Ends an episode; returns the number of its file, and its length.
    pub(super) fn end(&mut self) -> Result<(i64, i64), DatasetError> {
        self.flush()?;
        let file = self.file;
        let full =
            self.writer.as_ref().is_some_and(|w| w.size_bytes() >> 20 >= usize::try_from(DATA_FILE_MB).unwrap_or(0));
        if full && let Some(writer) = self.writer.take() {
            writer.finish()?;
            self.file += 1;
        }
        Ok((file, self.frame))
    }

    /// Completes the files; returns the statistics of all frames.
    pub(super) fn finish(mut self) -> Result<Value, DatasetError> {
        if let Some(writer) = self.writer.take() {
            writer.finish()?;
        }
        Ok(self.statistics.finish())
    }

    fn flush(&mut self) -> Result<(), DatasetError> {
        if self.rows.frame.is_empty() {
            return Ok(());
        }
        let columns = self.columns();
        self.image_bytes = 0;
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => {
                let chunk = self.folder.join(format!("chunk-{:03}", self.file / CHUNK_FILES));
                fs::create_dir_all(&chunk)?;
                let path = chunk.join(format!("file-{:03}.parquet", self.file % CHUNK_FILES));
                self.writer.insert(TableWriter::create(&path, &columns, Vec::new())?)
            }
        };
        Ok(writer.write(&columns)?)
    }

    fn columns(&mut self) -> Vec<TableColumn> {
        let FrameRows { state, environment, action, images, timestamp, frame, episode, index } =
            mem::take(&mut self.rows);
        let mut columns = Vec::new();
        // LeRobot has a plain number where there is only one.
        let vector = |length: usize, values| match length {
            1 => Values::Float32(values),
            _ => Values::Float32Lists(length, values),
        };
        let vectors = [(STATE, &self.layout.state, state), (ENVIRONMENT, &self.layout.environment, environment)];
        for (key, names, values) in vectors.into_iter().filter(|(_, names, _)| !names.is_empty()) {
            columns.push(TableColumn::new(key, vector(names.len(), values)));
        }
        let keys = self.layout.images.iter().map(|(key, _)| key);
        columns.extend(keys.zip(images).map(|(key, pngs)| TableColumn::new(key, Values::Image(pngs))));
        let tasks = vec![0; frame.len()];
        columns.extend([
            TableColumn::new("action", vector(self.layout.action.len(), action)),
            TableColumn::new("timestamp", Values::Float32(timestamp)),
            TableColumn::new("frame_index", Values::Int64(frame)),
            TableColumn::new("episode_index", Values::Int64(episode)),
            TableColumn::new("index", Values::Int64(index)),
            TableColumn::new("task_index", Values::Int64(tasks)),
        ]);
        columns
    }
}
