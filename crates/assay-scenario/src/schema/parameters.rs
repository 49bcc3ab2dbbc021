//! `[parameters]`, `[[placement]]` and `[[set]]`: the draws of an episode and their effect on the world.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::Target;

/// Distribution of a parameter.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case", untagged)]
pub enum Distribution {
    /// Uniform over [low, high).
    Uniform {
        /// Lower and upper bounds.
        uniform: [f64; 2],
    },
    /// Normal, clipped to `clip`.
    Normal {
        /// Mean and standard deviation.
        normal: [f64; 2],
        /// Minimum and maximum.
        clip: [f64; 2],
    },
    /// Uniform choice from a list.
    Choice {
        /// The list.
        choice: Vec<f64>,
    },
}

/// Bodies distributed over a surface with a minimum distance between them. Draws `BODY.x`, `BODY.y` and, if `yaw` is
/// given, `BODY.yaw` for each.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// The bodies, placed in this order.
    pub bodies: Vec<String>,
    /// Range of x in m, in the parent's frame.
    pub x: [f64; 2],
    /// Range of y in m.
    pub y: [f64; 2],
    /// Height in m; defaults to the height in the MJCF.
    pub z: Option<f64>,
    /// Range of the rotation about z in rad.
    pub yaw: Option<[f64; 2]>,
    /// Minimum distance between two bodies' origins in m.
    pub spacing: f64,
    /// Circles to keep free.
    #[serde(default)]
    pub avoid: Vec<Avoid>,
}

/// A circle kept free of placed bodies.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Avoid {
    /// x coordinate of the centre in m.
    pub x: f64,
    /// y coordinate of the centre in m.
    pub y: f64,
    /// Radius in m.
    pub radius: f64,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetEntry {
    pub(crate) target: Target,
    pub(crate) value: Scalar,
}

/// A number, or an arithmetic expression over parameters.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Scalar {
    /// A number.
    Number(f64),
    /// An expression, for example `"0.5 * post_height"`.
    Expression(String),
}
