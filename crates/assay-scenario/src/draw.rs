//! The random draws of an episode: a pure function of the scenario and the world's seed.

use assay_model::Generator;

use crate::draw_error::MAX_TRIES;
use crate::expression::evaluate;
use crate::{Distribution, DrawError, Placement, Push, Scenario, Target, Track};

/// An episode's parameters and what they set.
#[derive(Debug, Clone, PartialEq)]
pub struct Draw {
    /// Every drawn number by name, in the order drawn.
    pub parameters: Vec<(String, f64)>,
    /// Settings of the world, in order.
    pub settings: Vec<Setting>,
    /// External forces.
    pub pushes: Vec<Push>,
    /// Tracks of the scenario's actors, in their order.
    pub tracks: Vec<Track>,
}

/// A number to set.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Target of the setting.
    pub target: Target,
    /// Value of the setting.
    pub value: f64,
}

/// Draws the world of an episode.
///
/// # Errors
/// [`DrawError`] if the scenario specifies an impossible world.
pub fn draw(scenario: &Scenario, generator: &mut Generator) -> Result<Draw, DrawError> {
    let mut parameters: Vec<(String, f64)> =
        scenario.parameters.iter().map(|(name, from)| (name.clone(), sample(from, generator))).collect();
    let mut settings = Vec::new();
    for placement in &scenario.placements {
        place(placement, generator, &mut parameters, &mut settings)?;
    }
    let pushes = scenario.disturbances.iter().enumerate().map(|(index, disturbance)| {
        disturbance.draw(index, &mut |low, high| generator.uniform(low, high), &mut parameters)
    });
    let pushes = pushes.collect();
    for (target, value) in &scenario.sets {
        settings.push(Setting { target: target.clone(), value: evaluate(value, &parameters)? });
    }
    let tracks = scenario
        .actors
        .iter()
        .map(|actor| Track::draw(actor, f64::from(scenario.time_limit_s), &parameters, generator))
        .collect::<Result<_, _>>()?;
    Ok(Draw { parameters, settings, pushes, tracks })
}

fn sample(from: &Distribution, generator: &mut Generator) -> f64 {
    match from {
        Distribution::Uniform { uniform: [low, high] } => generator.uniform(*low, *high),
        Distribution::Normal { normal: [mean, sd], clip: [low, high] } => {
            (mean + sd * generator.normal()).clamp(*low, *high)
        }
        Distribution::Choice { choice } => choice[generator.index(choice.len())],
    }
}

fn place(
    placement: &Placement,
    generator: &mut Generator,
    parameters: &mut Vec<(String, f64)>,
    settings: &mut Vec<Setting>,
) -> Result<(), DrawError> {
    let mut taken: Vec<(f64, f64, f64)> = placement.avoid.iter().map(|a| (a.x, a.y, a.radius)).collect();
    for body in &placement.bodies {
        let mut found = None;
        for _ in 0..MAX_TRIES {
            let x = generator.uniform(placement.x[0], placement.x[1]);
            let y = generator.uniform(placement.y[0], placement.y[1]);
            if taken.iter().all(|(tx, ty, radius)| (x - tx).hypot(y - ty) >= *radius) {
                found = Some((x, y));
                break;
            }
        }
        let (x, y) = found.ok_or_else(|| DrawError::Crowded { body: body.clone() })?;
        taken.push((x, y, placement.spacing));
        let mut put = |name: &str, target: Target, value: f64| {
            parameters.push((format!("{body}.{name}"), value));
            settings.push(Setting { target, value });
        };
        put("x", Target::BodyPosition(body.clone(), 0), x);
        put("y", Target::BodyPosition(body.clone(), 1), y);
        if let Some([low, high]) = placement.yaw {
            put("yaw", Target::BodyYaw(body.clone()), generator.uniform(low, high));
        }
        if let Some(z) = placement.z {
            settings.push(Setting { target: Target::BodyPosition(body.clone(), 2), value: z });
        }
    }
    Ok(())
}
