//! A laser scanner in one plane.

use schemars::JsonSchema;
use serde::Deserialize;

/// Maximum number of rays of one scanner.
pub(super) const MAX_RAYS: u32 = 2048;

/// Rays in the x-y plane of a site, numbered counter-clockwise from its x axis.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lidar {
    /// Name, used by observations.
    pub name: String,
    /// Site of the scanner.
    pub site: String,
    /// Number of rays per scan.
    pub rays: u32,
    /// Direction of the first ray, rad.
    pub start_rad: f64,
    /// Angle between adjacent rays, rad.
    pub step_rad: f64,
    /// Minimum range, m; shorter distances are reported as this value.
    pub min_m: f64,
    /// Maximum range, m; longer distances and misses are reported as this value.
    pub max_m: f64,
}

impl Lidar {
    pub(super) fn validate(&self, i: usize) -> Result<(), (String, String)> {
        if !(1..=MAX_RAYS).contains(&self.rays) {
            return Err((format!("lidar[{i}].rays"), format!("must be 1 to {MAX_RAYS}")));
        }
        if !(self.start_rad.is_finite() && self.step_rad.is_finite()) {
            let problem = "must be a number of rad, and so must step_rad".to_owned();
            return Err((format!("lidar[{i}].start_rad"), problem));
        }
        if !(self.min_m >= 0.0 && self.min_m < self.max_m && self.max_m.is_finite()) {
            return Err((format!("lidar[{i}].max_m"), "must be a number of m above min_m".to_owned()));
        }
        Ok(())
    }
}
