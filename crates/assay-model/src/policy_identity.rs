//! The evidence for the identity of a policy.

use serde::{Deserialize, Serialize};

/// Identification of the evaluated policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PolicyIdentity {
    /// We ran the archive whose hash stands in the report.
    Measured,
    /// A server at an address claimed to be it.
    Declared,
}
