//! Encodes H.264 in MP4 with OpenH264 (BSD) and muxide, in process. The same frames result in the same bytes.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use muxide::api::{Muxer, MuxerBuilder, MuxerError, VideoCodec};
use openh264::OpenH264API;
use openh264::encoder::{
    Complexity, Encoder, EncoderConfig, FrameRate, FrameType, IntraFramePeriod, QpRange, RateControlMode,
};
use openh264::formats::{RgbSliceU8, YUVBuffer};

/// Quantiser range: visually clean at about 1 MB for 10 s of 1280x720 with a still camera, 2 MB with a moving one.
const QUANTISER: QpRange = QpRange::new(24, 28);
/// Number of frames between two that a player can seek to.
const KEYFRAME_INTERVAL: u32 = 25;

/// The reason why a video cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum VideoError {
    /// A file system error.
    #[error("could not write the video file")]
    Io(#[from] std::io::Error),
    /// An error of the encoder.
    #[error("the H.264 encoder failed")]
    Encode(#[from] openh264::Error),
    /// An error of the container.
    #[error("could not write the MP4 container")]
    Mux(#[from] MuxerError),
}

/// A video being written.
pub struct VideoWriter {
    encoder: Encoder,
    muxer: Muxer<BufWriter<File>>,
    size: (usize, usize),
    fps: u32,
    frames: u32,
    size_bytes: u64,
}

impl std::fmt::Debug for VideoWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VideoWriter").field("size", &self.size).field("frames", &self.frames).finish_non_exhaustive()
    }
}

impl VideoWriter {
    /// Creates a video of even `width` x `height` pixels at `fps` frames per second.
    ///
    /// # Errors
    /// [`VideoError`] if the file or the encoder cannot be created.
    pub fn create(path: &Path, width: u32, height: u32, fps: u32) -> Result<Self, VideoError> {
        #[expect(clippy::cast_precision_loss, reason = "a frame rate is small")]
        let rate = FrameRate::from_hz(fps as f32);
        let config = EncoderConfig::new()
            .rate_control_mode(RateControlMode::Off)
            .qp(QUANTISER)
            .complexity(Complexity::Low)
            .intra_frame_period(IntraFramePeriod::from_num_frames(KEYFRAME_INTERVAL))
            .skip_frames(false)
            .num_threads(1)
            .max_frame_rate(rate);
        let encoder = Encoder::with_api_config(OpenH264API::from_source(), config)?;
        let writer = BufWriter::new(File::create(path)?);
        let muxer = MuxerBuilder::new(writer)
            .video(VideoCodec::H264, width, height, f64::from(fps))
            .with_fast_start(true)
            .build()?;
        Ok(Self { encoder, muxer, size: (width as usize, height as usize), fps, frames: 0, size_bytes: 0 })
    }

    /// Adds a frame: RGB, rows from the top. Returns the encoded frame (H.264, Annex B).
    ///
    /// # Errors
    /// [`VideoError`] if it cannot be encoded or written.
    pub fn add(&mut self, rgb: &[u8]) -> Result<Vec<u8>, VideoError> {
        let image = YUVBuffer::from_rgb8_source(RgbSliceU8::new(rgb, self.size));
        let stream = self.encoder.encode(&image)?;
        let key = matches!(stream.frame_type(), FrameType::IDR | FrameType::I);
        let time_s = f64::from(self.frames) / f64::from(self.fps);
        let packet = stream.to_vec();
        self.muxer.write_video(time_s, &packet, key)?;
        self.frames += 1;
        self.size_bytes += packet.len() as u64;
        Ok(packet)
    }

    /// Returns the size of the frames so far in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Writes the index and closes the file.
    ///
    /// # Errors
    /// [`VideoError`] if it cannot be written.
    pub fn finish(self) -> Result<(), VideoError> {
        Ok(self.muxer.finish()?)
    }
}
