//! Logs and videos of recorded episodes: the parts of an episode ([`drawing`]) and the renderer's process ([`video`]).

pub(crate) mod drawing;
pub(crate) mod video;
