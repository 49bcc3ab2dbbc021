//! `[parameters]`, `[[placement]]` and `[[set]]`: the draws of an episode and their effect on the world.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::Target;

/// Distribution of a parameter.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case", untagged)]
pub enum Distribution {
    /// Even over [low, high).
    Uniform {
        /// Low and high.
        uniform: [f64; 2],
    },
    /// Normal, cut to `clip`.
    Normal {
        /// Mean and standard deviation.
        normal: [f64; 2],
        /// Least and greatest value.
        clip: [f64; 2],
    },
    /// One of a list, each as likely.
    Choice {
        /// The list.
        choice: Vec<f64>,
    },
}

/// Bodies put on a surface so that none overlaps another. Draws `BODY.x`, `BODY.y` and, where `yaw` is given,
/// `BODY.yaw` for each.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// The bodies, placed in this order.
    pub bodies: Vec<String>,
    /// Range of x in m, in the parent's frame.
    pub x: [f64; 2],
    /// Range of y in m.
    pub y: [f64; 2],
    /// Height in m; the MJCF's own where absent.
    pub z: Option<f64>,
    /// Range of the turn about z in rad.
    pub yaw: Option<[f64; 2]>,
    /// Least distance between two bodies' origins in m.
    pub spacing: f64,
    /// Circles that stay free.
    #[serde(default)]
    pub avoid: Vec<Avoid>,
}

/// A circle that stays free of placed bodies.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Avoid {
    /// Centre in m.
    pub x: f64,
    /// Centre in m.
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

/// A number, or arithmetic over parameters.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Scalar {
    /// As written.
    Number(f64),
    /// For example `"0.5 * post_height"`.
    Expression(String),
}
