//! The JSON Schema of `report.json`, generated from the types that define it.

use assay_model::JobReport;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;

use crate::json::JsonError;

/// Returns the schema (JSON Schema 2020-12), indented, with a newline at the end. All fields are required; fields
/// without a value are `null`.
///
/// # Errors
/// [`JsonError::Write`] if the schema cannot be represented in JSON.
pub fn render() -> Result<String, JsonError> {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let settings = settings.with_transform(RecursiveTransform(without_default));
    let mut schema = settings.into_generator().into_root_schema_for::<JobReport>();
    schema.insert("$id".to_owned(), "urn:assay:report:v1".into());
    schema.insert("title".to_owned(), "report.json of assay".into());
    let mut text = serde_json::to_string_pretty(schema.as_value()).map_err(JsonError::Write)?;
    text.push('\n');
    Ok(text)
}

/// Removes default values, which apply only to reading older reports: a written report has all fields.
fn without_default(schema: &mut Schema) {
    schema.remove("default");
}
