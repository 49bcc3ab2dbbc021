//! The lane: one simulator on one thread in a jail of its own. It serves one scenario version: for each episode it
//! receives a policy's stream from the worker, steps the physics, evaluates the clauses at every physics step and
//! writes the trace. Other entry points render and compare recorded episodes, and examine scenarios.
//!
//! Where to begin: [`step`] (the process), `episode` (the loop), `trace` (the single source of all evidence).

mod assess;
mod audit;
mod caption;
mod check;
mod chunk_budget;
mod compare;
mod control_socket;
mod cpu_clock;
mod environment;
mod episode;
mod episode_events;
mod evidence;
mod facts;
mod feedback;
mod framed;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod highlights;
mod inputs;
mod inset;
mod latency;
mod lettering;
mod load;
mod log;
mod meter;
mod npy;
mod observation_recorder;
mod observed_images;
mod parquet_shape;
mod plots;
mod png_image;
mod policy_link;
mod recompute;
mod render;
mod render_error;
mod rerun;
mod restep;
mod rollout;
mod seal;
mod sheet;
mod step;
mod step_error;
mod stills;
mod trace;
mod trace_file;
mod trace_pages;
mod video;
mod violation_track;
mod watch;
mod whole_file;

pub use audit::{AuditError, audit};
pub use check::check;
pub use compare::{CompareError, compare};
pub use environment::environment;
pub use evidence::EvidenceError;
pub use inputs::Inputs;
pub use log::LogError;
pub use render::{draw_once, render};
pub use render_error::EpisodeRenderError;
pub use rerun::RerunError;
pub use seal::seal;
pub use sheet::sheet;
pub use step::step;
pub use step_error::StepError;
pub use stills::stills;
pub use trace::Trace;
pub use trace_file::TraceFileError;
pub use video::{VideoError, VideoWriter};

use std::path::PathBuf;

/// Paths of a lane inside its jail.
#[derive(Debug, Clone)]
pub struct Places {
    /// The scenario's folder, read-only.
    pub scenario: PathBuf,
    /// The folder of robots, read-only.
    pub robots: PathBuf,
    /// The only folder it can write to.
    pub scratch: PathBuf,
}
