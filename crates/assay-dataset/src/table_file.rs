//! `data.parquet`: a row per control step.

use std::mem;
use std::path::Path;

use assay_model::RecordingHeader;
use assay_model::frame::{ArraySpec, Dtype};
use bytes::Bytes;
use parquet::file::metadata::KeyValue;

use crate::DatasetError;
use crate::episode_writer::EpisodeWriter;
use crate::image::{ImageEncoder, is_image};
use crate::job::DatasetEpisode;
use crate::reader::{RecordedArray, RecordedStep};
use crate::table::{TableColumn, TableWriter, Values};

/// Name of the file.
const FILE: &str = "data.parquet";
/// Maximum number of rows of a row group.
const MAX_ROWS: usize = 10_000;
/// Bytes of pictures after which a row group ends.
const MAX_PICTURE_BYTES: usize = 64 << 20;

/// The table being written.
pub(crate) struct TableFile {
    writer: TableWriter,
    arrays: Vec<ArrayColumn>,
    rows: StepRows,
    /// The current episode: its index, seed and success.
    episode: (i64, u64, bool),
    frame: i64,
    picture_bytes: usize,
}

/// The columns besides the arrays.
#[derive(Debug, Default)]
struct StepRows {
    episode: Vec<i64>,
    frame: Vec<i64>,
    timestamp: Vec<f64>,
    remaining: Vec<f64>,
    action: Vec<f64>,
    success: Vec<bool>,
    seed: Vec<u64>,
}

/// The column of an array.
struct ArrayColumn {
    /// Index of the array in the observation.
    index: usize,
    spec: ArraySpec,
    kind: ArrayKind,
}

enum ArrayKind {
    Numbers(Vec<f64>),
    Png(ImageEncoder, Vec<Bytes>),
    /// Bytes as they are, of depth images.
    Raw(Bytes, Vec<Bytes>),
}

impl ArrayColumn {
    /// Returns the column of an array, unless the array is always empty.
    fn new((index, spec): (usize, &ArraySpec)) -> Option<Self> {
        let kind = match spec.dtype {
            _ if spec.size_bytes() == 0 => return None,
            Dtype::F64 => ArrayKind::Numbers(Vec::new()),
            Dtype::U8 if is_image(spec) => ArrayKind::Png(ImageEncoder::default(), Vec::new()),
            Dtype::U8 | Dtype::F32 => ArrayKind::Raw(Bytes::new(), Vec::new()),
        };
        Some(Self { index, spec: spec.clone(), kind })
    }

    /// Adds the array of a step; returns the bytes that this adds to the file, unless it is of numbers.
    fn push(&mut self, array: &RecordedArray) -> Result<usize, DatasetError> {
        let pictures = match &mut self.kind {
            ArrayKind::Numbers(values) => {
                values.extend(array.doubles());
                return Ok(0);
            }
            ArrayKind::Png(encoder, pictures) => {
                pictures.push(encoder.png(array)?);
                pictures
            }
            ArrayKind::Raw(last, pictures) => {
                if array.is_new {
                    *last = Bytes::copy_from_slice(&array.bytes);
                }
                pictures.push(last.clone());
                pictures
            }
        };
        Ok(if array.is_new { pictures.last().map_or(0, Bytes::len) } else { 0 })
    }

    fn take(&mut self) -> TableColumn {
        let elements = self.spec.size_bytes() / self.spec.dtype.size_bytes();
        let values = match &mut self.kind {
            ArrayKind::Numbers(values) => Values::Float64Lists(elements, mem::take(values)),
            ArrayKind::Png(_, pictures) | ArrayKind::Raw(_, pictures) => Values::Bytes(mem::take(pictures)),
        };
        TableColumn::new(format!("observation.{}", self.spec.name), values)
    }
}

impl TableFile {
    pub(crate) fn create(folder: &Path, header: &RecordingHeader) -> Result<Self, DatasetError> {
        let mut arrays: Vec<_> = header.observation.iter().enumerate().filter_map(ArrayColumn::new).collect();
        let mut rows = StepRows::default();
        let columns = columns(&mut rows, header.action.len(), &mut arrays);
        let facts = vec![KeyValue::new("assay.recorded".to_owned(), serde_json::to_string(header)?)];
        let writer = TableWriter::create(&folder.join(FILE), &columns, facts)?;
        Ok(Self { writer, arrays, rows, episode: (0, 0, false), frame: 0, picture_bytes: 0 })
    }

    fn flush(&mut self) -> Result<(), DatasetError> {
        if !self.rows.frame.is_empty() {
            let action_dim = self.rows.action.len() / self.rows.frame.len();
            self.writer.write(&columns(&mut self.rows, action_dim, &mut self.arrays))?;
            self.picture_bytes = 0;
        }
        Ok(())
    }
}

/// Takes the pending rows as columns.
fn columns(rows: &mut StepRows, action_dim: usize, arrays: &mut [ArrayColumn]) -> Vec<TableColumn> {
    let StepRows { episode, frame, timestamp, remaining, action, success, seed } = mem::take(rows);
    let mut columns = vec![
        TableColumn::new("episode_index", Values::Int64(episode)),
        TableColumn::new("frame_index", Values::Int64(frame)),
        TableColumn::new("timestamp", Values::Float64(timestamp)),
        TableColumn::new("time_remaining", Values::Float64(remaining)),
    ];
    columns.extend(arrays.iter_mut().map(ArrayColumn::take));
    columns.extend([
        TableColumn::new("action", Values::Float64Lists(action_dim, action)),
        TableColumn::new("success", Values::Boolean(success)),
        TableColumn::new("seed", Values::UInt64(seed)),
    ]);
    columns
}

impl EpisodeWriter for TableFile {
    fn begin(&mut self, episode: &DatasetEpisode, _header: &RecordingHeader) -> Result<(), DatasetError> {
        self.episode = (episode.episode.into(), episode.seed, episode.success);
        self.frame = 0;
        Ok(())
    }

    fn step(&mut self, step: &RecordedStep<'_>) -> Result<(), DatasetError> {
        let (episode, seed, success) = self.episode;
        self.rows.episode.push(episode);
        self.rows.frame.push(self.frame);
        self.rows.timestamp.push(step.time_s);
        self.rows.remaining.push(step.time_remaining_s);
        self.rows.action.extend(step.action);
        self.rows.success.push(success);
        self.rows.seed.push(seed);
        self.frame += 1;
        for column in &mut self.arrays {
            if let Some(array) = step.arrays.get(column.index) {
                self.picture_bytes += column.push(array)?;
            }
        }
        if self.rows.frame.len() >= MAX_ROWS || self.picture_bytes >= MAX_PICTURE_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), DatasetError> {
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), DatasetError> {
        self.flush()?;
        Ok(self.writer.finish()?)
    }
}
