//! Links of the OpenAPI document: the operations that a response leads to, and the value that they take from it.

use serde_json::{Value, json};

/// A link from a response of one operation to other operations.
struct Link {
    /// Operation id and status of the response.
    from: (&'static str, &'static str),
    /// JSON pointer to the id in the response.
    id: &'static str,
    /// The operations that take the id, each with the name of its parameter.
    to: &'static [(&'static str, &'static str)],
}

/// Operations that accept the id of any verification.
const VERIFICATION: &[(&str, &str)] = &[
    ("verification", "job_id"),
    ("verification_events", "job_id"),
    ("episodes", "job_id"),
    ("verification_attestation", "job_id"),
    ("verification_report", "job_id"),
    ("verification_report_page", "job_id"),
    ("verification_archive", "job_id"),
    ("replay_verification", "job_id"),
    ("review_verification", "job_id"),
    ("cancel_verification", "job_id"),
    ("erase_verification", "job_id"),
];
/// Operations for a verification that was just accepted; those that need its result are left out.
const NEW_VERIFICATION: &[(&str, &str)] = &[
    ("verification", "job_id"),
    ("verification_events", "job_id"),
    ("episodes", "job_id"),
    ("cancel_verification", "job_id"),
];
const CANCELLED_VERIFICATION: &[(&str, &str)] = &[("verification", "job_id"), ("erase_verification", "job_id")];
const SUBMISSION: &[(&str, &str)] = &[
    ("submission", "id"),
    ("submission_events", "id"),
    ("submission_episodes", "id"),
    ("submission_attestation", "id"),
    ("submission_report", "id"),
    ("submission_report_page", "id"),
    ("submission_archive", "id"),
    ("replay_submission", "id"),
    ("choose_submission", "id"),
    ("cancel_submission", "id"),
    ("erase_submission", "id"),
];
const NEW_SUBMISSION: &[(&str, &str)] =
    &[("submission", "id"), ("submission_events", "id"), ("cancel_submission", "id")];
const SCENARIO: &[(&str, &str)] =
    &[("scenario", "id"), ("scenario_spec", "id"), ("leaderboard", "scenario"), ("seasons", "scenario")];
const COMMUNITY_SCENARIO: &[(&str, &str)] =
    &[("community_scenario", "id"), ("delete_community_scenario", "id"), ("scenario_spec", "id")];
const MODEL: &[(&str, &str)] = &[("model", "id"), ("delete_model", "id")];
/// The example of an announcement is that of a file which a client of the document can send.
const NEW_MODEL: &[(&str, &str)] = &[("append_to_model", "id"), ("model", "id"), ("delete_model", "id")];
const LINKS: &[Link] = &[
    Link { from: ("verify", "201"), id: "/job_id", to: NEW_VERIFICATION },
    Link { from: ("verifications", "200"), id: "/jobs/0/job_id", to: VERIFICATION },
    Link { from: ("verification", "200"), id: "/job_id", to: VERIFICATION },
    Link { from: ("cancel_verification", "200"), id: "/job_id", to: CANCELLED_VERIFICATION },
    Link { from: ("submit", "201"), id: "/submission_id", to: NEW_SUBMISSION },
    Link { from: ("submissions", "200"), id: "/submissions/0/id", to: SUBMISSION },
    Link { from: ("submission", "200"), id: "/id", to: SUBMISSION },
    Link { from: ("scenarios", "200"), id: "/scenarios/0/id", to: SCENARIO },
    Link { from: ("publish_scenario", "201"), id: "/id", to: COMMUNITY_SCENARIO },
    Link { from: ("community_scenarios", "200"), id: "/scenarios/0/id", to: COMMUNITY_SCENARIO },
    Link {
        from: ("collections", "200"),
        id: "/collections/0/id",
        to: &[("collection", "id"), ("leaderboard", "collection")],
    },
    Link { from: ("announce_model", "201"), id: "/upload_id", to: NEW_MODEL },
    Link { from: ("models", "200"), id: "/models/0/sha256", to: MODEL },
    // Not from the list of keys, whose first key belongs to an administrator.
    Link { from: ("create_key", "201"), id: "/id", to: &[("revoke_key", "id")] },
    Link { from: ("create_worker", "201"), id: "/name", to: &[("drain_worker", "name"), ("revoke_worker", "name")] },
];

/// Adds the links to an operation, by its id.
pub(in crate::routes) fn add(operation: &mut Value) {
    let Some(id) = operation["operationId"].as_str().map(str::to_owned) else { return };
    for link in LINKS.iter().filter(|link| link.from.0 == id) {
        let targets = link.to.iter().filter(|(to, _)| *to != id);
        let links: serde_json::Map<String, Value> = targets
            .map(|(to, parameter)| {
                let from = format!("$response.body#{}", link.id);
                ((*to).to_owned(), json!({ "operationId": to, "parameters": { *parameter: from } }))
            })
            .collect();
        operation["responses"][link.from.1]["links"] = Value::Object(links);
    }
}
