//! The picture of the gravest violation.

use super::assets::Addresses;
use super::display::clean;
use super::gravest::Gravest;
use super::link::link;
use crate::words;
use assay_model::lane::files;

/// Picture of the gravest violation: a still, or the clip around it, or the video at that moment.
pub(super) struct StillView {
    pub(super) image: Option<String>,
    pub(super) clip: Option<String>,
    pub(super) video: Option<String>,
    pub(super) episode: u32,
    pub(super) caption: String,
    /// True if the picture may not exist yet: the page was written with the verdict.
    pub(super) is_pending: bool,
}

impl StillView {
    /// Returns the picture; `None` if the episode has neither a still nor a clip nor a video.
    pub(super) fn of(gravest: &Gravest<'_>, addresses: Addresses<'_>) -> Option<Self> {
        let episode = gravest.episode;
        let named = |wanted: &str| {
            let is_wanted = |name: &str| name.rsplit('/').next() == Some(wanted);
            let file = episode.evidence.iter().find(|file| is_wanted(&file.name)).map(|file| file.name.clone());
            // A page that is written with the verdict names the pictures that follow it.
            let future = episode.video_path.as_ref().filter(|video| !episode.has_evidence(video));
            let beside = future.map(|video| video.replace(files::VIDEO, wanted));
            link(file.or(beside).as_ref(), addresses)
        };
        let (image, clip) = (named(files::STILL), named(files::CLIP));
        let is_pending = episode.video_path.as_ref().is_some_and(|video| !episode.has_evidence(video));
        let time = gravest.worst_s();
        let video = link(episode.video_path.as_ref(), addresses);
        let video = video.map(|video| time.map_or_else(|| video.clone(), |time| moment(&video, time)));
        let when = time.map_or_else(String::new, |time| format!(" at {}", words::seconds(time)));
        (image.is_some() || clip.is_some() || video.is_some()).then(|| Self {
            image,
            clip,
            video,
            episode: episode.episode,
            caption: format!("Episode {}{when}, the worst moment: {}", episode.episode, clean(&gravest.event.name())),
            is_pending,
        })
    }
}

/// Returns the address of a moment of a video: a media fragment (W3C Media Fragments URI 1.0), with which a player
/// starts at this time without a script.
pub(super) fn moment(video: &str, time_s: f64) -> String {
    format!("{video}#t={time_s:.2}")
}
