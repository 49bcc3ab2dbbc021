//! Videos of a scenario's known-answer policies, which `tools/scenario-clips` made with assay itself.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use assay_model::JobReport;

/// The policies whose videos a scenario has, in the order in which they are shown.
const POLICIES: [&str; 2] = ["reference", "reckless"];

/// A video of a known-answer policy on a scenario, with the report of the run that it shows.
#[derive(Debug, Clone)]
pub struct ScenarioClip {
    /// Name of the policy: `reference` or `reckless`.
    pub policy: &'static str,
    /// Report of the run: one episode.
    pub report: JobReport,
    /// The video, an MP4.
    pub video: PathBuf,
    /// A picture of it, a WebP.
    pub poster: PathBuf,
}

impl ScenarioClip {
    /// Reads the clips in a scenario's folder of clips; returns none without such a folder.
    ///
    /// # Errors
    /// A report cannot be read.
    pub(crate) fn all(folder: &Path) -> io::Result<Vec<Self>> {
        POLICIES.into_iter().filter_map(|policy| Self::read(folder, policy).transpose()).collect()
    }

    fn read(folder: &Path, policy: &'static str) -> io::Result<Option<Self>> {
        let file = |extension: &str| folder.join(policy).with_extension(extension);
        let (video, poster) = (file("mp4"), file("webp"));
        if !video.is_file() || !poster.is_file() {
            return Ok(None);
        }
        let report = serde_json::from_slice(&fs::read(file("json"))?)?;
        Ok(Some(Self { policy, report, video, poster }))
    }
}
