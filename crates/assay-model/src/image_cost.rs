//! The cost of a scenario's camera images.

use serde::{Deserialize, Serialize};

/// Cost of the images of a scenario's observation, for people who choose sizes and rates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ImageCost {
    /// Version of the render profile that the images are drawn with.
    pub render_profile: u32,
    /// Pixels drawn per simulated second, all cameras together; a depth image counts like an image.
    pub pixels_per_s: f64,
    /// Estimate of the CPU time for drawing, in seconds per simulated second, without a graphics processor.
    pub cpu_s_per_s: f64,
    /// Bytes of images sent to the policy per simulated second; an image is repeated at each control step.
    pub sent_bytes_per_s: f64,
    /// Bytes of the images drawn in an episode that lasts until its time limit, uncompressed.
    pub episode_bytes: u64,
}

impl ImageCost {
    /// Returns the cost in words, for a terminal.
    #[must_use]
    pub fn summary(&self) -> String {
        let megabytes = |bytes: f64| bytes / 1e6;
        #[expect(clippy::cast_precision_loss, reason = "shown in megabytes")]
        let episode = megabytes(self.episode_bytes as f64);
        format!(
            "{:.1} million pixels, about {:.2} s of CPU time and {:.0} MB sent, each per simulated second; up to \
             {episode:.0} MB of images in an episode, uncompressed; render profile {}",
            self.pixels_per_s / 1e6,
            self.cpu_s_per_s,
            megabytes(self.sent_bytes_per_s),
            self.render_profile,
        )
    }
}
