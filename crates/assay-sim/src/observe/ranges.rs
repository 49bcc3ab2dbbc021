//! A laser scanner, simulated with MuJoCo's ray caster when an observation is made.

use assay_scenario::Lidar;
use mujoco_rs::prelude::*;

use crate::error::WorldError;
use crate::handle;

/// Geom groups visible to the scanner: 0 to 2, as in the video.
const VISIBLE: [u8; 6] = [1, 1, 1, 0, 0, 0];

/// A scanner of a robot.
pub(crate) struct Scanner {
    site: usize,
    /// The body on which the scanner is mounted, which it does not see.
    body: Option<usize>,
    /// Ray directions in the site's frame.
    rays: Vec<(f64, f64)>,
    min_m: f64,
    max_m: f64,
}

impl Scanner {
    pub(crate) fn resolve(model: &MjModel, robot: &str, lidar: &Lidar, key: &str) -> Result<Self, WorldError> {
        let site = handle::site(model, &format!("{robot}/{}", lidar.site), key)?;
        let body = usize::try_from(model.site_bodyid()[site]).ok();
        let angle = |i: u32| lidar.start_rad + f64::from(i) * lidar.step_rad;
        let rays = (0..lidar.rays).map(|i| (angle(i).cos(), angle(i).sin())).collect();
        Ok(Self { site, body, rays, min_m: lidar.min_m, max_m: lidar.max_m })
    }

    /// Returns the scan in m.
    pub(crate) fn scan(&self, data: &mut MjData<Box<MjModel>>) -> Vec<f64> {
        let (from, m) = (data.site_xpos()[self.site], data.site_xmat()[self.site]);
        let turned = |(x, y): &(f64, f64)| [0, 1, 2].map(|row| m[3 * row] * x + m[3 * row + 1] * y);
        let rays: Vec<[f64; 3]> = self.rays.iter().map(turned).collect();
        let (_, distances) = data.multi_ray(&from, &rays, Some(&VISIBLE), true, self.body, self.max_m, None);
        // A negative distance means that the ray hit nothing.
        distances.into_iter().map(|d| if d < 0.0 { self.max_m } else { d.clamp(self.min_m, self.max_m) }).collect()
    }
}
