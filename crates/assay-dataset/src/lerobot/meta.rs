//! The files of `meta/`, except the statistics.

use std::fs;
use std::path::Path;

use parquet::file::metadata::KeyValue;
use serde_json::{Map, Value, json};

use crate::DatasetError;
use crate::job::DatasetEpisode;
use crate::table::{TableColumn, TableWriter, Values};

/// Version of LeRobot's format.
const VERSION: &str = "v3.0";
/// Feature of the robot's state.
pub(super) const STATE: &str = "observation.state";
/// Feature of the environment's state.
pub(super) const ENVIRONMENT: &str = "observation.environment_state";
/// Maximum number of files in a folder `chunk-NNN`.
pub(super) const CHUNK_FILES: i64 = 1000;
/// Size after which a new data file begins, in MB. The same as LeRobot's own default.
pub(super) const DATA_FILE_MB: i64 = 100;

/// Features of the dataset, and facts about it.
#[derive(Debug, Clone)]
pub(super) struct FeatureLayout {
    pub(super) control_hz: f64,
    pub(super) robot: Option<String>,
    pub(super) task: String,
    /// Names of the state's numbers.
    pub(super) state: Vec<String>,
    /// Names of the numbers of the environment's state.
    pub(super) environment: Vec<String>,
    /// Names of the action's numbers.
    pub(super) action: Vec<String>,
    /// Keys of the images, with height and width.
    pub(super) images: Vec<(String, [u32; 2])>,
}

/// An episode of the dataset.
#[derive(Debug, Clone)]
pub(super) struct LerobotEpisode {
    /// Number of its data file, over all chunks.
    pub(super) file: i64,
    /// Index of its first frame, and that after its last.
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) episode: DatasetEpisode,
}

impl FeatureLayout {
    fn features(&self) -> Map<String, Value> {
        let vector = |names: &[String]| json!({ "dtype": "float32", "shape": [names.len()], "names": names });
        let mut features = Map::new();
        for (key, names) in [(STATE, &self.state), (ENVIRONMENT, &self.environment)] {
            if !names.is_empty() {
                features.insert(key.to_owned(), vector(names));
            }
        }
        for (key, [height, width]) in &self.images {
            let names = ["height", "width", "channels"];
            features.insert(key.clone(), json!({ "dtype": "image", "shape": [height, width, 3], "names": names }));
        }
        features.insert("action".to_owned(), vector(&self.action));
        for (key, dtype) in [
            ("timestamp", "float32"),
            ("frame_index", "int64"),
            ("episode_index", "int64"),
            ("index", "int64"),
            ("task_index", "int64"),
        ] {
            features.insert(key.to_owned(), json!({ "dtype": dtype, "shape": [1], "names": null }));
        }
        features
    }

    /// Returns the frames per second: an integer where possible, as LeRobot expects.
    fn fps(&self) -> Value {
        #[expect(clippy::cast_possible_truncation, reason = "compared with the rate")]
        let whole = self.control_hz.round() as i64;
        #[expect(clippy::cast_precision_loss, reason = "compared with the rate")]
        let is_whole = (whole as f64 - self.control_hz).abs() < 1e-9;
        if is_whole { json!(whole) } else { json!(self.control_hz) }
    }

    pub(super) fn write_info(&self, folder: &Path, episodes: &[LerobotEpisode]) -> Result<(), DatasetError> {
        let info = json!({
            "codebase_version": VERSION,
            "robot_type": self.robot,
            "total_episodes": episodes.len(),
            "total_frames": episodes.last().map_or(0, |episode| episode.to),
            "total_tasks": 1,
            "chunks_size": CHUNK_FILES,
            "data_files_size_in_mb": DATA_FILE_MB,
            "video_files_size_in_mb": 200,
            "fps": self.fps(),
            "splits": { "train": format!("0:{}", episodes.len()) },
            "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
            "video_path": null,
            "features": self.features(),
        });
        Ok(fs::write(folder.join("meta/info.json"), serde_json::to_vec_pretty(&info)?)?)
    }

    /// Writes the table of tasks as pandas would: the task is the index.
    pub(super) fn write_tasks(&self, folder: &Path) -> Result<(), DatasetError> {
        let column = |name: Value, field: &str, pandas: &str, numpy: &str| json!({ "name": name, "field_name": field, "pandas_type": pandas, "numpy_type": numpy, "metadata": null });
        let index = "__index_level_0__";
        let pandas = json!({
            "index_columns": [index],
            "column_indexes": [{
                "name": null, "field_name": null, "pandas_type": "unicode", "numpy_type": "object",
                "metadata": { "encoding": "UTF-8" },
            }],
            "columns": [
                column(json!("task_index"), "task_index", "int64", "int64"),
                column(Value::Null, index, "unicode", "object"),
            ],
            "creator": { "library": "assay", "version": env!("CARGO_PKG_VERSION") },
            "pandas_version": "2.0.0",
        });
        let columns = [
            TableColumn::new("task_index", Values::Int64(vec![0])),
            TableColumn::new(index, Values::Text(vec![self.task.clone()])),
        ];
        let facts = vec![KeyValue::new("pandas".to_owned(), pandas.to_string())];
        write_table(&folder.join("meta/tasks.parquet"), &columns, facts)
    }

    pub(super) fn write_episodes(&self, folder: &Path, episodes: &[LerobotEpisode]) -> Result<(), DatasetError> {
        let numbers = |value: &dyn Fn(&LerobotEpisode) -> i64| Values::Int64(episodes.iter().map(value).collect());
        let zeros = || Values::Int64(vec![0; episodes.len()]);
        let columns = [
            TableColumn::new("episode_index", Values::Int64((0..).take(episodes.len()).collect())),
            TableColumn::new("tasks", Values::TextLists(vec![self.task.clone(); episodes.len()])),
            TableColumn::new("length", numbers(&|row| row.to - row.from)),
            TableColumn::new("data/chunk_index", numbers(&|row| row.file / CHUNK_FILES)),
            TableColumn::new("data/file_index", numbers(&|row| row.file % CHUNK_FILES)),
            TableColumn::new("dataset_from_index", numbers(&|row| row.from)),
            TableColumn::new("dataset_to_index", numbers(&|row| row.to)),
            TableColumn::new("meta/episodes/chunk_index", zeros()),
            TableColumn::new("meta/episodes/file_index", zeros()),
            // Not LeRobot's: the episode's number in its job, its seed and its outcome.
            TableColumn::new("assay_episode", numbers(&|row| row.episode.episode.into())),
            TableColumn::new("seed", Values::UInt64(episodes.iter().map(|row| row.episode.seed).collect())),
            TableColumn::new("success", Values::Boolean(episodes.iter().map(|row| row.episode.success).collect())),
        ];
        let path = folder.join("meta/episodes/chunk-000");
        fs::create_dir_all(&path)?;
        write_table(&path.join("file-000.parquet"), &columns, Vec::new())
    }
}

fn write_table(path: &Path, columns: &[TableColumn], facts: Vec<KeyValue>) -> Result<(), DatasetError> {
    let mut writer = TableWriter::create(path, columns, facts)?;
    writer.write(columns)?;
    Ok(writer.finish()?)
}
