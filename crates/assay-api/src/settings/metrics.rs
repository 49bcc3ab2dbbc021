//! Access to the metrics.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The clients that may read `/metrics`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum MetricsAccess {
    /// No client.
    Off,
    /// Clients on this machine that do not connect through a proxy.
    #[default]
    Loopback,
    /// Every client.
    Any,
}
