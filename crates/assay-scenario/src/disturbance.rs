//! External disturbances of a world during an episode.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::range::is_range;

/// An external disturbance of the world, which the policy has to withstand. A closed list.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Disturbance {
    /// A force on a body's centre of mass. Draws `push_N.at`, `push_N.force` and `push_N.heading`, where N is the index
    /// of the disturbance, from 0.
    Push {
        /// The body on which the force acts.
        body: String,
        /// Range of the start time, in s.
        at_s: [f64; 2],
        /// Duration, in s.
        duration_s: f64,
        /// Range of the force's magnitude in N.
        force_n: [f64; 2],
        /// Range of its horizontal direction in rad, measured from the world's x axis; any direction by default.
        #[serde(default = "all_around")]
        heading_rad: [f64; 2],
        /// Angle above the horizontal in rad.
        #[serde(default)]
        elevation_rad: f64,
    },
}

fn all_around() -> [f64; 2] {
    [-std::f64::consts::PI, std::f64::consts::PI]
}

/// A force drawn for an episode.
#[derive(Debug, Clone, PartialEq)]
pub struct Push {
    /// The body on which it acts.
    pub body: String,
    /// Start in s.
    pub from_s: f64,
    /// End in s.
    pub until_s: f64,
    /// Force in N, world axes.
    pub force: [f64; 3],
}

impl Disturbance {
    /// Checks the disturbance; an error contains the key below `disturbance[N]`, and the remedy.
    pub(crate) fn check(&self, time_limit_s: f64) -> Result<(), (&'static str, &'static str)> {
        let Self::Push { body, at_s, duration_s, force_n, heading_rad, elevation_rad } = self;
        if body.is_empty() {
            return Err(("body", "must name a body"));
        }
        if !(is_range(*at_s) && at_s[0] >= 0.0 && at_s[1] <= time_limit_s) {
            return Err(("at_s", "must be [low, high] within the episode, in s"));
        }
        if !(duration_s.is_finite() && *duration_s > 0.0) {
            return Err(("duration_s", "must be a positive number of s"));
        }
        if !(is_range(*force_n) && force_n[0] >= 0.0) {
            return Err(("force_n", "must be [low, high] in N, 0 or more"));
        }
        if !is_range(*heading_rad) {
            return Err(("heading_rad", "must be [low, high] in rad"));
        }
        if !elevation_rad.is_finite() {
            return Err(("elevation_rad", "must be a number of rad"));
        }
        Ok(())
    }

    /// Draws disturbance number `index` and appends the drawn numbers to `parameters`.
    pub(crate) fn draw(
        &self,
        index: usize,
        uniform: &mut dyn FnMut(f64, f64) -> f64,
        parameters: &mut Vec<(String, f64)>,
    ) -> Push {
        let Self::Push { body, at_s, duration_s, force_n, heading_rad, elevation_rad } = self;
        let mut number = |name: &str, [low, high]: [f64; 2]| {
            let value = uniform(low, high);
            parameters.push((format!("push_{index}.{name}"), value));
            value
        };
        let (at, force, heading) = (number("at", *at_s), number("force", *force_n), number("heading", *heading_rad));
        let flat = force * elevation_rad.cos();
        let force = [flat * heading.cos(), flat * heading.sin(), force * elevation_rad.sin()];
        Push { body: body.clone(), from_s: at, until_s: at + duration_s, force }
    }
}
