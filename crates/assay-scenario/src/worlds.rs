//! The distributions from which a scenario draws its worlds, and which of the worlds an episode ran in.

use std::collections::BTreeSet;

use assay_model::{DrawnFrom, DrawnRange, MAX_DRAWN_RANGES, Sha256Digest, Sha256Writer};
use assay_stl::Formula;

use crate::expression::arithmetic;
use crate::{Distribution, Disturbance, Draw, Motion, Placement, Scalar, Scenario};

/// Standard deviations beyond which a normal distribution is never drawn: the generator's numbers reach 8.6.
const FARTHEST_SD: f64 = 9.0;
/// Values of a distribution at which an expression is compared, besides those of a choice.
const SAMPLES: u32 = 5;
/// Combinations of the other parameters at which it is compared.
const BASES: usize = 3;

impl Scenario {
    /// Returns the distributions with more than one value that reach the episodes, at most [`MAX_DRAWN_RANGES`]; empty
    /// if the scenario draws nothing, so that all its episodes are in one world. A parameter that neither sets a number
    /// of the world nor moves an actor is not among them.
    #[must_use]
    pub fn drawn_ranges(&self) -> Vec<DrawnRange> {
        let mut ranges: Vec<DrawnRange> = self.reaching_parameters();
        ranges.extend(self.placements.iter().flat_map(placed));
        ranges.extend(self.disturbances.iter().enumerate().flat_map(|(index, disturbance)| pushed(index, disturbance)));
        ranges.extend(self.actors.iter().flat_map(|actor| walked(&actor.body, &actor.motion)));
        let noisy = self.observations.iter().filter(|observation| observation.noise > 0.0);
        ranges.extend(noisy.map(|observation| DrawnRange {
            name: format!("noise.{}", observation.name),
            distribution: DrawnFrom::Noise,
            low: None,
            high: None,
            sd: Some(observation.noise),
        }));
        ranges.truncate(MAX_DRAWN_RANGES);
        ranges
    }

    /// Returns the SHA-256 over the drawn numbers that reach the world, and over the ways of those who walk at random:
    /// the same in two episodes that ran in the same world.
    #[must_use]
    pub fn world_sha256(&self, draw: &Draw) -> Sha256Digest {
        let reaching = self.reaching_names();
        let mut hash = Sha256Writer::default();
        hash.update(b"assay/world/1");
        for (name, value) in draw.parameters.iter().filter(|(name, _)| reaching.contains(name)) {
            hash.update((name.len() as u64).to_le_bytes());
            hash.update(name.as_bytes());
            hash.update(value.to_le_bytes());
        }
        for (actor, track) in self.actors.iter().zip(&draw.tracks) {
            if matches!(actor.motion, Motion::Walk { .. }) {
                track.knots().flatten().for_each(|number| hash.update(number.to_le_bytes()));
            }
        }
        hash.finish()
    }

    fn reaching_names(&self) -> BTreeSet<String> {
        let parameters = self.reaching_parameters();
        let placements = self.placements.iter().flat_map(placed);
        let pushes = self.disturbances.iter().enumerate().flat_map(|(index, disturbance)| pushed(index, disturbance));
        parameters.into_iter().chain(placements).chain(pushes).map(|range| range.name).collect()
    }

    /// Returns the parameters with more than one value on which a number of the world or of an actor depends.
    fn reaching_parameters(&self) -> Vec<DrawnRange> {
        let known = self.drawn_values();
        let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
        let mut reaching = BTreeSet::new();
        for expression in self.expressions() {
            let Ok(formula) = Formula::parse(&format!("({expression}) >= 0"), &[]) else { continue };
            let Ok(bound) = arithmetic(expression, &names) else { continue };
            for name in formula.signals() {
                let found = names.iter().position(|known| known == name);
                if let Some(index) = found.filter(|_| !reaching.contains(name.as_str()))
                    && depends(&|values| bound.at(values), &known, index)
                {
                    reaching.insert(name.to_string());
                }
            }
        }
        let parameters = self.parameters.iter().filter(|(name, _)| reaching.contains(name));
        parameters.filter_map(|(name, from)| range_of(name, from)).collect()
    }

    /// Returns the names that expressions may use, each with some of its values.
    fn drawn_values(&self) -> Vec<(String, Vec<f64>)> {
        let mut values: Vec<(String, Vec<f64>)> =
            self.parameters.iter().map(|(name, from)| (name.clone(), values_of(from))).collect();
        for placement in &self.placements {
            for body in &placement.bodies {
                let yaw = placement.yaw.map(|yaw| ("yaw", yaw));
                let drawn = [("x", placement.x), ("y", placement.y)].into_iter().chain(yaw);
                values.extend(drawn.map(|(name, [low, high])| (format!("{body}.{name}"), between(low, high))));
            }
        }
        values
    }

    /// Returns the expressions of settings and actors.
    fn expressions(&self) -> impl Iterator<Item = &str> {
        let paths = self.actors.iter().filter_map(|actor| match &actor.motion {
            Motion::Path { waypoints, speed, start_s, .. } => Some(waypoints.iter().flatten().chain([speed, start_s])),
            Motion::Walk { .. } => None,
        });
        let scalars = self.sets.iter().map(|(_, value)| value).chain(paths.flatten());
        scalars.filter_map(|scalar| match scalar {
            Scalar::Expression(expression) => Some(expression.as_str()),
            Scalar::Number(_) => None,
        })
    }
}

/// Returns whether the value changes with number `index`, of which some values are known, as of the others.
fn depends(value: &dyn Fn(&[f64]) -> Option<f64>, known: &[(String, Vec<f64>)], index: usize) -> bool {
    (0..BASES).any(|base| {
        let mut at: Vec<f64> =
            known.iter().enumerate().map(|(i, (_, values))| values[(base * 7 + i) % values.len()]).collect();
        let found: BTreeSet<u64> = known[index]
            .1
            .iter()
            .filter_map(|&number| {
                at[index] = number;
                value(&at).filter(|value| value.is_finite()).map(f64::to_bits)
            })
            .collect();
        found.len() > 1
    })
}

/// Returns some values of a distribution: never none.
fn values_of(from: &Distribution) -> Vec<f64> {
    match from {
        Distribution::Uniform { uniform: [low, high] } => between(*low, *high),
        Distribution::Normal { normal, clip } => {
            let [low, high] = normal_range(*normal, *clip);
            between(low, high)
        }
        Distribution::Choice { choice } => choice.clone(),
    }
}

fn between(low: f64, high: f64) -> Vec<f64> {
    (0..SAMPLES).map(|i| low + (high - low) * f64::from(i) / f64::from(SAMPLES - 1)).collect()
}

/// Returns the bounds of a clipped normal distribution; they are equal if all its values are clipped to one.
fn normal_range([mean, sd]: [f64; 2], [low, high]: [f64; 2]) -> [f64; 2] {
    [(mean - FARTHEST_SD * sd).clamp(low, high), (mean + FARTHEST_SD * sd).clamp(low, high)]
}

fn range_of(name: &str, from: &Distribution) -> Option<DrawnRange> {
    let (distribution, [low, high], sd) = match from {
        Distribution::Uniform { uniform } => (DrawnFrom::Uniform, *uniform, None),
        Distribution::Normal { normal, clip } => (DrawnFrom::Normal, normal_range(*normal, *clip), Some(normal[1])),
        Distribution::Choice { choice } => {
            let ends = choice.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], x| [a.min(*x), b.max(*x)]);
            (DrawnFrom::Choice, ends, None)
        }
    };
    (low < high).then(|| DrawnRange { name: name.to_owned(), distribution, low: Some(low), high: Some(high), sd })
}

fn uniform(name: String, [low, high]: [f64; 2]) -> Option<DrawnRange> {
    let distribution = DrawnFrom::Uniform;
    (low < high).then_some(DrawnRange { name, distribution, low: Some(low), high: Some(high), sd: None })
}

fn placed(placement: &Placement) -> Vec<DrawnRange> {
    let numbers = |body: &String| {
        let yaw = placement.yaw.and_then(|yaw| uniform(format!("{body}.yaw"), yaw));
        [uniform(format!("{body}.x"), placement.x), uniform(format!("{body}.y"), placement.y), yaw]
    };
    placement.bodies.iter().flat_map(numbers).flatten().collect()
}

/// A push without a force changes nothing, whenever and wherever it acts.
fn pushed(index: usize, disturbance: &Disturbance) -> Vec<DrawnRange> {
    let Disturbance::Push { at_s, force_n, heading_rad, .. } = disturbance;
    if force_n[1] <= 0.0 {
        return Vec::new();
    }
    let numbers = [("at", *at_s), ("force", *force_n), ("heading", *heading_rad)];
    numbers.into_iter().filter_map(|(name, range)| uniform(format!("push_{index}.{name}"), range)).collect()
}

/// Returns what is drawn for a walk. In an area without extent nobody moves, whatever the speed.
fn walked(body: &str, motion: &Motion) -> Vec<DrawnRange> {
    let Motion::Walk { x, y, speed, pause_s } = motion else { return Vec::new() };
    let area = [("x", *x), ("y", *y)].map(|(name, range)| uniform(format!("{body}.{name}"), range));
    if area.iter().all(Option::is_none) {
        return Vec::new();
    }
    let rest = [("speed", *speed), ("pause_s", *pause_s)];
    let rest = rest.into_iter().map(|(name, range)| uniform(format!("{body}.{name}"), range));
    area.into_iter().chain(rest).flatten().collect()
}
