//! The list of endpoints and pages. The router, the OpenAPI document, the scopes and the rate classes come from it.

use assay_model::Scope;
use utoipa::OpenApi;

use super::endpoint::{Endpoint, EndpointInfo};
use super::openapi::document::DeclaredApi;
use super::rate_class::RateClass;
use super::{
    accesses, accounts, arena, collections, community, connections, evidence, keys, models, openapi, runtimes,
    scenarios, service, session, submissions, verify, webhooks, workers,
};
use crate::ui;

/// Returns all endpoints.
#[must_use]
pub fn endpoints() -> Vec<EndpointInfo> {
    list().iter().map(Endpoint::info).collect()
}

/// Returns the declarations of the documented handlers, and all endpoints.
pub(crate) fn declared_api() -> DeclaredApi {
    DeclaredApi { document: Declared::openapi(), endpoints: endpoints() }
}

/// Defines [`list`] and [`Declared`]. Each row has a method, a path, a handler, and the deviations from an endpoint
/// that needs no key and responds with JSON.
macro_rules! endpoints {
    (
        documented { $($method:ident($path:literal, $($handler:ident)::+) $(.$set:ident($($value:expr)?))* ;)* }
        undocumented { $($hidden:ident($hidden_path:literal, $($hidden_handler:ident)::+) $(.$hidden_set:ident($($hidden_value:expr)?))* ;)* }
        pages { $($shown:ident($shown_path:literal, $($shown_handler:ident)::+);)* }
    ) => {
        /// Returns the list of endpoints, the documented ones in the order of the OpenAPI document.
        pub(crate) fn list() -> Vec<Endpoint> {
            vec![
                $(Endpoint::$method($path, || axum::routing::$method($($handler)::+)) $(.$set($($value)?))*,)*
                $(Endpoint {
                    documented: false,
                    ..Endpoint::$hidden($hidden_path, || axum::routing::$hidden($($hidden_handler)::+))
                        $(.$hidden_set($($hidden_value)?))*
                },)*
                $(Endpoint::$shown($shown_path, || axum::routing::$shown($($shown_handler)::+)).into_page(),)*
            ]
        }

        /// The declarations of the documented handlers.
        #[derive(OpenApi)]
        #[openapi(
            info(
                title = "assay",
                contact(name = "The operator of this service"),
                license(name = "Apache-2.0", identifier = "Apache-2.0"),
            ),
            paths($($($handler)::+),*),
        )]
        struct Declared;
    };
}

// In the order in which clients need them.
endpoints! {
documented {
    post("/verify", verify::create::handle).scope(Scope::Verify).rate(RateClass::Verify);
    post("/preflight", verify::preflight::handle).scope(Scope::Verify);
    get("/verify/{job_id}", verify::get::handle).scope(Scope::Read);
    get("/verify/{job_id}/events", verify::events::handle).scope(Scope::Read).not_json();
    get("/verify/{job_id}/episodes", verify::episodes::handle).scope(Scope::Read);
    get("/verify/{job_id}/report", verify::report::page).scope(Scope::Read).html();
    get("/verify/{job_id}/report.json", verify::report::document).scope(Scope::Read).cacheable();
    get("/verify/{job_id}/attestation", verify::attestation::handle).scope(Scope::Read).cacheable();
    get("/verify/{job_id}/archive", verify::archive::handle).scope(Scope::Read).not_json();
    get("/artifacts/{job_id}/{sha256}/{name}", evidence::artifact::handle).not_json();
    get("/verify", verify::list::handle).scope(Scope::Read);
    post("/verify/{job_id}/connection", verify::connection::handle).scope(Scope::Verify);
    post("/verify/{job_id}/cancel", verify::cancel::handle).scope(Scope::Verify);
    post("/verify/{job_id}/replay", verify::replay::handle).scope(Scope::Verify);
    post("/verify/{job_id}/review", verify::review::handle).scope(Scope::Review);
    get("/reviews", verify::reviews::handle).scope(Scope::Review);
    delete("/verify/{job_id}", verify::erase::handle).scope(Scope::Verify);
    // Changes are for keys with the scope `verify` or `submit`.
    post("/models", models::create::handle).any_key().rate(RateClass::Models);
    patch("/models/{id}", models::append::handle).any_key().rate(RateClass::Models);
    get("/models/{id}", models::get::handle).scope(Scope::Read);
    get("/models", models::list::handle).scope(Scope::Read);
    delete("/models/{id}", models::delete::handle).any_key().rate(RateClass::Models);
    get("/scenarios", scenarios::list::handle).scope(Scope::Read).cacheable();
    get("/scenarios/{id}", scenarios::get::handle).scope(Scope::Read).cacheable();
    get("/scenarios/{id}/spec", scenarios::spec::handle).scope(Scope::Read).cacheable();
    get("/collections", collections::list::handle).scope(Scope::Read).cacheable();
    get("/collections/{id}", collections::get::handle).scope(Scope::Read).cacheable();
    get("/runtimes", runtimes::list::handle).scope(Scope::Read).cacheable();
    get("/community/scenarios", community::list::handle).scope(Scope::Read);
    get("/community/scenarios/{id}", community::get::handle).scope(Scope::Read);
    get("/thumbnails/{digest}", evidence::thumbnail::handle).not_json();
    post("/community/scenarios", community::publish::handle).scope(Scope::Publish);
    delete("/community/scenarios/{id}", community::delete::handle).scope(Scope::Publish);
    get("/seasons", arena::seasons::handle).scope(Scope::Read).cacheable();
    post("/seasons", arena::open::handle).scope(Scope::Admin);
    post("/seasons/close", arena::close::handle).scope(Scope::Admin);
    post("/submissions", submissions::create::handle).scope(Scope::Submit).rate(RateClass::Submit);
    get("/submissions/{id}", submissions::get::handle).scope(Scope::Read);
    get("/submissions/{id}/events", submissions::events::handle).scope(Scope::Read).not_json();
    get("/leaderboard", arena::leaderboard::handle).scope(Scope::Read).cacheable();
    get("/submissions", submissions::list::handle).scope(Scope::Read);
    post("/submissions/{id}/choose", submissions::choose::handle).scope(Scope::Submit);
    post("/submissions/{id}/cancel", submissions::cancel::handle).scope(Scope::Submit);
    get("/submissions/{id}/episodes", submissions::episodes::handle).scope(Scope::Read);
    get("/submissions/{id}/report", submissions::report::page).scope(Scope::Read).html();
    get("/submissions/{id}/report.json", submissions::report::document).scope(Scope::Read);
    get("/submissions/{id}/attestation", submissions::attestation::handle).scope(Scope::Read);
    get("/submissions/{id}/archive", submissions::archive::handle).scope(Scope::Read).not_json();
    post("/submissions/{id}/replay", submissions::replay::handle).scope(Scope::Submit);
    delete("/submissions/{id}", submissions::erase::handle).scope(Scope::Submit);
    // For keys with the scope `verify` or `submit`.
    post("/webhooks/secret", webhooks::secret::handle).any_key();
    get("/webhooks/deliveries", webhooks::deliveries::handle).scope(Scope::Read);
    post("/workers", workers::create::handle).scope(Scope::Admin);
    get("/workers", workers::list::handle).scope(Scope::Admin);
    post("/workers/{name}/drain", workers::drain::handle).scope(Scope::Admin);
    delete("/workers/{name}", workers::revoke::handle).scope(Scope::Admin);
    post("/keys", keys::create::handle).scope(Scope::Admin);
    get("/keys", keys::list::handle).scope(Scope::Admin);
    // Any key may rotate itself.
    post("/keys/rotate", keys::rotate::handle).any_key();
    delete("/keys/{id}", keys::revoke::handle).scope(Scope::Admin);
    get("/accounts", accounts::list::handle).scope(Scope::Admin);
    get("/accesses", accesses::list::handle).scope(Scope::Admin);
    post("/session", session::create::handle);
    get("/session", session::create::show);
    delete("/session", session::delete::handle);
    get("/", service::index::handle).or_page("/ui");
    get("/healthz", service::health::alive);
    get("/readyz", service::health::ready);
    get("/metrics", service::metrics::handle).not_json();
    get("/servers", service::servers::handle).scope(Scope::Admin);
    get("/storage", service::storage::handle).scope(Scope::Admin);
    get("/.well-known/assay-keys.json", service::signing_keys::handle).cacheable();
}
undocumented {
    get("/connections/{job_id}", connections::open::handle).not_json();
    get("/openapi.json", openapi::document::handle).cacheable();
    get("/docs", service::docs::index).rate(RateClass::Pages).not_json();
    get("/docs/", service::docs::folder).rate(RateClass::Pages).not_json();
    get("/docs/{file}", service::docs::file).rate(RateClass::Pages).not_json();
}
pages {
    get("/ui", ui::start::handle);
    get("/ui/", ui::start::folder);
    get("/ui/jobs", ui::jobs::handle);
    get("/ui/scenarios", ui::scenarios::handle);
    get("/ui/scenarios/{id}", ui::scenario::handle);
    get("/ui/scenarios/{id}/policy.py", ui::scenario::starter);
    get("/ui/scenarios/{id}/cheats", ui::cheats::handle);
    get("/ui/scenarios/{id}/clips/{file}", ui::clips::handle);
    get("/ui/scenarios/{id}/delete", ui::community::ask);
    post("/ui/scenarios/{id}/delete", ui::community::delete);
    get("/ui/community", ui::community::handle);
    get("/ui/publish", ui::publish::form);
    post("/ui/publish", ui::publish::submit);
    get("/ui/collections", ui::collections::handle);
    get("/ui/collections/{id}", ui::collections::one);
    get("/ui/reviews", ui::reviews::handle);
    get("/ui/arena", ui::arena::handle);
    get("/ui/arena/{id}", ui::arena::board);
    get("/ui/arena/{id}/submit", ui::arena_submit::form);
    post("/ui/arena/{id}/submit", ui::arena_submit::submit);
    get("/ui/arena/{id}/season", ui::season::ask);
    post("/ui/arena/{id}/season/open", ui::season::open);
    post("/ui/arena/{id}/season/close", ui::season::close);
    get("/ui/models", ui::models::handle);
    get("/ui/models/{id}", ui::models::ask);
    post("/ui/models/{id}/delete", ui::models::delete);
    get("/ui/submissions", ui::submissions::handle);
    get("/ui/submissions/{id}", ui::submissions::one);
    get("/ui/operator", ui::operator::handle);
    get("/ui/servers", ui::servers::handle);
    get("/ui/accounts", ui::accounts::handle);
    get("/ui/storage", ui::storage::handle);
    get("/ui/keys", ui::keys::handle);
    post("/ui/keys", ui::keys::create);
    get("/ui/keys/{id}", ui::keys::ask);
    post("/ui/keys/{id}/revoke", ui::keys::revoke);
    post("/ui/keys/{id}/replace", ui::keys::replace);
    get("/ui/workers", ui::workers::handle);
    post("/ui/workers", ui::workers::create);
    get("/ui/workers/{name}", ui::workers::ask);
    post("/ui/workers/{name}/drain", ui::workers::drain);
    post("/ui/workers/{name}/revoke", ui::workers::revoke);
    get("/ui/webhooks", ui::webhooks::handle);
    post("/ui/webhooks/secret", ui::webhooks::create);
    get("/ui/submit", ui::submit::form);
    post("/ui/submit", ui::submit::submit);
    get("/ui/verifications/{id}", ui::verification::handle);
    get("/ui/verifications/{id}/episodes/{episode}", ui::episode::handle);
    post("/ui/verifications/{id}/replay", ui::replay::submit);
    post("/ui/verifications/{id}/cancel", ui::cancel::submit);
    post("/ui/verifications/{id}/review", ui::reviews::decide);
    get("/ui/docs", ui::docs::index);
    get("/ui/docs/{page}", ui::docs::one);
    get("/ui/docs/images/{file}", ui::docs::image);
    get("/ui/sign-in", ui::sign_in::form);
    post("/ui/sign-in", ui::sign_in::submit);
    post("/ui/sign-out", ui::sign_out::submit);
    get("/ui/{file}", ui::files::handle);
}
}
