//! The JSON Schema of `report.json`, made from the types that it is written from.

use assay_model::JobReport;
use serde_json::{Map, Value, json};
use utoipa::OpenApi;

use crate::json::JsonError;

/// Where the types' references point, and where they point in a schema that stands alone.
const REFERENCES: [(&str, &str); 2] = [("#/components/schemas/", "#/$defs/"), ("u-int", "uint")];

#[derive(OpenApi)]
#[openapi(components(schemas(JobReport)))]
struct Types;

/// The schema (JSON Schema 2020-12), indented, with a newline at the end. Every field is required: those that have
/// nothing to say are `null`.
///
/// # Errors
/// [`JsonError::Write`] should the types have no form in JSON.
pub fn render() -> Result<String, JsonError> {
    let types = serde_json::to_value(Types::openapi()).map_err(JsonError::Write)?;
    let mut definitions = types["components"]["schemas"].clone();
    for definition in definitions.as_object_mut().into_iter().flat_map(Map::values_mut) {
        stand_alone(definition);
    }
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:assay:report:v1",
        "title": "report.json of assay",
        "$ref": "#/$defs/JobReport",
        "$defs": definitions,
    });
    let mut text = serde_json::to_string_pretty(&schema).map_err(JsonError::Write)?;
    text.push('\n');
    Ok(text)
}

/// Mends references and names of formats, and requires every field.
fn stand_alone(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for name in ["$ref", "format"] {
                if let Some(Value::String(text)) = fields.get_mut(name) {
                    for (from, to) in REFERENCES {
                        *text = text.replace(from, to);
                    }
                }
            }
            let names = fields.get("properties").and_then(Value::as_object).map(|p| p.keys().cloned().collect());
            if let Some(names) = names {
                fields.insert("required".to_owned(), Value::Array(names_of(names)));
            }
            fields.values_mut().for_each(stand_alone);
        }
        Value::Array(items) => items.iter_mut().for_each(stand_alone),
        _ => {}
    }
}

fn names_of(names: Vec<String>) -> Vec<Value> {
    names.into_iter().map(Value::String).collect()
}
