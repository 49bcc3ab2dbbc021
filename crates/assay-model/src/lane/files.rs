//! Names of the files in an episode's folder, which lane and worker must agree on.

/// The recording: a row per physics step. Everything else is written from it.
pub const TRACE: &str = "trace.parquet";
/// The actions in force, `[control step, action_dim]`.
pub const ACTIONS: &str = "actions.npy";
/// Every external input of the physics, at the rate at which it changes.
pub const INPUTS: &str = "inputs.npz";
/// The compiled model with the episode's draws, MuJoCo's binary format.
pub const MODEL: &str = "model.mjb";
/// MuJoCo's integration state before the first step, raw little-endian doubles.
pub const STATE: &str = "state.bin";
/// Data of the report's plots: [`EpisodePlots`](crate::EpisodePlots) as JSON.
pub const PLOTS: &str = "plots.json";
/// The log for viewers, MCAP, without images.
pub const LOG: &str = "log.mcap";
/// The signed statement about the log.
pub const LOG_STATEMENT: &str = "log.intoto.json";
/// The video.
pub const VIDEO: &str = "video.mp4";
/// The video's frames and what the policy's cameras saw, MCAP on the log's clock.
pub const IMAGES: &str = "images.mcap";
/// The signed statement about the video and the images.
pub const VIDEO_STATEMENT: &str = "video.intoto.json";
/// Where a renderer writes how many frames it has drawn, as text.
pub const FRAMES: &str = "frames";
/// Files written by a stepping lane.
pub const STEPPED: [&str; 6] = [ACTIONS, INPUTS, MODEL, PLOTS, STATE, TRACE];
/// Result of a check: a [`ScenarioCheck`](super::ScenarioCheck).
pub const CHECKED: &str = "checked.json";
/// Tells a renderer which worlds to draw: a [`SheetJob`](super::SheetJob).
pub const SHEET_JOB: &str = "sheet.json";
/// The picture of those worlds.
pub const SHEET: &str = "sheet.png";
/// Tells a renderer which moments of an episode to draw: a [`StillsJob`](super::StillsJob).
pub const STILLS_JOB: &str = "stills.json";
/// Tells a renderer what to write: a [`RenderJob`](super::RenderJob).
pub const RENDER_JOB: &str = "render.json";
/// Report of the renderer: a [`Rendered`](super::Rendered).
pub const RENDERED: &str = "rendered.json";
/// For a comparison: the trace that was recorded.
pub const RECORDED: &str = "recorded.parquet";
/// For a comparison: the trace of the replay.
pub const REPLAYED: &str = "replayed.parquet";
/// Result of a comparison: a [`Comparison`](crate::Comparison).
pub const COMPARISON: &str = "comparison.json";

/// A still's name.
#[must_use]
pub fn still(index: usize) -> String {
    format!("still-{index:02}.png")
}
