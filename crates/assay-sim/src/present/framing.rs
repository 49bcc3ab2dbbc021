//! The camera of a video: it looks as the scenario's camera does, from where everything that matters fits into the
//! picture, or beside a robot that drives or flies.

use mujoco_rs::prelude::*;

use crate::present::shot::{Fit, Lens};
use crate::present::subjects::Subjects;
use crate::{RenderError, Simulation, handle};

/// Half the height of a picture that follows a robot, in radii of the robot.
const FOLLOWED_RADII: f64 = 5.0;
/// Maximum distance of a followed robot from where it should be, as a share of half the picture's height.
const LEASH: f64 = 0.18;
/// Maximum distance of that place from the middle, away from the goal, as a share of half the picture: the way ahead is
/// seen.
const LEAD: f64 = 0.3;
/// Time constant in s with which a following camera comes to rest.
const SETTLES_S: f64 = 0.4;
/// Maximum enlargement of the distance for what moves during the episode: what is flung away may leave the picture.
const MAX_WIDENING: f64 = 1.6;
/// Angle of view in degrees: narrower pictures look flat, wider ones distorted.
const FOVY_DEG: std::ops::RangeInclusive<f64> = 25.0..=48.0;
/// Minimum angle of view in degrees of a camera that follows: it is near the robot, and yet shows where it goes.
const FOLLOWING_FOVY_DEG: f64 = 58.0;
/// Elevation of a camera in degrees: from above, never along the ground.
const ELEVATION_DEG: std::ops::RangeInclusive<f64> = -60.0..=-12.0;
/// Maximum elevation of a camera that follows: the ground is seen even from a robot that flies high.
const FOLLOWING_DEG: f64 = -18.0;
/// Elevation in degrees of a camera that follows a robot far below its goal: it looks up to what the robot rises to.
const RISING_DEG: f64 = 10.0;
/// Angle of view in degrees of such a camera.
const RISING_FOVY_DEG: f64 = 74.0;
/// Heights of the goal above the robot, in half heights of the picture, from which a camera looks up, and at which it
/// does so fully.
const RISING_HALVES: std::ops::RangeInclusive<f64> = 0.5..=2.2;
/// Enlargement of the picture, and further distance of the robot from its middle, of a camera that looks up.
const RISING_WIDENING: f64 = 1.32;
const RISING_LEAD: f64 = 0.12;
/// Half the side of the area with shadows, in half diagonals of what a picture frames.
const SHADOW_REACH: f64 = 1.8;
/// Half the side of the area with shadows around a followed robot, in half heights of the picture.
const FOLLOWED_SHADOW_REACH: f64 = 6.0;

/// The framing of an episode: created at its start, and widened by [`Framing::include`] for what happens later.
#[derive(Debug, Clone)]
pub struct Framing {
    subjects: Subjects,
    lens: Lens,
    /// Azimuth, elevation and vertical angle of view in degrees.
    angles: [f64; 3],
    /// Width / height.
    aspect: f64,
    start: Fit,
    all: Fit,
    /// Point in the middle of a picture that follows, and the time for which it was computed.
    watched: Option<([f64; 3], f64)>,
}

/// Where a camera is for one state.
#[derive(Debug, Clone, Copy)]
struct CameraPlace {
    lens: Lens,
    elevation_deg: f64,
    fovy_deg: f64,
    lookat: [f64; 3],
    distance: f64,
}

impl Framing {
    /// Creates the framing of pictures with `aspect` = width / height.
    ///
    /// # Errors
    /// [`RenderError::Camera`] if the scenario's camera does not exist.
    pub fn new(simulation: &Simulation, aspect: f64) -> Result<Self, RenderError> {
        let subjects = Subjects::of(simulation);
        let mut angles = angles(simulation)?;
        if subjects.follows() {
            (angles[1], angles[2]) = (angles[1].min(FOLLOWING_DEG), angles[2].max(FOLLOWING_FOVY_DEG));
        }
        let [azimuth, elevation, fovy] = angles.map(f64::to_radians);
        let lens = Lens::new(azimuth, elevation, fovy, aspect);
        let mut framing =
            Self { subjects, lens, angles, aspect, start: Fit::new(lens), all: Fit::new(lens), watched: None };
        framing.include(simulation);
        framing.start = framing.all;
        Ok(framing)
    }

    /// Returns true if the picture follows a robot that drives or flies.
    #[must_use]
    pub fn follows(&self) -> bool {
        self.subjects.follows()
    }

    /// Widens the picture for the current state of the world.
    pub fn include(&mut self, simulation: &Simulation) {
        for corner in self.subjects.corners(simulation) {
            self.all.include(corner);
        }
    }

    /// Returns the fit of a picture that stands still: of the whole episode, if that is not much wider than its start.
    fn shown(&self) -> &Fit {
        let distance = |fit: &Fit| fit.eye().map_or(0.0, |(_, distance)| distance);
        if distance(&self.all) <= distance(&self.start) * MAX_WIDENING { &self.all } else { &self.start }
    }

    /// Returns the middle of the area that needs shadows, and half its side, in m.
    pub(crate) fn shadowed(&self, simulation: &Simulation) -> Option<([f64; 3], f64)> {
        if let Some((middle, radius)) = self.subjects.subject(simulation).filter(|_| self.subjects.follows()) {
            return Some((middle, FOLLOWED_SHADOW_REACH * FOLLOWED_RADII * radius));
        }
        self.shown().extent().map(|(middle, half)| (middle, SHADOW_REACH * half))
    }

    /// Returns how far the followed robot, at `middle`, is below its goal: from 0 to 1.
    fn rising(&self, simulation: &Simulation, middle: [f64; 3], half: f64) -> f64 {
        let [from, to] = [RISING_HALVES.start(), RISING_HALVES.end()];
        let above = self.subjects.goal(simulation).map_or(0.0, |goal| (goal[2] - middle[2]) / half);
        ((above - from) / (to - from)).clamp(0.0, 1.0)
    }

    /// Returns the lens of a picture that follows, for a share of [`Self::rising`], its elevation and its angle of view
    /// in degrees.
    fn raised(&self, rising: f64) -> (Lens, f64, f64) {
        let [azimuth, elevation, fovy] = self.angles;
        let elevation = elevation + rising * (RISING_DEG - elevation).max(0.0);
        let fovy = fovy + rising * (RISING_FOVY_DEG - fovy).max(0.0);
        let angles = [azimuth, elevation, fovy].map(f64::to_radians);
        (Lens::new(angles[0], angles[1], angles[2], self.aspect), elevation, fovy)
    }

    /// Returns where the camera is.
    fn place(&mut self, simulation: &Simulation) -> Option<CameraPlace> {
        match self.subjects.subject(simulation) {
            Some((middle, radius)) if self.subjects.follows() => {
                let half = FOLLOWED_RADII * radius;
                let rising = self.rising(simulation, middle, half);
                let (lens, elevation_deg, fovy_deg) = self.raised(rising);
                let half = half * (1.0 + rising * (RISING_WIDENING - 1.0));
                let time_s = simulation.time_s();
                let share = LEAD + rising * RISING_LEAD;
                let lead = self
                    .subjects
                    .goal(simulation)
                    .map_or([0.0; 3], |goal| lens.within([0, 1, 2].map(|i| goal[i] - middle[i]), half, share));
                let aim = [0, 1, 2].map(|i| middle[i] + lead[i]);
                let watched = match self.watched {
                    Some((from, before_s)) => approach(from, aim, time_s - before_s, LEASH * half),
                    None => aim,
                };
                self.watched = Some((watched, time_s));
                Some(CameraPlace { lens, elevation_deg, fovy_deg, lookat: watched, distance: lens.distance(half) })
            }
            _ => {
                let (eye, distance) = self.shown().eye()?;
                let lookat = [0, 1, 2].map(|i| eye[i] + distance * self.lens.forward[i]);
                let [_, elevation_deg, fovy_deg] = self.angles;
                Some(CameraPlace { lens: self.lens, elevation_deg, fovy_deg, lookat, distance })
            }
        }
    }

    /// Returns the camera for the current state, and sets its angle of view.
    pub(crate) fn camera(&mut self, simulation: &mut Simulation) -> MjvCamera {
        let [azimuth, elevation, mut fovy] = self.angles;
        let mut camera = MjvCamera::new_free(simulation.model());
        (camera.azimuth, camera.elevation) = (azimuth, elevation);
        if let Some(place) = self.place(simulation) {
            (camera.lookat, camera.distance, camera.elevation) = (place.lookat, place.distance, place.elevation_deg);
            fovy = place.fovy_deg;
        }
        #[expect(clippy::cast_possible_truncation, reason = "an angle of view")]
        let fovy = fovy as f32;
        simulation.data_mut().model_vis_mut().global.fovy = fovy;
        camera
    }

    /// Returns the camera for the current state, for other renderers: the position that it looks at and its distance
    /// from there (m), azimuth, elevation and vertical angle of view (degrees). `None` if there is nothing to frame.
    #[must_use]
    pub fn pose(&mut self, simulation: &Simulation) -> Option<[f64; 7]> {
        let CameraPlace { lookat: [x, y, z], distance, elevation_deg, fovy_deg, .. } = self.place(simulation)?;
        Some([x, y, z, distance, self.angles[0], elevation_deg, fovy_deg])
    }

    /// Returns where a point (m, world axes) is in the picture of the current state: from -1 (left, bottom) to 1;
    /// `None` behind the camera.
    #[must_use]
    pub fn project(&mut self, simulation: &Simulation, point: [f64; 3]) -> Option<[f64; 2]> {
        let CameraPlace { lens, lookat, distance, .. } = self.place(simulation)?;
        let eye = [0, 1, 2].map(|i| lookat[i] - distance * lens.forward[i]);
        lens.project(eye, point)
    }
}

/// Moves `from` towards `to` for `elapsed_s`, and as far as necessary to be within `leash` of it.
fn approach(from: [f64; 3], to: [f64; 3], elapsed_s: f64, leash: f64) -> [f64; 3] {
    let rest = (-elapsed_s.max(0.0) / SETTLES_S).exp();
    let behind = [0, 1, 2].map(|i| (from[i] - to[i]) * rest);
    let length = behind.iter().map(|x| x * x).sum::<f64>().sqrt();
    let kept = if length > leash { leash / length } else { 1.0 };
    [0, 1, 2].map(|i| to[i] + behind[i] * kept)
}

/// Returns the azimuth, elevation and angle of view of the scenario's camera, or of MuJoCo's free camera, in degrees.
fn angles(simulation: &Simulation) -> Result<[f64; 3], RenderError> {
    let model = simulation.model();
    let bound = |range: &std::ops::RangeInclusive<f64>, x: f64| x.clamp(*range.start(), *range.end());
    let Some(name) = simulation.camera() else {
        let free = MjvCamera::new_free(model);
        let fovy = f64::from(model.vis().global.fovy);
        return Ok([free.azimuth, bound(&ELEVATION_DEG, free.elevation), bound(&FOVY_DEG, fovy)]);
    };
    let id = handle::camera(model, &name, "camera.name").map_err(|e| RenderError::Camera(e.to_string()))?;
    let turn = simulation.data().cam_xmat()[id];
    let forward = [-turn[2], -turn[5], -turn[8]];
    let elevation = forward[2].clamp(-1.0, 1.0).asin().to_degrees();
    // Straight down, the picture's upper edge tells where the camera looks.
    let level = if forward[0].hypot(forward[1]) > 1e-3 { [forward[0], forward[1]] } else { [turn[1], turn[4]] };
    let azimuth = level[1].atan2(level[0]).to_degrees();
    Ok([azimuth, bound(&ELEVATION_DEG, elevation), bound(&FOVY_DEG, model.cam_fovy()[id])])
}
