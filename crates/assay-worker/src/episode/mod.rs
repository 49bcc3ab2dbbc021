//! One episode of a job on one lane: its policy is started, the lane runs it, its evidence and result are collected.
//!
//! [`session`] drives a lane through a job's episodes, [`attempt`] runs one of them, and [`finalizer`] completes it
//! while the next one runs. A session reaches its machine through [`host`] and [`lane`]; [`lane_process`] is the
//! simulator's process.

pub(crate) mod adapter_mapping;
pub(crate) mod attempt;
pub(crate) mod evidence;
pub(crate) mod finalizer;
pub(crate) mod host;
pub(crate) mod job;
pub(crate) mod lane;
pub(crate) mod lane_process;
pub(crate) mod lane_session;
pub(crate) mod policy;
pub(crate) mod rejection;
pub(crate) mod results;
pub(crate) mod session;
pub(crate) mod session_error;
pub(crate) mod session_events;
pub(crate) mod standalone;
#[cfg(test)]
pub(crate) mod tests;
