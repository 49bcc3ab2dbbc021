//! The messages about renderings that workers on other hosts take: part of the worker protocol. A worker renders what a
//! verdict does not depend on, and the server signs it under the worker's name.

use serde::{Deserialize, Serialize};

use crate::lane::RenderPart;
use crate::{Artifact, EpisodeResult, JobId, ScenarioId, Sha256Digest};

/// Maximum length of the first line of [`RenderedFileList`], in bytes.
pub const MAX_RENDERED_HEAD_BYTES: usize = 64 << 10;

/// `POST /renders/claim`: asks for a part of an episode to render, and waits for one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RenderClaimRequest {
    /// Maximum time to wait, in seconds; at most [`crate::MAX_CLAIM_WAIT_S`].
    pub wait_s: u32,
}

/// The answer to [`RenderClaimRequest`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RenderClaimAnswer {
    /// The part, if there was one.
    pub render: Option<LeasedRender>,
    /// Time that the server waited before it claimed, in milliseconds: the lease began that long after the request.
    pub waited_ms: u64,
    /// True if the worker is to finish what it runs, and to end.
    pub drain: bool,
}

/// A part with the right to read its recording and to write its files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LeasedRender {
    /// The right: opaque, bound to the worker, its registration and this claim.
    pub lease: String,
    /// The part.
    pub render: AssignedRender,
}

/// A part of an episode to render.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AssignedRender {
    /// The job.
    pub job_id: JobId,
    /// Log or video.
    pub part: RenderPart,
    /// The scenario.
    pub scenario: ScenarioId,
    /// SHA-256 over the files of the scenario and its robots.
    pub scenario_digest: Sha256Digest,
    /// The seed of the episode's world.
    pub world_seed: u64,
    /// The episode, with its recording among its evidence.
    pub result: EpisodeResult,
    /// Size and frame rate of videos: `960x540@20`.
    pub video_format: String,
    /// Maximum size of the images, in bytes; beyond it they are left out.
    pub max_image_bytes: u64,
}

/// The first line of the body of `POST /renders/{lease}/files`; the files follow, in its order, without anything
/// between.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RenderedFileList {
    /// The files, by their names without folders.
    pub files: Vec<Artifact>,
    /// The missing files, with reasons.
    pub notes: Vec<String>,
}

/// `POST /renders/{lease}/return`: the worker gives a part back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RenderReturn {
    /// The reason if the part could not be rendered, for the operator; `None` if the worker stops.
    pub failure: Option<String>,
}
