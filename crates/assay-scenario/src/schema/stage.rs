//! `[[stage]]` and `[success]`: the parts of the task and its success condition.

use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StageEntry {
    pub(crate) name: String,
    pub(crate) points: f64,
    pub(crate) when: String,
    #[serde(default)]
    pub(crate) hold_s: f64,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SuccessEntry {
    pub(crate) when: String,
    #[serde(default)]
    pub(crate) hold_s: f64,
    #[serde(default)]
    pub(crate) at: SuccessAt,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SuccessAt {
    #[default]
    Any,
    End,
}
