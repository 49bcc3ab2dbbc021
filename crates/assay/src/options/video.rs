//! Options for size and frame rate of videos.

use assay_worker::VideoFormat;
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct VideoArgs {
    /// Width, height and frames per simulated second of videos; rendering takes time in proportion
    #[arg(long, value_name = "FORMAT", env = "ASSAY_VIDEO", default_value_t)]
    pub(crate) video: VideoFormat,
}
