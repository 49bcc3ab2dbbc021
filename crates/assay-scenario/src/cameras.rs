//! The cameras whose images a policy observes: their sizes and rates, and what drawing them costs.

use assay_model::ImageCost;

use crate::whole::whole;
use crate::{DEFAULT_IMAGE_HZ, DEPTH_PREFIX, IMAGE_PREFIX, ObservationKind, Scenario};

/// Estimated CPU time of drawing a picture, besides its pixels, in s. The estimate is a line through measurements with
/// Mesa's software renderer on one core: 4 ms for 224 x 224, 10 ms for 640 x 480 (`docs/design/2026-11-25-cameras.md`).
const CPU_S_PER_PICTURE: f64 = 3.0e-3;
/// Estimated CPU time of drawing a pixel, in s.
const CPU_S_PER_PIXEL: f64 = 23e-9;
/// Bytes of a pixel of an image.
const COLOUR_BYTES: u32 = 3;
/// Bytes of a pixel of a depth image.
const DEPTH_BYTES: u32 = 4;

/// A camera whose images a policy observes.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedCamera {
    /// Name of the observation without its prefix.
    pub name: String,
    /// Name of the camera in the world.
    pub camera: String,
    /// Width of its images in pixels.
    pub width: u32,
    /// Height of its images in pixels.
    pub height: u32,
    /// Images per simulated second.
    pub rate_hz: f64,
    /// Number of control steps from one image to the next, where it determines when images are drawn. `None` for rates
    /// of at most [`DEFAULT_IMAGE_HZ`]: their images are drawn at the first control step at which they are due, which
    /// is how every release has drawn them.
    pub every_steps: Option<u32>,
    /// True if a depth image accompanies each image.
    pub depth: bool,
}

impl ObservedCamera {
    /// Returns the key of its images in the observation.
    #[must_use]
    pub fn image_key(&self) -> String {
        format!("{IMAGE_PREFIX}{}", self.name)
    }

    /// Returns the key of its depth images in the observation.
    #[must_use]
    pub fn depth_key(&self) -> String {
        format!("{DEPTH_PREFIX}{}", self.name)
    }

    /// Returns the number of pixels of one image.
    #[must_use]
    pub fn pixels(&self) -> u32 {
        self.width.saturating_mul(self.height)
    }

    /// Returns the bytes of one image, with its depth image.
    #[must_use]
    pub fn bytes(&self) -> u32 {
        self.pixels().saturating_mul(COLOUR_BYTES + if self.depth { DEPTH_BYTES } else { 0 })
    }

    /// Returns the number of pictures of one image: itself, and its depth image.
    fn pictures(&self) -> f64 {
        if self.depth { 2.0 } else { 1.0 }
    }
}

/// Returns the camera that an observation `name` of this kind declares, if it is an image.
pub(crate) fn declared(name: &str, kind: &ObservationKind, control_hz: f64) -> Option<ObservedCamera> {
    let ObservationKind::Image { camera, width, height, rate_hz, depth } = kind else { return None };
    let rate_hz = rate_hz.unwrap_or(DEFAULT_IMAGE_HZ);
    let every_steps = if rate_hz > DEFAULT_IMAGE_HZ { whole(control_hz / rate_hz) } else { None };
    Some(ObservedCamera {
        name: name.strip_prefix(IMAGE_PREFIX).unwrap_or(name).to_owned(),
        camera: camera.clone(),
        width: *width,
        height: *height,
        // An image is drawn for an observation, so there are no more images than control steps.
        rate_hz: rate_hz.min(control_hz),
        every_steps,
        depth: *depth,
    })
}

/// Returns the pixels that cameras draw per simulated second.
pub(crate) fn pixels_per_s<'a>(cameras: impl IntoIterator<Item = &'a ObservedCamera>) -> f64 {
    cameras.into_iter().map(|camera| camera.pictures() * f64::from(camera.pixels()) * camera.rate_hz).sum()
}

/// Returns the bytes of images that are sent to a policy per simulated second.
pub(crate) fn sent_bytes_per_s<'a>(cameras: impl IntoIterator<Item = &'a ObservedCamera>, control_hz: f64) -> f64 {
    cameras.into_iter().map(|camera| f64::from(camera.bytes())).sum::<f64>() * control_hz
}

impl Scenario {
    /// Returns the cameras of the observation, in wire order.
    #[must_use]
    pub fn cameras(&self) -> Vec<ObservedCamera> {
        let camera = |o: &crate::Observation| declared(&o.name, &o.kind, self.world.control_hz);
        self.observations.iter().filter_map(camera).collect()
    }

    /// Returns the cost of the observation's images; `None` without images.
    #[must_use]
    pub fn image_cost(&self) -> Option<ImageCost> {
        let cameras = self.cameras();
        if cameras.is_empty() {
            return None;
        }
        let cpu = |c: &ObservedCamera| {
            c.pictures() * c.rate_hz * (CPU_S_PER_PICTURE + CPU_S_PER_PIXEL * f64::from(c.pixels()))
        };
        let time_limit_s = f64::from(self.time_limit_s);
        let bytes = |c: &ObservedCamera| (c.rate_hz * time_limit_s).ceil() * f64::from(c.bytes());
        let episode_bytes: f64 = cameras.iter().map(bytes).sum();
        Some(ImageCost {
            render_profile: self.render_profile,
            pixels_per_s: pixels_per_s(&cameras),
            cpu_s_per_s: cameras.iter().map(cpu).sum(),
            sent_bytes_per_s: sent_bytes_per_s(&cameras, self.world.control_hz),
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; saturates")]
            episode_bytes: episode_bytes as u64,
        })
    }
}
