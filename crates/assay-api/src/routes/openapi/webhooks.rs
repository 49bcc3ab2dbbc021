//! The OpenAPI document's section `webhooks`: the messages that a client's own server receives.

use serde_json::{Value, json};

/// Returns the section with the message about the end of a job.
pub(in crate::routes) fn section() -> Value {
    let header = |name: &str, description: &str, schema: Value| json!({ "name": name, "in": "header", "required": true, "description": description, "schema": schema });
    let signature = "`v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64, once for each secret that is good, separated by spaces";
    json!({ "job_ended": { "post": {
        "operationId": "job_ended",
        "tags": ["webhooks"],
        "summary": "The end of a job",
        "description": "Sent to the job's `callback_url` when it is COMPLETED, FAILED or CANCELLED. Signed after \
            Standard Webhooks 1.0.0: verify the signature, and refuse what was signed more than five minutes ago. Any answer but \
            2xx is tried again for a day; 410 ends that.",
        "security": [],
        "parameters": [
            header("webhook-id", "The job's id; a message that comes twice has it again", json!({ "type": "string", "format": "uuid" })),
            header("webhook-timestamp", "When it was signed, in Unix seconds", json!({ "type": "integer", "format": "int64" })),
            header("webhook-signature", signature, json!({ "type": "string", "pattern": "^v1,[A-Za-z0-9+/=]+( v1,[A-Za-z0-9+/=]+)*$" })),
        ],
        "requestBody": {
            "required": true,
            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/WebhookMessage" } } },
        },
        "responses": {
            "204": { "description": "Confirmed, as with every other 2xx" },
            "410": { "description": "The receiver wants no more: it is not tried again" },
        },
    } } })
}
