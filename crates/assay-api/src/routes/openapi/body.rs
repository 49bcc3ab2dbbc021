//! References to the schemas of bodies, for the declarations of handlers.

use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

/// JSON pointer to the schemas in the document.
pub(super) const PLACE: &str = "/components/schemas";

/// A type of request or response bodies whose schema is in the document. The list in `schemas.rs` implements it.
pub(in crate::routes) trait ApiBody: JsonSchema {}

/// Returns the reference to the schema of a body, for `body = ref(...)` in the declaration of a handler.
pub(in crate::routes) fn schema_of<T: ApiBody>() -> String {
    format!("#{PLACE}/{}", T::schema_name())
}

/// Removes `null` from the types of a form's optional parts: a part has a value or is absent.
pub(in crate::routes) fn never_null(form: &mut Schema) {
    let parts = form.get_mut("properties").and_then(Value::as_object_mut);
    for part in parts.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        // `null` comes last.
        if let Some(kind) = part.get("type").and_then(|kinds| kinds.get(0)).cloned() {
            part.insert("type".to_owned(), kind);
        }
        if let Some(Value::Array(mut alternatives)) = part.remove("anyOf")
            && let Value::Object(kind) = alternatives.swap_remove(0)
        {
            part.extend(kind);
        }
    }
}
