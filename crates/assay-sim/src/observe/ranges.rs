//! A laser scanner: rays of MuJoCo's ray caster, cast when the policy looks.

use assay_scenario::Lidar;
use mujoco_rs::prelude::*;

use crate::error::WorldError;
use crate::handle;

/// Geoms that a ray meets: those of groups 0 to 2, as the video shows them.
const VISIBLE: [u8; 6] = [1, 1, 1, 0, 0, 0];

/// A scanner of a robot.
pub(crate) struct Scanner {
    site: usize,
    /// The scanner does not see what it is mounted on.
    body: Option<usize>,
    /// Directions in the site's frame.
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

    /// The scan in m.
    pub(crate) fn scan(&self, data: &mut MjData<Box<MjModel>>) -> Vec<f64> {
        let (from, m) = (data.site_xpos()[self.site], data.site_xmat()[self.site]);
        let turned = |(x, y): &(f64, f64)| [0, 1, 2].map(|row| m[3 * row] * x + m[3 * row + 1] * y);
        let rays: Vec<[f64; 3]> = self.rays.iter().map(turned).collect();
        let (_, distances) = data.multi_ray(&from, &rays, Some(&VISIBLE), true, self.body, self.max_m, None);
        // Negative means that nothing was met.
        distances.into_iter().map(|d| if d < 0.0 { self.max_m } else { d.clamp(self.min_m, self.max_m) }).collect()
    }
}
