//! Bodies that move by themselves: people, vehicles, obstacles. Each is a mocap body of the scene on a track that is
//! drawn before the episode begins, so a policy cannot change the track. A policy can only delay an actor that stops
//! for something.

use assay_model::Generator;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::expression::evaluate;
use crate::{DrawError, Scalar};

/// Maximum number of legs of a drawn track.
const MAX_LEGS: usize = 20_000;
/// Minimum length of a leg of a random walk, m. A closer goal is drawn again, which bounds the number of legs.
const LEAST_LEG_M: f64 = 0.05;
/// Attempts to draw a goal before the walk stops.
const MAX_TRIES: usize = 1000;

/// A body that moves by itself.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[schemars(extend("unevaluatedProperties" = false))]
pub struct Actor {
    /// A mocap body of the scene.
    pub body: String,
    /// Motion of the actor.
    #[serde(flatten)]
    pub motion: Motion,
    /// Geoms for which the actor stops; by default none.
    #[serde(default)]
    pub stops_for: Option<StopsFor>,
}

/// Geoms that an actor does not run into: it pauses while a step would bring it closer to a geom within the gap. A
/// contact is therefore always caused by the other body.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopsFor {
    /// A group of geoms.
    pub group: String,
    /// Distance in m below which the actor does not approach a geom.
    pub gap_m: f64,
}

/// The motion of an actor, whose x axis points in the direction of travel.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Motion {
    /// Straight lines between waypoints.
    Path {
        /// `[x, y]` or `[x, y, z]` in m, world axes; each a number or an expression over parameters.
        waypoints: Vec<Vec<Scalar>>,
        /// Speed in m/s.
        speed: Scalar,
        /// Time of departure, s.
        #[serde(default = "zero")]
        start_s: Scalar,
        /// Behaviour after the last waypoint.
        #[serde(default)]
        repeat: Repeat,
    },
    /// Random walk between points of a rectangle, at the body's height in the scene.
    Walk {
        /// Range of x in m.
        x: [f64; 2],
        /// Range of y in m.
        y: [f64; 2],
        /// Range of the speed in m/s, drawn for each leg.
        speed: [f64; 2],
        /// Range of the pause at each point in s.
        #[serde(default)]
        pause_s: [f64; 2],
    },
}

fn zero() -> Scalar {
    Scalar::Number(0.0)
}

/// Behaviour of an actor at the end of its path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Repeat {
    /// It stays at the last waypoint.
    #[default]
    Stop,
    /// It moves in a straight line to the first waypoint and starts again.
    Loop,
    /// It turns around and returns along the path.
    BackAndForth,
}

/// The pose of an actor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pose {
    /// x in m, world axes.
    pub x: f64,
    /// y in m, world axes.
    pub y: f64,
    /// z in m, world axes; `None` if the body keeps its height in the scene.
    pub z: Option<f64>,
    /// Rotation about z in rad.
    pub heading: f64,
}

/// A drawn motion: positions at given times, with straight lines between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Track {
    /// Knots in ascending order of time; at least one.
    knots: Vec<Knot>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Knot {
    time_s: f64,
    place: [f64; 3],
    has_z: bool,
    /// Direction of the leg that begins here, rad.
    heading: f64,
}

impl Track {
    /// Draws the motion of `actor` in an episode of `duration_s`.
    ///
    /// # Errors
    /// [`DrawError`] if a drawn number does not define a motion.
    pub(crate) fn draw(
        actor: &Actor,
        duration_s: f64,
        parameters: &[(String, f64)],
        generator: &mut Generator,
    ) -> Result<Self, DrawError> {
        match &actor.motion {
            Motion::Path { waypoints, speed, start_s, repeat } => {
                let number = |value: &Scalar| evaluate(value, parameters);
                let (speed, start_s) = (number(speed)?, number(start_s)?);
                for (what, value, valid) in [("speed", speed, speed > 0.0), ("start_s", start_s, start_s >= 0.0)] {
                    if !valid {
                        return Err(DrawError::Motion { body: actor.body.clone(), what, value });
                    }
                }
                let point = |point: &Vec<Scalar>| point.iter().map(number).collect::<Result<Vec<f64>, _>>();
                let points = waypoints.iter().map(point).collect::<Result<Vec<_>, _>>()?;
                Ok(Self::path(&points, speed, start_s, *repeat, duration_s))
            }
            Motion::Walk { x, y, speed, pause_s } => Ok(Self::walk([*x, *y], *speed, *pause_s, duration_s, generator)),
        }
    }

    fn path(points: &[Vec<f64>], speed: f64, start_s: f64, repeat: Repeat, duration_s: f64) -> Self {
        let has_z = points[0].len() == 3;
        let place = |i: usize| [points[i][0], points[i][1], points[i].get(2).copied().unwrap_or(0.0)];
        let mut track = Self::standing(place(0), has_z);
        track.rest_until(start_s);
        let last = points.len() - 1;
        let (mut at, mut ahead) = (0, true);
        for _ in 0..MAX_LEGS {
            let next = match repeat {
                Repeat::Stop if at == last => break,
                Repeat::Loop if at == last => 0,
                Repeat::BackAndForth if at == last && ahead => {
                    ahead = false;
                    at - 1
                }
                Repeat::BackAndForth if at == 0 && !ahead => {
                    ahead = true;
                    1
                }
                _ if ahead => at + 1,
                _ => at - 1,
            };
            track.go(place(next), speed);
            at = next;
            if track.end_s() > duration_s {
                break;
            }
        }
        track
    }

    fn walk(
        area: [[f64; 2]; 2],
        speed: [f64; 2],
        pause_s: [f64; 2],
        duration_s: f64,
        generator: &mut Generator,
    ) -> Self {
        let place = |generator: &mut Generator| {
            let [x, y] = area.map(|[low, high]| generator.uniform(low, high));
            [x, y, 0.0]
        };
        let mut track = Self::standing(place(generator), false);
        for _ in 0..MAX_LEGS {
            let here = track.last().place;
            let goal = (0..MAX_TRIES).map(|_| place(generator)).find(|goal| distance(*goal, here) >= LEAST_LEG_M);
            let Some(goal) = goal else { break };
            track.go(goal, generator.uniform(speed[0], speed[1]));
            track.rest_until(track.end_s() + generator.uniform(pause_s[0], pause_s[1]));
            if track.end_s() > duration_s {
                break;
            }
        }
        track
    }

    fn standing(place: [f64; 3], has_z: bool) -> Self {
        Self { knots: vec![Knot { time_s: 0.0, place, has_z, heading: 0.0 }] }
    }

    fn last(&self) -> Knot {
        self.knots[self.knots.len() - 1]
    }

    /// Returns the numbers that define the motion.
    pub(crate) fn knots(&self) -> impl Iterator<Item = [f64; 4]> {
        self.knots.iter().map(|Knot { time_s, place: [x, y, z], .. }| [*time_s, *x, *y, *z])
    }

    fn end_s(&self) -> f64 {
        self.last().time_s
    }

    fn rest_until(&mut self, time_s: f64) {
        if time_s > self.end_s() {
            self.knots.push(Knot { time_s, ..self.last() });
        }
    }

    fn go(&mut self, place: [f64; 3], speed: f64) {
        let from = self.last();
        let way = distance(place, from.place);
        if way <= 0.0 {
            return;
        }
        let heading = (place[1] - from.place[1]).atan2(place[0] - from.place[0]);
        let index = self.knots.len() - 1;
        self.knots[index].heading = heading;
        // While waiting, the actor faces its next goal.
        if index > 0 && self.knots[index - 1].place == from.place {
            self.knots[index - 1].heading = heading;
        }
        self.knots.push(Knot { time_s: from.time_s + way / speed, place, heading, ..from });
    }

    /// Returns the actor's pose at `time_s`.
    #[must_use]
    pub fn at(&self, time_s: f64) -> Pose {
        let next = self.knots.partition_point(|knot| knot.time_s <= time_s);
        let from = self.knots[next.saturating_sub(1)];
        let to = self.knots.get(next).copied().unwrap_or(from);
        let span = to.time_s - from.time_s;
        let share = if span > 0.0 { ((time_s - from.time_s) / span).clamp(0.0, 1.0) } else { 0.0 };
        let [x, y, z] = [0, 1, 2].map(|axis| from.place[axis] + share * (to.place[axis] - from.place[axis]));
        Pose { x, y, z: from.has_z.then_some(z), heading: from.heading }
    }
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1]).hypot(a[2] - b[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_keep_their_speed_and_repeat() {
        let points = [vec![0.0, 0.0], vec![2.0, 0.0], vec![2.0, 1.0]];
        let track = Track::path(&points, 0.5, 1.0, Repeat::Stop, 60.0);
        let place = |track: &Track, time_s| (track.at(time_s).x, track.at(time_s).y);
        assert_eq!(
            [0.5, 1.0, 3.0, 5.0, 6.0, 50.0].map(|t| place(&track, t)),
            [(0.0, 0.0), (0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (2.0, 0.5), (2.0, 1.0)]
        );
        assert_eq!(track.at(0.5).heading, 0.0);
        assert!((track.at(6.0).heading - std::f64::consts::FRAC_PI_2).abs() < 1e-12);
        let back = Track::path(&points, 0.5, 0.0, Repeat::BackAndForth, 60.0);
        assert_eq!([7.0, 10.0, 13.0, 60.0].map(|t| place(&back, t)), [(2.0, 0.5), (1.0, 0.0), (0.5, 0.0), (0.0, 0.0)]);
        let round = Track::path(&points[..2], 1.0, 0.0, Repeat::Loop, 60.0);
        assert_eq!([3.0, 5.0].map(|t| place(&round, t)), [(1.0, 0.0), (1.0, 0.0)]);
        assert_eq!(track.at(3.0).z, None);
        let high = Track::path(&[vec![0.0, 0.0, 1.0], vec![0.0, 0.0, 3.0]], 1.0, 0.0, Repeat::Stop, 9.0);
        assert_eq!(high.at(1.0).z, Some(2.0));
    }

    #[test]
    fn walks_respect_area_and_speed_and_are_reproducible() {
        let area = [[-1.0, 2.0], [0.0, 0.5]];
        let walk = |seed| Track::walk(area, [0.4, 1.2], [0.0, 0.5], 30.0, &mut Generator::new(seed));
        assert_eq!(walk(3), walk(3));
        assert_ne!(walk(3), walk(4));
        for seed in 0..20 {
            let track = walk(seed);
            assert!(track.end_s() > 30.0);
            for step in 0..3000 {
                let (a, b) = (track.at(f64::from(step) * 0.01), track.at(f64::from(step + 1) * 0.01));
                assert!((-1.0..=2.0).contains(&a.x) && (0.0..=0.5).contains(&a.y), "{a:?}");
                assert!((b.x - a.x).hypot(b.y - a.y) <= 0.012 + 1e-9, "{a:?} to {b:?}");
            }
        }
    }
}
