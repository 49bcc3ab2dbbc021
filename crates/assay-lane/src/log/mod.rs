//! `log.mcap`: an episode for viewers such as Foxglove and Rerun. Written from the trace, with what the same physics
//! run again gives beyond it (poses, contacts). Protobuf throughout: Foxglove's published schemas where there is one,
//! our own (`messages`) for the rest; each file carries all its schemas.
//!
//! Times are simulated, from 0. Each topic has a message per control step: what is a state is that of the step's start;
//! what is gathered over its physics steps (contacts, signals, clauses) stands at the last of them.
//!
//! It has no images, so that it waits for no renderer. Those stand in `images.mcap`, which viewers open beside it.
//!
//! Where to begin: `episode` (what is written when), `topics` (the file).

mod episode;
mod gather;
mod images;
mod messages;
mod scene;
mod story;
mod topics;

pub(crate) use episode::EpisodeLog;
pub(crate) use images::ImageLog;
pub use topics::LogError;
