//! Server-sent events of a job: its changes of state, episodes and progress.
//!
//! The records are the source of truth: every change of state and every finished episode is an event there, written
//! together with the change itself. A stream begins with the state in the records and continues with the events that
//! [`EventHub`] passes on as they appear there; where there is a gap (a slow reader, a lost hint), it reads the records
//! again. So every event is sent exactly once, whichever process fails.
//!
//! Submissions have separate streams ([`follow_submission`]), with events at the points of a grid.
//!
//! Where to begin: [`follow`], then `job_stream.rs`; `tail.rs` is the one task that reads new events for all streams.

mod channels;
mod follow;
mod hub;
mod job_stream;
mod job_watch;
mod progress;
mod stream_slots;
mod submission_stream;
mod tail;
mod update;

pub(crate) use follow::follow;
pub use hub::EventHub;
pub(crate) use job_watch::JobWatch;
pub(crate) use submission_stream::follow_submission;
pub(crate) use update::JobUpdate;
