//! The random draws of an episode: a pure function of the scenario and the world's seed.

use assay_model::Generator;
use assay_stl::{BoundFormula, Formula};

use crate::{Distribution, Placement, Push, Scalar, Scenario, Target, Track};

/// Tries for a placement before it is called impossible.
const MAX_TRIES: usize = 10_000;

/// An episode's parameters and what they set.
#[derive(Debug, Clone, PartialEq)]
pub struct Draw {
    /// Every drawn number by name, in the order drawn.
    pub parameters: Vec<(String, f64)>,
    /// Settings of the world, in order.
    pub settings: Vec<Setting>,
    /// Forces from outside.
    pub pushes: Vec<Push>,
    /// Tracks of the scenario's actors, in their order.
    pub tracks: Vec<Track>,
}

/// A number to set.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Where.
    pub target: Target,
    /// The number.
    pub value: f64,
}

/// A draw that can't be made.
#[derive(Debug, thiserror::Error)]
pub enum DrawError {
    /// The region is too small for its bodies.
    #[error("placement: no free place for {body:?} after {MAX_TRIES} tries; widen x and y or lower spacing")]
    Crowded {
        /// The body that found no place.
        body: String,
    },
    /// An actor that would have to move backwards in time.
    #[error("actor: {body}: its {what} came out as {value}; draw it from a range above 0")]
    Motion {
        /// Its body.
        body: String,
        /// The number that is wrong.
        what: &'static str,
        /// The drawn value.
        value: f64,
    },
    /// A `[[set]]` value that is no number.
    #[error("set: {expression:?}: {problem}")]
    Expression {
        /// As written.
        expression: String,
        /// The problem.
        problem: String,
    },
}

/// Whether numbers can be drawn evenly from `low` to `high`: both are numbers, in order, and so is their difference.
pub(crate) fn is_range([low, high]: [f64; 2]) -> bool {
    low <= high && (high - low).is_finite()
}

/// Draws the world of an episode.
///
/// # Errors
/// [`DrawError`] when the scenario asks for the impossible.
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

pub(crate) fn evaluate(value: &Scalar, parameters: &[(String, f64)]) -> Result<f64, DrawError> {
    let expression = match value {
        Scalar::Number(number) => return Ok(*number),
        Scalar::Expression(expression) => expression,
    };
    let fail = |problem: String| DrawError::Expression { expression: expression.clone(), problem };
    let names: Vec<&str> = parameters.iter().map(|(name, _)| name.as_str()).collect();
    let values: Vec<f64> = parameters.iter().map(|(_, value)| *value).collect();
    let number = arithmetic(expression, &names).map_err(&fail)?.at(&values).unwrap_or(f64::NAN);
    if number.is_finite() { Ok(number) } else { Err(fail(format!("gives {number}"))) }
}

/// Arithmetic over the parameters `names`: the robustness of `expression >= 0` is the expression's value.
///
/// # Errors
/// What is wrong with the expression, in words.
pub(crate) fn arithmetic(expression: &str, names: &[&str]) -> Result<BoundFormula, String> {
    // Bare, for columns that count from the author's first character; in parentheses, so that nothing but arithmetic
    // fits. Only arithmetic is right in both.
    Formula::parse(&format!("{expression} >= 0"), &[]).map_err(|e| e.to_string())?;
    let formula = Formula::parse(&format!("({expression}) >= 0"), &[])
        .map_err(|_| "must be arithmetic over parameters".to_owned())?;
    if let Some(unknown) = formula.signals().iter().find(|signal| !names.contains(&signal.as_str())) {
        return Err(format!("there is no parameter {unknown:?}; add it to [parameters] or correct the name"));
    }
    let bound = formula.bind(names, 1.0).map_err(|e| e.to_string())?;
    if bound.is_instant() { Ok(bound) } else { Err("must be arithmetic over parameters".to_owned()) }
}
