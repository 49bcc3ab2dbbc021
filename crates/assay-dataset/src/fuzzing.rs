//! The fuzz target of recordings of observations, which a lane writes and `assay dataset` converts.

use std::fs;

use crate::{DatasetEpisode, DatasetFormat, DatasetJob, write_dataset};

/// Converts a recording to every format: the bytes as they are, which are rarely a Zstandard stream, and compressed,
/// which always are.
///
/// # Panics
/// Panics if the input reveals a bug.
pub fn recording(data: &[u8]) {
    let folder = assay_fuzz::memory_folder();
    let compressed = zstd::encode_all(data, 1).expect("compression");
    for (name, bytes) in [("plain", data), ("compressed", &compressed)] {
        let recording = folder.path().join(name);
        fs::write(&recording, bytes).expect("a file");
        let episodes = [DatasetEpisode { episode: 0, seed: 1, success: true, recording }];
        for format in [DatasetFormat::Lerobot, DatasetFormat::Parquet, DatasetFormat::Mcap] {
            let out = folder.path().join(format!("{name}-{format}"));
            fs::create_dir(&out).expect("a folder");
            let origin = serde_json::Value::Null;
            let job = DatasetJob { format, episodes: &episodes, state: None, environment: None, robot: None, origin };
            if let Ok(summary) = write_dataset(&out, &job, &mut |_| true) {
                assert_eq!(summary.episodes, 1);
                assert!(out.join("assay.json").is_file());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_fuzz::run_corpus;

    #[test]
    fn recording_accepts_its_corpus() {
        run_corpus("recording", super::recording);
    }
}
