//! `[[clause]]`: the safety rules.

use assay_model::{Harm, Level};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClauseEntry {
    pub(crate) id: String,
    pub(crate) title: String,
    #[schemars(schema_with = "levels")]
    pub(crate) level: Level,
    pub(crate) harm: Option<Harm>,
    #[serde(default = "one")]
    #[schemars(range(max = 1))]
    pub(crate) weight: f64,
    pub(crate) standard: String,
    pub(crate) unit: String,
    pub(crate) limit: f64,
    pub(crate) scale: Option<f64>,
    #[serde(default)]
    pub(crate) terminal: bool,
    #[serde(default)]
    pub(crate) must_activate: bool,
    pub(crate) formula: String,
}

fn levels(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "enum": ["critical", "warning"] })
}

fn one() -> f64 {
    1.0
}
