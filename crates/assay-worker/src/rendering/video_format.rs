//! Size and frame rate of videos.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Maximum number of frames of a video: 200 s at 20 frames a second. A longer episode has a lower frame rate, so that
/// its end is shown too.
pub(super) const MAX_FRAMES: u32 = 4001;
/// Limits of the width, in pixels.
const WIDTHS: std::ops::RangeInclusive<u32> = 160..=3840;
/// Limits of the height, in pixels.
const HEIGHTS: std::ops::RangeInclusive<u32> = 90..=2160;
/// Limits of the frame rate, per simulated second.
const RATES: std::ops::RangeInclusive<u32> = 1..=60;

/// Size and frame rate of videos, written as `960x540@20`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VideoFormat {
    /// Width and height of a frame, in pixels; both are even, as the codec requires.
    size: (u32, u32),
    /// Frames per simulated second.
    fps: u32,
}

/// A text that is not a [`VideoFormat`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "write width, height and frames per second as 960x540@20: even numbers from 160x90 to 3840x2160, and 1 to 60 frames"
)]
pub struct InvalidVideoFormat;

impl VideoFormat {
    /// Returns width and height of a frame, in pixels.
    #[must_use]
    pub fn size(&self) -> (u32, u32) {
        self.size
    }

    /// Returns the frames per simulated second and the total number of frames for an episode of `sim_time_s` simulated
    /// seconds.
    #[must_use]
    pub fn frames(&self, sim_time_s: f64) -> (u32, u32) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is bounded")]
        let seconds = (sim_time_s.max(0.0).ceil() as u32).max(1);
        let fps = ((MAX_FRAMES - 1) / seconds).clamp(1, self.fps);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is bounded")]
        let count = (sim_time_s.max(0.0) * f64::from(fps)).ceil() as u32;
        (fps, count.saturating_add(1).min(MAX_FRAMES))
    }
}

/// 1280x720 at 20 frames a second: larger or more frames take more than two CPU seconds per second of video with a
/// software renderer.
impl Default for VideoFormat {
    fn default() -> Self {
        Self { size: (1280, 720), fps: 20 }
    }
}

impl FromStr for VideoFormat {
    type Err = InvalidVideoFormat;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| text.parse::<u32>().map_err(|_| InvalidVideoFormat);
        let (size, fps) = text.split_once('@').ok_or(InvalidVideoFormat)?;
        let (width, height) = size.split_once('x').ok_or(InvalidVideoFormat)?;
        let format = Self { size: (number(width)?, number(height)?), fps: number(fps)? };
        let (width, height) = format.size;
        let fits = WIDTHS.contains(&width) && HEIGHTS.contains(&height) && RATES.contains(&format.fps);
        if fits && width % 2 == 0 && height % 2 == 0 { Ok(format) } else { Err(InvalidVideoFormat) }
    }
}

impl TryFrom<String> for VideoFormat {
    type Error = InvalidVideoFormat;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<VideoFormat> for String {
    fn from(format: VideoFormat) -> Self {
        format.to_string()
    }
}

impl fmt::Display for VideoFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}@{}", self.size.0, self.size.1, self.fps)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::{MAX_FRAMES, VideoFormat};

    #[test]
    fn frames_are_bounded_and_reach_the_end() {
        let format = VideoFormat::default();
        assert_eq!(format.frames(10.0), (20, 201));
        assert_eq!(format.frames(200.0), (20, MAX_FRAMES));
        assert_eq!(format.frames(0.0), (20, 1));
        for seconds in [201.0, 500.0, 3999.0] {
            let (fps, count) = format.frames(seconds);
            assert!(count <= MAX_FRAMES && f64::from(count - 1) / f64::from(fps) >= seconds, "{seconds}");
        }
        assert_eq!(format.frames(1e9), (1, MAX_FRAMES), "only the beginning, but no scenario is that long");
    }

    #[test]
    fn formats_are_read_and_bounded() {
        let format: VideoFormat = "1280x720@25".parse().unwrap();
        assert_eq!((format.size(), format.to_string().as_str()), ((1280, 720), "1280x720@25"));
        for text in ["160x90@1", "3840x2160@60"] {
            assert!(text.parse::<VideoFormat>().is_ok(), "{text}");
        }
        for text in ["", "960x540", "961x540@20", "960x541@20", "158x90@20", "3842x2160@20", "960x540@0", "960x540@61"]
        {
            assert!(text.parse::<VideoFormat>().is_err(), "{text}");
        }
    }
}
