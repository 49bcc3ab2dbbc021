//! The OpenAPI document's section `webhooks`: the messages that a client's own server receives.

use serde_json::{Value, json};

/// Returns the section with the message about the end of a job.
pub(in crate::routes) fn section() -> Value {
    let header = |name: &str, description: &str, schema: Value| json!({ "name": name, "in": "header", "required": true, "description": description, "schema": schema });
    let signature =
        "`v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64, once for each valid secret, separated by spaces";
    json!({ "job_ended": { "post": {
        "operationId": "job_ended",
        "tags": ["webhooks"],
        "summary": "The end of a job",
        "description": "Sent to the job's `callback_url` when the job is COMPLETED, FAILED or CANCELLED. Signed \
            according to Standard Webhooks 1.0.0: verify the signature, and reject messages that were signed more than \
            five minutes ago. After any response but 2xx, the message is sent again for up to a day; 410 ends the \
            retries.",
        "security": [],
        "parameters": [
            header("webhook-id", "Id of the job; the same in every attempt to deliver the message", json!({ "type": "string", "format": "uuid" })),
            header("webhook-timestamp", "Time of the signature, in Unix seconds", json!({ "type": "integer", "format": "int64" })),
            header("webhook-signature", signature, json!({ "type": "string", "pattern": "^v1,[A-Za-z0-9+/=]+( v1,[A-Za-z0-9+/=]+)*$" })),
        ],
        "requestBody": {
            "required": true,
            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/WebhookMessage" } } },
        },
        "responses": {
            "204": { "description": "Confirmed; any other 2xx is equivalent" },
            "410": { "description": "The receiver declines further attempts" },
        },
    } } })
}
