//! Messages between the worker and a lane over the control socket: a u32 little-endian length, then JSON. A policy's
//! socket accompanies a [`LaneCommand::Run`] as an `SCM_RIGHTS` descriptor.

pub mod files;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::frame::ArraySpec;
use crate::{Comparison, EpisodeResult, EpisodeSeeds, Level, Sha256Digest, Violation};

/// Maximum length of a message in either direction, in bytes.
pub const MAX_MESSAGE_BYTES: u32 = 4 * 1024 * 1024;
/// Maximum time that a policy may sleep (no thread ready to run) before an answer.
pub const SLEEP_LIMIT: Duration = Duration::from_secs(20);
/// Time without an answer after which the lane sends [`Reply::Waiting`] and the worker inspects the policy's threads.
pub const WAIT_TICK: Duration = Duration::from_millis(20);
/// Maximum interval at which a waiting lane repeats [`Reply::Waiting`].
pub const WAIT_REPEAT: Duration = Duration::from_secs(1);
/// Exit status of a lane that found no space on the disk (`EX_TEMPFAIL` of sysexits.h).
pub const DISK_FULL_STATUS: u8 = 75;

/// Message from the worker to a lane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "command")]
pub enum LaneCommand {
    /// Runs one episode with the policy behind the descriptor that accompanies this message.
    Run(RunEpisode),
    /// The violation that the lane sent last is recorded; the lane may continue.
    Noted,
    /// The trial run has taken long enough: the lane ends it after the current step.
    Conclude,
}

/// Parameters of an episode to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEpisode {
    /// Index of the episode in the job.
    pub episode: u32,
    /// Seeds of the episode.
    pub seeds: EpisodeSeeds,
    /// Nonce of the policy's connection.
    pub nonce: u64,
    /// Process id of the policy, whose CPU clock is its budget; `null` for a policy server, measured by wall-clock
    /// time.
    pub policy_pid: Option<i32>,
    /// Reading of that clock, in nanoseconds, at which the import's budget is used up: CPU time that the policy's
    /// process uses between the end of its import and this episode counts towards its import. `null` without a limit.
    #[serde(default)]
    pub import_ends_at_ns: Option<u64>,
    /// Folder in the lane's scratch space for the evidence; `null` writes none.
    pub evidence: Option<String>,
    /// Writes the trace's numbers uncompressed, for a consumer that compresses them better than Parquet.
    #[serde(default)]
    pub plain: bool,
    /// Number of actions that are executed before the policy computes again, as it declares: its budget holds for the
    /// mean over so many steps. `null` for 1.
    #[serde(default)]
    pub replan_steps: Option<u32>,
    /// Also records observations and actions, into at most this many bytes; `null` does not record them.
    #[serde(default)]
    pub observations: Option<u64>,
    /// Runs only the first steps and reports observations and actions; `null` runs the whole episode.
    #[serde(default)]
    pub probe: Option<Probe>,
}

/// Limits of a trial run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Maximum number of control steps.
    pub max_steps: u32,
    /// Sends black images and depths of zero: a policy that uses its images then acts differently.
    #[serde(default)]
    pub black_images: bool,
}

/// Recording of a policy's first steps.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Probed {
    /// Arrays of the observation sent to the policy.
    pub observation: Vec<ArraySpec>,
    /// Actions of the policy, as received.
    pub actions: Vec<Vec<f64>>,
    /// Wall-clock time from each observation to its action, in milliseconds.
    pub latency_ms: Vec<f64>,
    /// CPU time from each observation to its action, in milliseconds; empty for a policy server.
    pub cpu_ms: Vec<f64>,
}

/// Message from a lane to the worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "reply")]
pub enum Reply {
    /// First message, sent before any untrusted data is read.
    Sealed {
        /// True if the process has applied a Landlock ruleset to itself and verified that it works; false if it was
        /// given none.
        landlock: bool,
    },
    /// The scenario is compiled.
    Ready {
        /// Version of MuJoCo, as reported by the library.
        mujoco: String,
        /// The scenario, as the lane read it.
        scenario: LaneScenario,
    },
    /// The scenario cannot be used; no episode will run.
    Refused {
        /// The error, for the scenario's author.
        message: String,
    },
    /// An episode is running (at most ten messages per second).
    Progress {
        /// Index of the episode.
        episode: u32,
        /// Number of control steps so far.
        step: u32,
        /// Number of control steps of a whole episode.
        of: u32,
    },
    /// The policy has not answered for [`WAIT_TICK`]; repeated every [`WAIT_REPEAT`] until it does.
    Waiting,
    /// The policy has answered, after a [`Reply::Waiting`].
    Answered,
    /// A critical clause was violated for the first time in the episode. The lane continues on receiving
    /// [`LaneCommand::Noted`], so the violation is recorded before the policy is asked for another action.
    Violated(Violation),
    /// An episode ended.
    Done(Box<Done>),
}

/// The part of a scenario that decides a verdict. Worker and lane each read it from files, which must be the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LaneScenario {
    /// SHA-256 over the scenario's and its robots' files.
    pub digest: Sha256Digest,
    /// The safety clauses, in order.
    pub clauses: Vec<LaneClause>,
}

/// A safety clause of a [`LaneScenario`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LaneClause {
    /// Id of the clause.
    pub id: String,
    /// Level of the clause.
    pub level: Level,
    /// The formula, with the limit in place.
    pub formula: String,
    /// The limit.
    pub limit: f64,
    /// Size of a violation of severity 1.
    pub scale: f64,
    /// Unit of the limit.
    pub unit: String,
    /// Source of the limit.
    pub standard: String,
}

impl LaneScenario {
    /// Returns the first part in which `other` differs.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<String> {
        if self.clauses.len() != other.clauses.len() {
            return Some(format!("it has {} clauses, not {}", other.clauses.len(), self.clauses.len()));
        }
        let pairs = || self.clauses.iter().zip(&other.clauses);
        if let Some((own, clause)) = pairs().find(|(own, clause)| own != clause) {
            let (id, limit, expected) = (&own.id, clause.limit, own.limit);
            return Some(match limit.to_bits() == expected.to_bits() {
                true => format!("clause {id} differs"),
                false => format!("the limit of clause {id} is {limit}, not {expected}"),
            });
        }
        let same = self.digest == other.digest;
        (!same).then(|| format!("its files have the digest {}, not {}", other.digest, self.digest))
    }
}

/// End of an episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// The result, without the policy's log.
    pub result: EpisodeResult,
    /// Cost of the episode.
    pub cost: Cost,
    /// Recording of the first steps; only in a trial run.
    #[serde(default)]
    pub probed: Option<Probed>,
    /// True if the requested recording of observations is complete, false if it was removed for its size.
    #[serde(default)]
    pub observations: Option<bool>,
}

/// Cost of an episode, in milliseconds. For operators and benchmarks; results do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Cost {
    /// CPU time of the lane from the command to the result, excluding evidence.
    pub lane_cpu_ms: f64,
    /// CPU time of the policy's process over the same time, as far as it can be measured.
    pub policy_cpu_ms: f64,
    /// CPU time of the lane spent on evidence.
    pub evidence_cpu_ms: f64,
    /// Wall-clock time spent creating the world.
    pub world_ms: f64,
    /// Wall-clock time spent in the controller and MuJoCo's steps.
    pub physics_ms: f64,
    /// Wall-clock time spent on the signals of each physics step.
    pub signals_ms: f64,
    /// Wall-clock time spent on recording, terminal clauses, stages, success, and every clause at the end.
    pub clauses_ms: f64,
    /// Wall-clock time spent on the trace hash.
    pub hash_ms: f64,
    /// Wall-clock time spent on the kinematics for the observation and on encoding it.
    pub observation_ms: f64,
    /// Wall-clock time spent creating the policy, sending observations and waiting for actions; mostly the policy's own
    /// work.
    pub policy_ms: f64,
    /// Wall-clock time from the command to the first action.
    pub first_action_ms: f64,
}

/// Part of a rendering, in the order of execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RenderPart {
    /// [`files::LOG`]: everything except images. Takes a fraction of a second.
    Log,
    /// [`files::PICTURED`]: every frame is rendered in software.
    Video,
}

impl RenderPart {
    /// Returns the name used in messages and in text for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Video => "video",
        }
    }

    /// Returns the names of its files, in their order; [`files::OPTIONAL`] ones may be missing.
    #[must_use]
    pub fn files(self) -> &'static [&'static str] {
        match self {
            Self::Log => &[files::LOG],
            Self::Video => &files::PICTURED,
        }
    }

    /// Returns true if files with these names are a whole part, in its order.
    #[must_use]
    pub fn is_made_of(self, names: &[&str]) -> bool {
        let is_expected = |name: &&&str| names.contains(*name) || !files::OPTIONAL.contains(*name);
        self.files().iter().filter(is_expected).eq(names)
    }
}

/// Request to render files from a recorded episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RenderJob {
    /// Part to render.
    pub part: RenderPart,
    /// The episode, whose violations are shown in the captions.
    pub result: EpisodeResult,
    /// Seed that draws the same world again.
    pub world_seed: u64,
    /// Frames per second of simulated time.
    pub fps: u32,
    /// Width of the video, in pixels.
    pub width: u32,
    /// Height of the video, in pixels.
    pub height: u32,
    /// Maximum size of all images, in all files together, in bytes; beyond it, images are
    /// dropped.
    pub max_image_bytes: u64,
    /// Maximum number of frames; the video ends with the last of them.
    pub max_frames: u32,
}

/// Report of a renderer that has finished.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Rendered {
    /// Reason for missing images; `None` if there are none missing.
    pub images_dropped: Option<String>,
    /// Reason why the images do not show the policy's observed images; `None` if they do, or if it observed none.
    #[serde(default)]
    pub cameras_dropped: Option<String>,
}

/// Request to audit an episode that ran on another host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditJob {
    /// The result, as that host reported it.
    pub claimed: EpisodeResult,
    /// The episode's seeds.
    pub seeds: EpisodeSeeds,
    /// True if that host computes the same bits as this one.
    pub is_same_machine: bool,
    /// Also runs the physics again under the recorded actions. Needs `is_same_machine`.
    pub restep: bool,
}

/// Result of an audit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// The reason why the trace is not that of the claimed episode; the other fields are then `None`.
    pub problem: Option<String>,
    /// The result as it follows from the trace; its violations name no bodies.
    pub result: Option<EpisodeResult>,
    /// The comparison of the trace with the physics under the same actions, if requested.
    pub comparison: Option<Comparison>,
    /// True if the trace, or the physics that ran again, show why the episode ended.
    pub shows_end: bool,
    /// Name and SHA-256 of each file of evidence that follows from the trace and, on the same machine, from the world.
    pub files: Vec<(String, Sha256Digest)>,
}

/// Result of checking a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScenarioCheck {
    /// First fault found.
    pub fault: Option<ScenarioFault>,
    /// Measurements of a scenario without faults.
    pub figures: Option<Figures>,
}

/// Fault of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ScenarioFault {
    /// File with the fault, relative to the folder of the scenario or its robot.
    pub file: String,
    /// Key with the fault; `null` if there is none, or if the whole file is at fault.
    pub key: Option<String>,
    /// Description of the fault, and how to correct it.
    pub problem: String,
}

/// Properties of a scenario's worlds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Wall-clock time to read and compile the scenario, in milliseconds.
    pub compile_ms: f64,
    /// Number of bodies, including the world body.
    pub bodies: u32,
    /// Number of geoms.
    pub geoms: u32,
    /// Number of degrees of freedom.
    pub degrees_of_freedom: u32,
    /// Number of worlds drawn.
    pub worlds: u32,
    /// Simulated time of the smoke episode, whose actions are zeros, in seconds: the whole episode, or the part
    /// completed within the time allowed.
    pub smoke_s: f64,
    /// Simulated time / CPU time of the smoke episode, including physics, signals and observations.
    pub real_time_factor: f64,
    /// Maximum number of simultaneous contacts in the smoke episode.
    pub most_contacts: u32,
    /// CPU time of the smoke episode's observations, images included, in seconds per simulated second.
    #[serde(default)]
    pub observation_cpu_s_per_s: f64,
}

/// Request to render a contact sheet of a scenario: the initial states of several worlds, side by side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SheetJob {
    /// Seeds of the worlds, in rows from the upper left.
    pub worlds: Vec<u64>,
    /// Number of pictures per row.
    pub columns: u32,
    /// Width of one picture, in pixels.
    pub width: u32,
    /// Height of one picture, in pixels.
    pub height: u32,
}

/// Request to render single frames of a recorded episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StillsJob {
    /// Seed that draws the same world again.
    pub world_seed: u64,
    /// Simulated times of the frames, in seconds.
    pub times_s: Vec<f64>,
    /// Width of a frame, in pixels.
    pub width: u32,
    /// Height of a frame, in pixels.
    pub height: u32,
}

#[cfg(test)]
mod tests {
    use super::RenderPart;

    #[test]
    fn a_part_is_whole_without_its_optional_files_only() {
        let [clip, images, still, video] = RenderPart::Video.files() else { panic!("four files") };
        for whole in
            [&[*images, *video][..], &[clip, images, video], &[images, still, video], RenderPart::Video.files()]
        {
            assert!(RenderPart::Video.is_made_of(whole), "{whole:?}");
        }
        for other in [&[][..], &[*video], &[video, images], &[images, video, video], &[clip, still], &["log.mcap"]] {
            assert!(!RenderPart::Video.is_made_of(other), "{other:?}");
        }
        assert!(RenderPart::Log.is_made_of(&["log.mcap"]) && !RenderPart::Log.is_made_of(&[]));
    }
}
