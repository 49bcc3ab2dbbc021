//! Server-sent events of a job: its changes of state, episodes and progress.
//!
//! The records are the truth: every change of state and every end of an episode is an event there, written with the change
//! itself. A stream begins with what the records say and goes on with what [`EventHub`] passes on as it appears there; where
//! the two do not meet (a slow reader, a lost hint), it reads the records again. So nothing is told twice or left out,
//! whatever dies.
//!
//! Submissions have streams of their own ([`follow_submission`]), with events at the points of a grid.
//!
//! Where to begin: [`follow`], then `job_stream.rs`; `tail.rs` is the one task that reads new events for all streams.

mod follow;
mod hub;
mod job_stream;
mod progress;
mod stream_slots;
mod submission_stream;
mod tail;
mod update;

pub(crate) use follow::follow;
pub use hub::EventHub;
pub(crate) use submission_stream::follow_submission;
pub(crate) use update::JobUpdate;
