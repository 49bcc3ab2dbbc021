//! Kinds of harm, by which violations are ordered.

use serde::{Deserialize, Serialize};

/// Kind of harm that a clause guards against, gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Harm {
    /// A person is touched, pressed or approached.
    Person,
    /// Something else is touched, pressed or approached.
    Collision,
    /// The robot leaves its limits: a joint, a speed, a torque.
    Limit,
    /// Everything else, such as tilt, acceleration or reversals.
    Comfort,
}
