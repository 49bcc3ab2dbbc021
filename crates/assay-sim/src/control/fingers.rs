//! The target of a gripper's fingers, which moves towards the opening requested by an action, at most at the fingers'
//! maximum speed.

use mujoco_rs::prelude::*;

/// The target of one finger and its velocity until the next action.
pub(super) struct Fingers {
    actuator: usize,
    /// Index of the finger that the actuator moves in qpos.
    qpos: usize,
    open_m: f64,
    /// Maximum speed; `None` if the speed is limited only by the actuator.
    speed_m_per_s: Option<f64>,
    period_s: f64,
    /// Target at the last action in m; `None` before the first action.
    target: Option<f64>,
    /// Velocity of the target in m/s.
    velocity: f64,
}

impl Fingers {
    /// Creates the target of `gripper`: its actuator, its fingers' indices in qpos and one finger's travel in m.
    pub(super) fn new(
        (actuator, fingers, open_m): &(usize, Vec<usize>, f64),
        speed_m_per_s: Option<f64>,
        period_s: f64,
    ) -> Self {
        let qpos = fingers.first().copied().unwrap_or(0);
        let (actuator, open_m) = (*actuator, *open_m);
        Self { actuator, qpos, open_m, speed_m_per_s, period_s, target: None, velocity: 0.0 }
    }

    /// Accepts a new opening in [-1, 1] at the start of a control step.
    pub(super) fn act(&mut self, data: &mut MjData<Box<MjModel>>, opening: f64) {
        let wanted = self.open_m * (opening + 1.0) / 2.0;
        let Some(speed) = self.speed_m_per_s else {
            data.ctrl_mut()[self.actuator] = wanted;
            return;
        };
        let at = data.qpos()[self.qpos];
        let before = self.target.map_or(at, |target| target + self.velocity * self.period_s);
        // Fingers that hold an object lag behind their target. When they change direction, the target first jumps back
        // to their position.
        let target = if (wanted - at) * (before - at) < 0.0 { at } else { before };
        self.velocity = ((wanted - target) / self.period_s).clamp(-speed, speed);
        self.target = Some(target);
    }

    /// Updates `ctrl` before a physics step that ends `elapsed_s` after the control step began. As for the arm's
    /// joints, the target leads by the lag that the servo's damping causes.
    pub(super) fn before_step(&self, data: &mut MjData<Box<MjModel>>, elapsed_s: f64) {
        let Some(target) = self.target else { return };
        let model = data.model();
        let (kp, kd) = (model.actuator_gainprm()[self.actuator][0], -model.actuator_biasprm()[self.actuator][2]);
        let lead_s = if kp > 0.0 { kd / kp } else { 0.0 };
        data.ctrl_mut()[self.actuator] = target + self.velocity * (elapsed_s + lead_s);
    }
}
