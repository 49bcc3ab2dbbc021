//! Logs and videos of recorded episodes: the parts of an episode ([`drawing`]), the renderer's process ([`video`]) and
//! the size of videos ([`video_format`]).

pub(crate) mod drawing;
pub(crate) mod video;
pub(crate) mod video_format;
