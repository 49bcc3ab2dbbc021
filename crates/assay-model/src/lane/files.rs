//! Names of the files in an episode's folder, shared by lane and worker.

/// The trace, a row per physics step. The other files are derived from it.
pub const TRACE: &str = "trace.parquet";
/// The actions applied, `[control step, action_dim]`.
pub const ACTIONS: &str = "actions.npy";
/// All external inputs of the physics, at the rate at which they change.
pub const INPUTS: &str = "inputs.npz";
/// The compiled model with the episode's draws, in MuJoCo's binary format.
pub const MODEL: &str = "model.mjb";
/// MuJoCo's integration state before the first step, as raw little-endian doubles.
pub const STATE: &str = "state.bin";
/// Data of the report's plots: [`EpisodePlots`](crate::EpisodePlots) as JSON.
pub const PLOTS: &str = "plots.json";
/// The log for viewers, MCAP without images.
pub const LOG: &str = "log.mcap";
/// The signed statement about the log.
pub const LOG_STATEMENT: &str = "log.intoto.json";
/// The video.
pub const VIDEO: &str = "video.mp4";
/// The frames of the video and the images observed by the policy, MCAP on the log's clock.
pub const IMAGES: &str = "images.mcap";
/// The worst moment of the episode's gravest violation, or its end without one: a picture 1280 pixels wide.
pub const STILL: &str = "still.png";
/// The video around the worst moment of the gravest violation; only of an episode with one.
pub const CLIP: &str = "clip.mp4";
/// Everything that is rendered with the video, without the statement.
pub const PICTURED: [&str; 4] = [CLIP, IMAGES, STILL, VIDEO];
/// Files of [`PICTURED`] that not every video has.
pub const OPTIONAL: [&str; 2] = [CLIP, STILL];
/// The signed statement about the video and the images.
pub const VIDEO_STATEMENT: &str = "video.intoto.json";
/// Number of frames rendered so far, written by a renderer as text.
pub const FRAMES: &str = "frames";
/// Observations and actions, as exchanged with the policy; written on request. See
/// [`RecordingHeader`](crate::RecordingHeader).
pub const OBSERVATIONS: &str = "observations.bin";
/// Files written by every stepping lane that keeps evidence.
pub const STEPPED: [&str; 6] = [ACTIONS, INPUTS, MODEL, PLOTS, STATE, TRACE];
/// Result of a check: a [`ScenarioCheck`](super::ScenarioCheck).
pub const CHECKED: &str = "checked.json";
/// Request for a contact sheet: a [`SheetJob`](super::SheetJob).
pub const SHEET_JOB: &str = "sheet.json";
/// The contact sheet.
pub const SHEET: &str = "sheet.png";
/// Request for single frames of an episode: a [`StillsJob`](super::StillsJob).
pub const STILLS_JOB: &str = "stills.json";
/// Request to render an episode: a [`RenderJob`](super::RenderJob).
pub const RENDER_JOB: &str = "render.json";
/// Report of a renderer: a [`Rendered`](super::Rendered).
pub const RENDERED: &str = "rendered.json";
/// Input of a comparison: the recorded trace.
pub const RECORDED: &str = "recorded.parquet";
/// Input of a comparison: the trace of the replay.
pub const REPLAYED: &str = "replayed.parquet";
/// Result of a comparison: a [`Comparison`](crate::Comparison).
pub const COMPARISON: &str = "comparison.json";

/// Request for an audit: an [`AuditJob`](super::AuditJob).
pub const AUDIT_JOB: &str = "audit.json";
/// Result of an audit: an [`Audit`](super::Audit).
pub const AUDITED: &str = "audited.json";

/// Returns the file name of a still.
#[must_use]
pub fn still(index: usize) -> String {
    format!("still-{index:02}.png")
}
