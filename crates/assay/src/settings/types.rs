//! Types of the values of settings.

use std::borrow::Cow;
use std::net::IpAddr;

use assay_model::Secret;
use ipnet::IpNet;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};

/// A network, or a single address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Network(pub(crate) IpNet);

impl TryFrom<String> for Network {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let address = || text.parse::<IpAddr>().map(IpNet::from);
        text.parse().or_else(|_| address()).map(Self).map_err(|_| "a network such as 192.168.0.0/16, or an address")
    }
}

impl From<Network> for String {
    fn from(network: Network) -> Self {
        network.0.to_string()
    }
}

/// A secret in the settings, which is never shown. `writeOnly` in the schema keeps it out of all output.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "String")]
pub(crate) struct SecretText(Secret);

impl SecretText {
    pub(crate) fn reveal(&self) -> &str {
        self.0.reveal()
    }
}

impl From<String> for SecretText {
    fn from(text: String) -> Self {
        Self(Secret::new(text))
    }
}

impl Serialize for SecretText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("[secret]")
    }
}

impl JsonSchema for SecretText {
    fn schema_name() -> Cow<'static, str> {
        "Secret".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "writeOnly": true })
    }
}
