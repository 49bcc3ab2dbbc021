//! The schemas of bodies (`components.schemas`), generated from the Rust types that are read and written.

use assay_model::Preflight;
use assay_report::ReplayReport;
use assay_report::attest::{Envelope, PublishedKeys};
use assay_scenario::Spec;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::body::{ApiBody, PLACE};
use crate::events::JobUpdate;
use crate::http::ErrorResponse;
use crate::routes::{
    accesses, accounts, arena, collections, community, keys, models, runtimes, scenarios, service, session,
    submissions, verify, webhooks, workers,
};
use crate::views::{JobView, ScenarioDetail};
use crate::webhooks::WebhookMessage;

/// Returns the schemas of all bodies and of the types that they contain, by name.
pub(super) fn components() -> Map<String, Value> {
    let mut all = requests();
    all.extend(responses());
    all
}

/// Implements [`ApiBody`] for the types, and defines [`requests`] and [`responses`]. The schema of a request describes
/// the JSON that is read, where a field may be optional; the schema of a response describes the JSON that is written,
/// with all of its fields.
macro_rules! bodies {
    (requests { $($request:ty,)* } responses { $($response:ty,)* }) => {
        $(impl ApiBody for $request {})*
        $(impl ApiBody for $response {})*

        fn requests() -> Map<String, Value> {
            let mut schemas = generator(SchemaSettings::draft2020_12().for_deserialize());
            $(schemas.subschema_for::<$request>();)*
            schemas.take_definitions(true)
        }

        fn responses() -> Map<String, Value> {
            let mut schemas = generator(SchemaSettings::draft2020_12().for_serialize());
            $(schemas.subschema_for::<$response>();)*
            schemas.take_definitions(true)
        }
    };
}

bodies! {
    requests {
        arena::close::SeasonEnd,
        arena::open::NewSeasonRequest,
        community::publish::PublishForm,
        keys::create::NewKey,
        models::create::ModelAnnouncement,
        session::create::SignIn,
        submissions::create::SubmissionForm,
        verify::create::VerifyForm,
        verify::replay::NewReplay,
        verify::review::NewReview,
        workers::create::NewWorkerRequest,
        workers::drain::DrainRequest,
    }
    responses {
        accesses::list::AccessPage,
        accounts::list::AccountPage,
        arena::leaderboard::Leaderboard,
        arena::seasons::SeasonList,
        arena::view::SeasonView,
        collections::list::CollectionList,
        collections::list::CollectionView,
        runtimes::list::RuntimeList,
        community::list::CommunityPage,
        community::view::CommunityScenarioDetail,
        keys::create::CreatedKey,
        keys::list::KeyList,
        models::list::ModelPage,
        models::view::ModelView,
        scenarios::list::ScenarioList,
        service::health::Health,
        service::health::Ready,
        service::index::Index,
        service::servers::ServerList,
        service::storage::StorageReport,
        session::create::Session,
        submissions::attestation::Attestation,
        submissions::create::NewSubmission,
        submissions::list::SubmissionPage,
        submissions::view::SubmissionDetail,
        verify::connection::NewConnection,
        verify::episodes::EpisodePage,
        verify::list::JobPage,
        verify::reviews::ReviewPage,
        webhooks::deliveries::WebhookDeliveryPage,
        webhooks::secret::NewWebhookSecret,
        workers::create::CreatedWorker,
        workers::list::WorkerList,
        workers::list::WorkerView,
        Envelope,
        ErrorResponse,
        JobUpdate,
        JobView,
        Preflight,
        PublishedKeys,
        ReplayReport,
        ScenarioDetail,
        Spec,
        WebhookMessage,
    }
}

fn generator(mut settings: SchemaSettings) -> SchemaGenerator {
    settings.definitions_path = PLACE.into();
    settings.with_transform(RecursiveTransform(simplify)).into_generator()
}

/// Simplifies a schema to the form that client generators support best: names become an `enum`, alternatives are
/// mutually exclusive, formats are those of the registry, and there are no defaults.
fn simplify(schema: &mut Schema) {
    schema.remove("default");
    if schema.get("format").is_some_and(|format| format == "uint") {
        schema.remove("format");
    }
    if let Some(alternatives) = schema.remove("anyOf") {
        schema.insert("oneOf".to_owned(), alternatives);
    }
    if let Some(names) = names(schema) {
        schema.remove("oneOf");
        schema.insert("type".to_owned(), json!("string"));
        schema.insert("enum".to_owned(), Value::Array(names));
    }
}

/// Returns the names that a schema allows, if it allows nothing else.
fn names(schema: &Schema) -> Option<Vec<Value>> {
    schema.get("oneOf")?.as_array()?.iter().map(|alternative| alternative.get("const").cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::{components, requests, responses};

    #[test]
    fn a_name_has_one_schema() {
        let responses = responses();
        for (name, schema) in requests() {
            assert!(responses.get(&name).is_none_or(|other| *other == schema), "{name}: requests and responses differ");
        }
        // A second type of the same name would get a number appended.
        let numbered: Vec<_> = components().into_iter().filter(|(name, _)| name.ends_with(char::is_numeric)).collect();
        assert!(numbered.is_empty(), "{numbered:#?}");
    }
}
