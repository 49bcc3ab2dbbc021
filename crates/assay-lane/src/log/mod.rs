//! `log.mcap`: an episode for viewers such as Foxglove and Rerun. Written from the trace, with data that a replay of
//! the same physics adds (poses, contacts). Protobuf throughout: Foxglove's published schemas if there is one, schemas
//! of assay (`messages`) for the rest. Each file contains all its schemas.
//!
//! Times are simulated, from 0. Each topic has a message per control step: states are those at the step's start; values
//! collected over its physics steps (contacts, signals, clauses) have the time of the last of them.
//!
//! It contains no images, so it does not depend on a renderer. Images are in `images.mcap`, which viewers open together
//! with it.
//!
//! Where to begin: `episode` (the contents and their order), `topics` (the file).

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
