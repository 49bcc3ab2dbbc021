//! Access to the metrics.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The clients that may read `/metrics` on the address of the API. The listener of the metrics asks for nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum MetricsAccess {
    /// No client, and no listener of the metrics.
    Off,
    /// Clients with an `admin` key.
    Admin,
    /// Clients with an `admin` key, and clients on this machine that do not connect through a proxy. The latter is the
    /// rule of earlier releases, and will go.
    #[default]
    Loopback,
    /// Every client.
    Any,
}
