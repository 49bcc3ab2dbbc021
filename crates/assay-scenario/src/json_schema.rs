//! JSON Schemas of the two files, generated from the types that parse them. They describe the available keys to an
//! editor; constraints between keys (such as references by name) are checked by [`crate::Scenario::load`].

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::RobotModel;
use crate::schema::Document;

/// Returns the schema of `scenario.toml` (JSON Schema 2020-12).
#[must_use]
pub fn scenario_schema() -> Value {
    with_title::<Document>("scenario.toml, format 1")
}

/// Returns the schema of `robot.toml`.
#[must_use]
pub fn robot_schema() -> Value {
    with_title::<RobotModel>("robot.toml, format 1")
}

fn with_title<T: schemars::JsonSchema>(title: &str) -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}
