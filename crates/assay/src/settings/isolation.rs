//! The isolation that an operator accepts.

use assay_model::Isolation;
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A weaker tier that is accepted instead of namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WeakerIsolation {
    Landlock,
}

/// Returns the weakest tier in which policies may run.
pub(crate) fn accepted_isolation(weaker: Option<WeakerIsolation>, none: bool) -> Isolation {
    match (none, weaker) {
        (true, _) => Isolation::None,
        (false, Some(WeakerIsolation::Landlock)) => Isolation::Landlock,
        (false, None) => Isolation::Namespaces,
    }
}
