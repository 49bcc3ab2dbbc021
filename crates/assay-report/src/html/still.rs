//! The picture of the gravest violation.

use super::assets::Addresses;
use super::gravest::Gravest;
use super::link::link;
use crate::words;

/// Beginning of the names of single frames.
const STILL: &str = "still";
/// Types of single frames.
const PICTURES: [&str; 3] = [".png", ".webp", ".jpg"];

/// Picture of the gravest violation: a still, or the video at that moment.
pub(super) struct StillView {
    pub(super) image: Option<String>,
    pub(super) video: Option<String>,
    pub(super) episode: u32,
    pub(super) caption: String,
}

impl StillView {
    /// Returns the picture; `None` if the episode has neither a still nor a video.
    pub(super) fn of(gravest: &Gravest<'_>, addresses: Addresses<'_>) -> Option<Self> {
        let episode = gravest.episode;
        let is_still = |name: &str| {
            let file = name.rsplit('/').next().unwrap_or(name);
            file.starts_with(STILL) && PICTURES.iter().any(|kind| file.ends_with(kind))
        };
        let image = episode.evidence.iter().find(|file| is_still(&file.name));
        let image = image.and_then(|file| link(Some(&file.name), addresses));
        let time = gravest.worst_s();
        let video = link(episode.video_path.as_ref(), addresses);
        let video = video.map(|video| time.map_or_else(|| video.clone(), |time| moment(&video, time)));
        let when = time.map_or_else(String::new, |time| format!(" at {}", words::seconds(time)));
        (image.is_some() || video.is_some()).then(|| Self {
            image,
            video,
            episode: episode.episode,
            caption: format!("Episode {}{when}, the worst moment", episode.episode),
        })
    }
}

/// Returns the address of a moment of a video: a media fragment (W3C Media Fragments URI 1.0), with which a player
/// starts at this time without a script.
pub(super) fn moment(video: &str, time_s: f64) -> String {
    format!("{video}#t={time_s:.2}")
}
