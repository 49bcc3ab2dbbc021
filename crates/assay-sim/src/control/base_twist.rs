//! Base twist: forward speed and yaw rate of a differential drive, kept within the manufacturer's limits and converted
//! to wheel speeds.

use assay_scenario::Drive;
use mujoco_rs::prelude::*;

use crate::error::WorldError;
use crate::handle;

/// The controller's state.
pub(crate) struct BaseTwist {
    drive: Drive,
    left: usize,
    right: usize,
    timestep_s: f64,
    /// Forward speed (m/s) and yaw rate (rad/s) requested.
    wanted: [f64; 2],
    /// Forward speed (m/s) and yaw rate (rad/s) currently commanded.
    now: [f64; 2],
}

impl BaseTwist {
    pub(crate) fn resolve(model: &MjModel, robot: &str, drive: &Drive, timestep_s: f64) -> Result<Self, WorldError> {
        let wheel = |name: &str| handle::actuator(model, &format!("{robot}/{name}"), "robot.toml: drive");
        let (left, right) = (wheel(&drive.left)?, wheel(&drive.right)?);
        Ok(Self { drive: drive.clone(), left, right, timestep_s, wanted: [0.0; 2], now: [0.0; 2] })
    }

    /// Sets the requested speeds. `action`: forward speed in m/s, yaw rate in rad/s.
    pub(crate) fn act(&mut self, action: &[f64]) {
        let drive = &self.drive;
        self.wanted = [action[0].clamp(-drive.reverse, drive.forward), action[1].clamp(-drive.turn, drive.turn)];
    }

    /// Moves the speeds towards the requested ones, and commands the wheels.
    pub(crate) fn before_step(&mut self, data: &mut MjData<Box<MjModel>>) {
        let drive = &self.drive;
        let slows_down = self.now[0] * (self.wanted[0] - self.now[0]) < 0.0;
        let ahead = if slows_down { drive.braking() } else { drive.acceleration };
        for (i, rate) in [ahead, drive.turn_acceleration].into_iter().enumerate() {
            let most = rate * self.timestep_s;
            self.now[i] += (self.wanted[i] - self.now[i]).clamp(-most, most);
        }
        let [left, right] = wheels(drive, self.now);
        data.ctrl_mut()[self.left] = left;
        data.ctrl_mut()[self.right] = right;
    }
}

/// Returns the wheel speeds in rad/s. If one exceeds its limit, both are scaled by the same factor, so that the path
/// keeps its curvature.
fn wheels(drive: &Drive, [ahead, turn]: [f64; 2]) -> [f64; 2] {
    let wheel = |side: f64| (ahead + side * turn * drive.track_m / 2.0) / drive.wheel_radius_m;
    let both = [wheel(-1.0), wheel(1.0)];
    let excess = both.iter().fold(1.0_f64, |most, speed| most.max(speed.abs() / drive.wheel_velocity));
    both.map(|speed| speed / excess)
}
