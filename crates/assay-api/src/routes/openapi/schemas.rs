//! The schemas of bodies: `components.schemas`, made from the types that are read and written.

use assay_model::Preflight;
use assay_report::ReplayReport;
use assay_report::attest::{Envelope, PublishedKeys};
use assay_scenario::Spec;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::events::JobUpdate;
use crate::http::ErrorResponse;
use crate::routes::{arena, collections, community, keys, scenarios, service, session, submissions, verify, webhooks};
use crate::views::{JobView, ScenarioDetail};
use crate::webhooks::WebhookMessage;

/// The place of the schemas in the document.
const PLACE: &str = "/components/schemas";

/// A type of bodies, whose schema is in the document. The list below implements it.
pub(in crate::routes) trait Body: JsonSchema {}

/// Returns the reference to the schema of a body, for `body = ref(...)` in the declaration of a handler.
pub(in crate::routes) fn schema_of<T: Body>() -> String {
    format!("#{PLACE}/{}", T::schema_name())
}

/// Implements [`Body`] for the types, and defines [`components`]. A schema of a request describes the JSON that is
/// read, where a field may be optional; one of a response describes the JSON that is written, with each of its fields.
macro_rules! bodies {
    (requests { $($request:ty,)* } responses { $($response:ty,)* }) => {
        $(impl Body for $request {})*
        $(impl Body for $response {})*

        /// Returns the schemas of all bodies, and of the types in them, by name.
        pub(super) fn components() -> Map<String, Value> {
            let mut requests = generator(SchemaSettings::draft2020_12().for_deserialize());
            $(requests.subschema_for::<$request>();)*
            let mut responses = generator(SchemaSettings::draft2020_12().for_serialize());
            $(responses.subschema_for::<$response>();)*
            let mut all = requests.take_definitions(true);
            all.extend(responses.take_definitions(true));
            all
        }
    };
}

bodies! {
    requests {
        community::publish::PublishForm,
        keys::create::NewKey,
        session::create::SignIn,
        submissions::create::SubmissionForm,
        verify::create::VerifyForm,
        verify::replay::NewReplay,
        verify::review::NewReview,
    }
    responses {
        arena::leaderboard::Leaderboard,
        arena::seasons::SeasonList,
        collections::list::CollectionList,
        collections::list::CollectionView,
        community::list::CommunityPage,
        community::view::CommunityScenarioDetail,
        keys::create::CreatedKey,
        keys::list::KeyList,
        scenarios::list::ScenarioList,
        service::health::Health,
        service::health::Ready,
        service::index::Index,
        session::create::Session,
        submissions::attestation::Attestation,
        submissions::create::NewSubmission,
        submissions::list::SubmissionPage,
        submissions::view::SubmissionDetail,
        verify::episodes::EpisodePage,
        verify::list::JobPage,
        webhooks::deliveries::WebhookDeliveryPage,
        webhooks::secret::NewWebhookSecret,
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

/// Gives a schema the form that generators of clients know best: names without descriptions are an `enum`,
/// alternatives exclude each other, and no default is named, which a response does not need.
fn simplify(schema: &mut Schema) {
    schema.remove("default");
    if let Some(alternatives) = schema.remove("anyOf") {
        schema.insert("oneOf".to_owned(), alternatives);
    }
    let alternatives = schema.get("oneOf").and_then(Value::as_array);
    let names: Option<Vec<Value>> =
        alternatives.and_then(|all| all.iter().map(|one| one.get("const").cloned()).collect());
    if let Some(names) = names {
        schema.remove("oneOf");
        schema.insert("type".to_owned(), json!("string"));
        schema.insert("enum".to_owned(), Value::Array(names));
    }
}

/// Removes `null` from the types of a form's optional parts: a part has a value, or is absent.
pub(in crate::routes) fn never_null(form: &mut Schema) {
    let parts = form.get_mut("properties").and_then(Value::as_object_mut);
    for part in parts.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        // `null` is the last one.
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
