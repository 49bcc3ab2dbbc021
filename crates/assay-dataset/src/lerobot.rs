//! A LeRobot dataset, version 3.0, as `LeRobotDataset` of lerobot 0.4 loads it: `meta/info.json`, `meta/stats.json`,
//! `meta/tasks.parquet`, `meta/episodes/`, `data/`.
//!
//! Numbers of the observation form `observation.state` and, if there are no images, `observation.environment_state`,
//! single precision, as LeRobot's policies expect. Images are PNG
//! inside the Parquet files (data type `image`), which keeps every byte; a video would change them. The format has no
//! depth images, so these are left out.

mod data;
mod frame;
mod meta;
mod statistics;

use std::fs;
use std::path::{Path, PathBuf};

use assay_model::RecordingHeader;
use assay_model::frame::{ArraySpec, Dtype};

use self::data::DataFiles;
use self::frame::TrainingFrame;
use self::meta::{FeatureLayout, LerobotEpisode};
use crate::DatasetError;
use crate::episode_writer::EpisodeWriter;
use crate::image::{ImageEncoder, is_image};
use crate::job::{DatasetEpisode, DatasetJob};
use crate::reader::{RecordedArray, RecordedStep};

/// Prefix of images among the observations.
const IMAGE_PREFIX: &str = "images/";

/// Writes the dataset.
pub(crate) struct LerobotWriter {
    folder: PathBuf,
    layout: FeatureLayout,
    /// Indices of the arrays that form the state.
    state: Vec<usize>,
    /// Indices of those that form the state of the environment.
    environment: Vec<usize>,
    /// Indices of the images, with their encoders.
    images: Vec<(usize, ImageEncoder)>,
    data: DataFiles,
    episodes: Vec<LerobotEpisode>,
    current: Option<DatasetEpisode>,
    frames: i64,
}

/// Returns the names of arrays that a LeRobot dataset of this recording does not contain.
pub(crate) fn omitted(header: &RecordingHeader, job: &DatasetJob<'_>) -> Vec<String> {
    let chosen = |name: &String| {
        job.state.is_none_or(|names| names.contains(name)) || job.environment.is_some_and(|names| names.contains(name))
    };
    let is_part = |spec: &&ArraySpec| is_image(spec) || spec.dtype == Dtype::F64 && chosen(&spec.name);
    header.observation.iter().filter(|spec| !is_part(spec)).map(|spec| spec.name.clone()).collect()
}

/// Returns the indices of the chosen arrays of numbers, or of all of them.
fn vectors(header: &RecordingHeader, chosen: Option<&[String]>) -> Result<Vec<usize>, DatasetError> {
    let is_vector = |spec: &ArraySpec| spec.dtype == Dtype::F64 && spec.size_bytes() > 0;
    let arrays = || header.observation.iter().enumerate().filter(|(_, spec)| is_vector(spec));
    let Some(chosen) = chosen else { return Ok(arrays().map(|(index, _)| index).collect()) };
    let find = |name: &String| {
        arrays().find(|(_, spec)| spec.name == *name).map(|(index, _)| index).ok_or_else(|| DatasetError::State {
            name: name.clone(),
            known: arrays().map(|(_, spec)| spec.name.as_str()).collect::<Vec<_>>().join(", "),
        })
    };
    chosen.iter().map(find).collect()
}

impl LerobotWriter {
    pub(crate) fn create(folder: &Path, job: &DatasetJob<'_>, header: &RecordingHeader) -> Result<Self, DatasetError> {
        let state = vectors(header, job.state)?;
        let images: Vec<usize> =
            header.observation.iter().enumerate().filter(|(_, spec)| is_image(spec)).map(|(i, _)| i).collect();
        let environment = match job.environment {
            Some(names) => vectors(header, Some(names))?,
            None if images.is_empty() => state.clone(),
            None => Vec::new(),
        };
        let all_names = |indices: &[usize]| indices.iter().flat_map(|i| names(&header.observation[*i])).collect();
        let layout = FeatureLayout {
            control_hz: header.control_hz,
            robot: job.robot.map(str::to_owned),
            task: header.instruction.clone().unwrap_or_else(|| header.scenario.clone()),
            state: all_names(&state),
            environment: all_names(&environment),
            action: header.action.clone(),
            images: images.iter().map(|index| image_feature(&header.observation[*index])).collect(),
        };
        fs::create_dir_all(folder.join("meta"))?;
        Ok(Self {
            data: DataFiles::new(folder, &layout),
            folder: folder.to_owned(),
            layout,
            state,
            environment,
            images: images.into_iter().map(|index| (index, ImageEncoder::default())).collect(),
            episodes: Vec::new(),
            current: None,
            frames: 0,
        })
    }
}

/// Returns the names of an array's numbers: its own, if it has only one, otherwise with their index.
fn names(spec: &ArraySpec) -> Vec<String> {
    let count = spec.size_bytes() / spec.dtype.size_bytes();
    let name = |index| if count == 1 { spec.name.clone() } else { format!("{}.{index}", spec.name) };
    (0..count).map(name).collect()
}

/// Returns the key of an image, with its height and width. Keys cannot contain slashes.
fn image_feature(spec: &ArraySpec) -> (String, [u32; 2]) {
    let name = spec.name.strip_prefix(IMAGE_PREFIX).unwrap_or(&spec.name).replace('/', "_");
    (format!("observation.images.{name}"), [spec.shape[0], spec.shape[1]])
}

/// Returns a number in single precision; one beyond its range becomes its largest.
#[expect(clippy::cast_possible_truncation, reason = "single precision is the format's")]
fn single(value: f64) -> f32 {
    (value as f32).clamp(f32::MIN, f32::MAX)
}

impl EpisodeWriter for LerobotWriter {
    fn begin(&mut self, episode: &DatasetEpisode, _header: &RecordingHeader) -> Result<(), DatasetError> {
        self.current = Some(episode.clone());
        self.data.begin(i64::try_from(self.episodes.len()).unwrap_or(i64::MAX));
        Ok(())
    }

    fn step(&mut self, step: &RecordedStep<'_>) -> Result<(), DatasetError> {
        let numbers = |index: &usize| step.arrays.get(*index).into_iter().flat_map(RecordedArray::doubles).map(single);
        let mut images = Vec::with_capacity(self.images.len());
        for (index, encoder) in &mut self.images {
            let array = &step.arrays[*index];
            images.push((encoder.png(array)?, array.is_new.then_some(array.bytes.as_slice())));
        }
        self.data.push(&TrainingFrame {
            state: self.state.iter().flat_map(numbers).collect(),
            environment: self.environment.iter().flat_map(numbers).collect(),
            action: step.action.iter().map(|value| single(*value)).collect(),
            images,
        })?;
        self.frames += 1;
        Ok(())
    }

    fn end(&mut self) -> Result<(), DatasetError> {
        let (file, length) = self.data.end()?;
        if let Some(episode) = self.current.take() {
            let to = self.frames;
            self.episodes.push(LerobotEpisode { file, from: to - length, to, episode });
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), DatasetError> {
        let Self { folder, layout, data, episodes, .. } = *self;
        let statistics = data.finish()?;
        layout.write_info(&folder, &episodes)?;
        layout.write_tasks(&folder)?;
        layout.write_episodes(&folder, &episodes)?;
        let text = serde_json::to_vec_pretty(&statistics)?;
        Ok(fs::write(folder.join("meta/stats.json"), text)?)
    }
}
