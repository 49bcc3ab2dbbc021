//! Evidence for the identity of a policy.

use serde::{Deserialize, Serialize};

/// Way in which the evaluated policy is identified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PolicyIdentity {
    /// The service ran the archive whose SHA-256 is in the report.
    Measured,
    /// A policy server at a given address claimed to be the policy.
    Declared,
}
