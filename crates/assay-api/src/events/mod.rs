//! Following a job: server-sent events of what happens to it.
//!
//! The records are the truth: every change of state and every end of an episode is an event there, written with the change
//! itself. A stream begins with what the records say and goes on with what [`EventHub`] passes on as it appears there; where
//! the two do not meet (a slow reader, a lost hint), it reads the records again. So nothing is told twice or left out,
//! whatever dies.
//!
//! Submissions have streams of their own ([`follow_submission`]), with events at the points of a grid.
//!
//! Where to begin: [`follow`], then `following.rs`; `tail.rs` is the one task that reads for everybody.

mod follow;
mod following;
mod grid;
mod hub;
mod places;
mod progress;
mod tail;
mod update;

pub(crate) use follow::follow;
pub(crate) use grid::follow_submission;
pub use hub::EventHub;
pub(crate) use update::JobUpdate;
