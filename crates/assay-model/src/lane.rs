//! Messages between the worker and a lane over the control socket: a u32 little-endian length, then JSON. A
//! policy's socket rides beside a [`LaneCommand::Run`] as an `SCM_RIGHTS` descriptor.

pub mod files;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::frame::ArraySpec;
use crate::{EpisodeResult, EpisodeSeeds, Violation};

/// Longest message either way, in bytes.
pub const MAX_MESSAGE_BYTES: u32 = 4 * 1024 * 1024;
/// Longest time that a policy may sleep over one answer: no thread of it is ready to run.
pub const SLEEP_LIMIT: Duration = Duration::from_secs(20);
/// A policy that has not answered for this long is waited for: the lane sends [`Reply::Waiting`], and the worker looks
/// at the policy's threads.
pub const WAIT_TICK: Duration = Duration::from_millis(20);
/// While it waits the lane repeats [`Reply::Waiting`] at least this often.
pub const WAIT_REPEAT: Duration = Duration::from_secs(1);
/// A lane that found no room on the disk ends with this status (`EX_TEMPFAIL` of sysexits.h).
pub const DISK_FULL_STATUS: u8 = 75;

/// Worker to lane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "command")]
pub enum LaneCommand {
    /// Run one episode with the policy behind the descriptor that comes with this message.
    Run(RunEpisode),
    /// The violation that the lane sent last is on record; it may go on.
    Noted,
}

/// One episode to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEpisode {
    /// Index in the job.
    pub episode: u32,
    /// Its seeds.
    pub seeds: EpisodeSeeds,
    /// Nonce of the policy's connection.
    pub nonce: u64,
    /// The policy's process, whose CPU clock is its budget; `null` for a policy server, timed by the wall.
    pub policy_pid: Option<i32>,
    /// Reading of that clock, in nanoseconds, at which the import's budget is used up: what the policy's process works
    /// between the end of its import and this episode counts as its import. `null` without a limit.
    #[serde(default)]
    pub import_ends_at_ns: Option<u64>,
    /// Folder in the lane's scratch to write evidence to; `null` writes none.
    pub evidence: Option<String>,
    /// Writes the trace's numbers as they are, for whoever packs them better than Parquet can.
    #[serde(default)]
    pub plain: bool,
    /// Tries only the first steps, and tells what was asked and answered; `null` runs the whole episode.
    #[serde(default)]
    pub probe: Option<Probe>,
}

/// Limits of a trial run of an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Control steps.
    pub max_steps: u32,
    /// By the wall, since the episode's command; the step that is under way ends first.
    pub max_wall_ms: u32,
    /// Sends black images: whoever looks at them acts otherwise.
    #[serde(default)]
    pub black_images: bool,
}

/// Observations of a policy in its first steps.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Probed {
    /// The arrays that it was sent.
    pub observation: Vec<ArraySpec>,
    /// Its actions, as they came.
    pub actions: Vec<Vec<f64>>,
    /// From each observation to its action, by the wall.
    pub latency_ms: Vec<f64>,
    /// CPU time for the same; empty for a policy server.
    pub cpu_ms: Vec<f64>,
}

/// Lane to worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "reply")]
pub enum Reply {
    /// The first message, sent before anything of a stranger's is read.
    Sealed {
        /// The process has put a Landlock ruleset on itself and has seen it work; false where it was given none.
        landlock: bool,
    },
    /// The scenario is compiled.
    Ready {
        /// MuJoCo's version, as the library says.
        mujoco: String,
    },
    /// The scenario can't be used; nothing will run.
    Refused {
        /// The fault, for its author.
        message: String,
    },
    /// An episode is under way (at most ten a second).
    Progress {
        /// Which.
        episode: u32,
        /// Control steps so far.
        step: u32,
        /// Control steps of a whole episode.
        of: u32,
    },
    /// The policy has not answered for [`WAIT_TICK`]; repeated every [`WAIT_REPEAT`] until it does.
    Waiting,
    /// The policy has answered, after a [`Reply::Waiting`].
    Answered,
    /// A critical clause was violated for the first time in the episode. The lane goes on when it is told
    /// [`LaneCommand::Noted`], so the violation is on record before the policy is asked for another action.
    Violated(Violation),
    /// An episode ended.
    Done(Box<Done>),
}

/// An episode's end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// The result, without the policy's log.
    pub result: EpisodeResult,
    /// Cost of the episode.
    pub cost: Cost,
    /// Observations of the first steps, in a trial run.
    #[serde(default)]
    pub probed: Option<Probed>,
}

/// The cost of an episode, in milliseconds. For operators and benchmarks; results do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Cost {
    /// CPU time of the lane from the command to the result, without evidence.
    pub lane_cpu_ms: f64,
    /// CPU time of the policy's process over the same time, as far as it can be seen.
    pub policy_cpu_ms: f64,
    /// CPU time of the lane for the evidence.
    pub evidence_cpu_ms: f64,
    /// By the wall: making the world.
    pub world_ms: f64,
    /// By the wall: controller and MuJoCo's steps.
    pub physics_ms: f64,
    /// By the wall: the signals of each physics step.
    pub signals_ms: f64,
    /// By the wall: recording, terminal clauses, stages, success, and every clause at the end.
    pub clauses_ms: f64,
    /// By the wall: the chain of hashes.
    pub hash_ms: f64,
    /// By the wall: kinematics for the observation and its bytes.
    pub observation_ms: f64,
    /// By the wall: making the policy, sending observations and waiting for actions; most of it is the policy's work.
    pub policy_ms: f64,
    /// By the wall: from the command to the first action.
    pub first_action_ms: f64,
}

/// One of the two things that are written from a recorded episode after the fact, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RenderPart {
    /// [`files::LOG`]: everything but images. Takes a fraction of a second.
    Log,
    /// [`files::VIDEO`] and [`files::IMAGES`]: every frame is drawn in software.
    Video,
}

impl RenderPart {
    /// The word for people and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Video => "video",
        }
    }
}

/// The files to render from a recorded episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RenderJob {
    /// Which of the two.
    pub part: RenderPart,
    /// The episode, with its violations for the captions.
    pub result: EpisodeResult,
    /// Draws the same world again.
    pub world_seed: u64,
    /// Frames per second of simulated time.
    pub fps: u32,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Most bytes that images may take, in the video and in [`files::IMAGES`] together; over it they are dropped.
    pub max_image_bytes: u64,
    /// Most frames; the video ends with the last of them.
    pub max_frames: u32,
}

/// The report of a renderer that has finished.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Rendered {
    /// Reason for missing images.
    pub images_dropped: Option<String>,
    /// Reason why the images do not show the policy's observations although it had some.
    #[serde(default)]
    pub cameras_dropped: Option<String>,
}

/// The result of checking a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScenarioCheck {
    /// The first thing that is wrong.
    pub fault: Option<ScenarioFault>,
    /// Measurements of a scenario without faults.
    pub figures: Option<Figures>,
}

/// Something wrong with a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScenarioFault {
    /// The file at fault, relative to the scenario's folder or its robot's.
    pub file: String,
    /// The key in it; `null` where it has none, or the whole file is meant.
    pub key: Option<String>,
    /// The fault, and how to correct it.
    pub problem: String,
}

/// Properties of a scenario's worlds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Time to read and compile it, by the wall.
    pub compile_ms: f64,
    /// Bodies, the world's own included.
    pub bodies: u32,
    /// Geoms.
    pub geoms: u32,
    /// Degrees of freedom.
    pub degrees_of_freedom: u32,
    /// Worlds that were drawn.
    pub worlds: u32,
    /// Simulated time of the smoke episode, whose actions are zeros: all of it, or what the time for it sufficed for.
    pub smoke_s: f64,
    /// Its simulated time by its CPU time: physics, signals, observations.
    pub real_time_factor: f64,
    /// Most contacts at a time in it.
    pub most_contacts: u32,
}

/// A contact sheet of a scenario to render: the initial states of several worlds, side by side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SheetJob {
    /// Seeds of the worlds, in rows from the upper left.
    pub worlds: Vec<u64>,
    /// Pictures in a row.
    pub columns: u32,
    /// Pixels of one picture.
    pub width: u32,
    /// Pixels of one picture.
    pub height: u32,
}

/// Which moments of a recorded episode to draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StillsJob {
    /// Draws the same world again.
    pub world_seed: u64,
    /// Simulated times in s.
    pub times_s: Vec<f64>,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
}
