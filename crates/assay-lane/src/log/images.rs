//! `images.mcap`: the frames of the video and the images from the policy's cameras, with the times of the log.

use std::path::Path;

use assay_scenario::{ObservedCamera, Scenario};
use foxglove::messages::{CompressedImage, CompressedVideo};

use super::topics::{LogError, Topic, Topics, timestamp};
use crate::Trace;
use crate::facts;
use crate::observed_images::ObservedImages;

/// The images of a replayed episode.
pub(crate) struct ImageLog<'a> {
    topics: Topics,
    /// Created with the first frame.
    video: Option<Topic<CompressedVideo>>,
    /// The policy's images, and how many of them are written.
    seen: &'a ObservedImages,
    shown: usize,
    images: Vec<Topic<CompressedImage>>,
    camera: String,
}

impl<'a> ImageLog<'a> {
    /// Creates the file at `path`.
    pub(crate) fn create(
        path: &Path,
        scenario: &Scenario,
        trace: &Trace,
        seen: &'a ObservedImages,
    ) -> Result<Self, LogError> {
        let mut topics = Topics::create(path)?;
        topics.metadata("assay", &facts::known(&trace.facts, scenario))?;
        let image = |camera: &ObservedCamera| topics.topic(&format!("/images/{}", camera.name), &[]);
        let images = seen.cameras.iter().map(image).collect::<Result<_, _>>()?;
        let camera = scenario.camera.as_ref().map_or_else(|| "free".to_owned(), |camera| camera.name.clone());
        Ok(Self { topics, video: None, seen, shown: 0, images, camera })
    }

    /// Writes the images that the policy had observed by `time_s`.
    pub(crate) fn show(&mut self, time_s: f64) -> Result<(), LogError> {
        while let Some(image) = self.seen.images.get(self.shown).filter(|image| image.time_s <= time_s) {
            let message = CompressedImage {
                timestamp: Some(timestamp(image.time_s)),
                frame_id: self.seen.cameras[image.camera].camera.clone(),
                data: image.png.clone().into(),
                format: "png".to_owned(),
            };
            self.topics.write(&mut self.images[image.camera], image.time_s, &message)?;
            self.shown += 1;
        }
        Ok(())
    }

    /// Adds a frame of the video, H.264 in Annex B form.
    pub(crate) fn frame(&mut self, time_s: f64, packet: &[u8]) -> Result<(), LogError> {
        let topic = match &mut self.video {
            Some(topic) => topic,
            None => self.video.insert(self.topics.topic("/camera", &[])?),
        };
        let message = CompressedVideo {
            timestamp: Some(timestamp(time_s)),
            frame_id: self.camera.clone(),
            data: packet.to_vec().into(),
            format: "h264".to_owned(),
        };
        self.topics.write(topic, time_s, &message)
    }

    pub(crate) fn finish(self) -> Result<(), LogError> {
        self.topics.finish()
    }
}
