//! Who may read the metrics.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who may read `/metrics`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum MetricsAccess {
    /// Nobody.
    Off,
    /// Who asks from this machine, and not by a proxy.
    #[default]
    Loopback,
    /// Everybody who reaches the service.
    Any,
}
