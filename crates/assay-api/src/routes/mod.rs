//! One endpoint a file, and the table of them all: the router, the check of scopes and the tests are made from it.

mod artifact;
mod collection;
mod collections;
mod community;
mod community_delete;
mod community_get;
mod community_list;
mod community_publish;
mod docs;
pub(crate) mod erased;
mod examples;
mod health;
mod index;
mod job_filter;
mod keys_create;
mod keys_list;
mod keys_revoke;
mod keys_rotate;
mod leaderboard;
mod metrics;
mod openapi;
mod openapi_intro;
mod openapi_links;
mod openapi_webhooks;
mod preflight;
mod present;
mod query;
mod scenario;
mod scenario_spec;
mod scenarios;
mod seasons_list;
mod session_create;
mod session_delete;
mod signing_keys;
mod submission;
mod submission_attestation;
mod submission_cancel;
mod submission_choose;
mod submission_episodes;
mod submission_erase;
mod submission_events;
mod submission_get;
mod submission_replay;
mod submission_report;
mod submissions_create;
mod submissions_list;
mod thumbnail;
mod verify_attestation;
mod verify_cancel;
mod verify_create;
mod verify_episodes;
mod verify_erase;
mod verify_events;
mod verify_get;
mod verify_list;
mod verify_replay;
mod verify_report;
mod verify_review;
mod webhook_deliveries;
mod webhook_secret;

use assay_model::Scope;
use axum::routing::{MethodRouter, delete, get, post};

pub(crate) use self::openapi::query_parameters;
pub(crate) use self::present::job as job_object;
pub(crate) use self::query::Query;
pub(crate) use self::submission::{SubmissionDetail, detail as submission_object};
use crate::state::App;

/// An endpoint, as documents and tests see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointInfo {
    /// `GET`, `POST` or `DELETE`.
    pub method: &'static str,
    /// With `{name}` for parameters; the same exists under `/v1`.
    pub path: &'static str,
    /// The scope that a key must have; `None`: no scope is needed.
    pub scope: Option<Scope>,
    /// Whether the request must carry a valid key. With no `scope`, a key of any scope will do.
    pub needs_key: bool,
    /// Which of a key's rate limits a request counts against.
    pub rate: RateClass,
    /// Stands in the OpenAPI document. All do but those that serve the document's own pages.
    pub documented: bool,
    /// Seldom changes: gets an `ETag`, and 304 for who has it.
    pub cacheable: bool,
}

/// Requests of a kind share a rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RateClass {
    /// Not limited: what needs no key.
    Free,
    /// Reading.
    Get,
    /// `POST /verify`.
    Verify,
    /// `POST /submissions`.
    Submit,
    /// All other changes.
    Write,
    /// Pages for people, and what belongs to them. Counted for those whose key or session comes with the request.
    Pages,
}

impl RateClass {
    /// All of them.
    pub(crate) const ALL: [Self; 6] = [Self::Free, Self::Get, Self::Verify, Self::Submit, Self::Write, Self::Pages];
}

/// All endpoints.
#[must_use]
pub fn endpoints() -> Vec<EndpointInfo> {
    let info = |e: &Endpoint| EndpointInfo {
        method: e.method,
        path: e.path,
        scope: e.scope,
        needs_key: e.needs_key,
        rate: e.rate,
        documented: e.documented,
        cacheable: e.cacheable,
    };
    table().iter().map(info).collect()
}

pub(crate) struct Endpoint {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) scope: Option<Scope>,
    pub(crate) needs_key: bool,
    rate: RateClass,
    /// Answers JSON, so that an `Accept` without it is refused. The others look at the header themselves.
    pub(crate) json: bool,
    /// Seldom changes: gets a tag, and 304 for who has it.
    pub(crate) cacheable: bool,
    documented: bool,
    pub(crate) handler: fn() -> MethodRouter<App>,
}

impl Endpoint {
    /// A page of the document itself.
    const fn page(method: &'static str, path: &'static str, handler: fn() -> MethodRouter<App>) -> Self {
        Self {
            method,
            path,
            scope: None,
            needs_key: false,
            rate: RateClass::Pages,
            json: false,
            cacheable: false,
            documented: false,
            handler,
        }
    }
}

/// Method, path, scope, rate class, handler, in the order of the docs page: the order in which clients need them. A row
/// added here is also named in `openapi`; docs/adding-an-endpoint.md.
pub(crate) fn table() -> Vec<Endpoint> {
    let read = Some(Scope::Read);
    let verify = Some(Scope::Verify);
    let submit = Some(Scope::Submit);
    let admin = Some(Scope::Admin);
    let review = Some(Scope::Review);
    let publish = Some(Scope::Publish);
    let row = |method, path, scope, rate, handler| Endpoint {
        method,
        path,
        scope,
        needs_key: scope.is_some(),
        rate,
        json: true,
        cacheable: false,
        documented: true,
        handler,
    };
    vec![
        row("POST", "/verify", verify, RateClass::Verify, || post(verify_create::handle)),
        row("POST", "/preflight", verify, RateClass::Write, || post(preflight::handle)),
        row("GET", "/verify/{job_id}", read, RateClass::Get, || get(verify_get::handle)),
        Endpoint {
            json: false,
            ..row("GET", "/verify/{job_id}/events", read, RateClass::Get, || get(verify_events::handle))
        },
        row("GET", "/verify/{job_id}/episodes", read, RateClass::Get, || get(verify_episodes::handle)),
        Endpoint {
            json: false,
            ..row("GET", "/verify/{job_id}/report", read, RateClass::Get, || get(verify_report::page))
        },
        Endpoint {
            cacheable: true,
            ..row("GET", "/verify/{job_id}/report.json", read, RateClass::Get, || get(verify_report::document))
        },
        Endpoint {
            cacheable: true,
            ..row("GET", "/verify/{job_id}/attestation", read, RateClass::Get, || get(verify_attestation::handle))
        },
        Endpoint {
            json: false,
            ..row("GET", "/artifacts/{job_id}/{sha256}/{name}", None, RateClass::Free, || get(artifact::handle))
        },
        row("GET", "/verify", read, RateClass::Get, || get(verify_list::handle)),
        row("POST", "/verify/{job_id}/cancel", verify, RateClass::Write, || post(verify_cancel::handle)),
        row("POST", "/verify/{job_id}/replay", verify, RateClass::Write, || post(verify_replay::handle)),
        row("POST", "/verify/{job_id}/review", review, RateClass::Write, || post(verify_review::handle)),
        row("DELETE", "/verify/{job_id}", verify, RateClass::Write, || delete(verify_erase::handle)),
        Endpoint { cacheable: true, ..row("GET", "/scenarios", read, RateClass::Get, || get(scenarios::handle)) },
        Endpoint { cacheable: true, ..row("GET", "/scenarios/{id}", read, RateClass::Get, || get(scenario::handle)) },
        Endpoint {
            cacheable: true,
            ..row("GET", "/scenarios/{id}/spec", read, RateClass::Get, || get(scenario_spec::handle))
        },
        Endpoint { cacheable: true, ..row("GET", "/collections", read, RateClass::Get, || get(collections::handle)) },
        Endpoint {
            cacheable: true,
            ..row("GET", "/collections/{id}", read, RateClass::Get, || get(collection::handle))
        },
        row("GET", "/community/scenarios", read, RateClass::Get, || get(community_list::handle)),
        row("GET", "/community/scenarios/{id}", read, RateClass::Get, || get(community_get::handle)),
        Endpoint {
            json: false,
            ..row("GET", "/thumbnails/{digest}", None, RateClass::Free, || get(thumbnail::handle))
        },
        row("POST", "/community/scenarios", publish, RateClass::Write, || post(community_publish::handle)),
        row("DELETE", "/community/scenarios/{id}", publish, RateClass::Write, || delete(community_delete::handle)),
        Endpoint { cacheable: true, ..row("GET", "/seasons", read, RateClass::Get, || get(seasons_list::handle)) },
        row("POST", "/submissions", submit, RateClass::Submit, || post(submissions_create::handle)),
        row("GET", "/submissions/{id}", read, RateClass::Get, || get(submission_get::handle)),
        Endpoint {
            json: false,
            ..row("GET", "/submissions/{id}/events", read, RateClass::Get, || get(submission_events::handle))
        },
        Endpoint { cacheable: true, ..row("GET", "/leaderboard", read, RateClass::Get, || get(leaderboard::handle)) },
        row("GET", "/submissions", read, RateClass::Get, || get(submissions_list::handle)),
        row("POST", "/submissions/{id}/choose", submit, RateClass::Write, || post(submission_choose::handle)),
        row("POST", "/submissions/{id}/cancel", submit, RateClass::Write, || post(submission_cancel::handle)),
        row("GET", "/submissions/{id}/episodes", read, RateClass::Get, || get(submission_episodes::handle)),
        Endpoint {
            json: false,
            ..row("GET", "/submissions/{id}/report", read, RateClass::Get, || get(submission_report::page))
        },
        row("GET", "/submissions/{id}/report.json", read, RateClass::Get, || get(submission_report::document)),
        row("GET", "/submissions/{id}/attestation", read, RateClass::Get, || get(submission_attestation::handle)),
        row("POST", "/submissions/{id}/replay", submit, RateClass::Write, || post(submission_replay::handle)),
        row("DELETE", "/submissions/{id}", submit, RateClass::Write, || delete(submission_erase::handle)),
        // For keys that verify or submit.
        Endpoint {
            needs_key: true,
            ..row("POST", "/webhooks/secret", None, RateClass::Write, || post(webhook_secret::handle))
        },
        row("GET", "/webhooks/deliveries", read, RateClass::Get, || get(webhook_deliveries::handle)),
        row("POST", "/keys", admin, RateClass::Write, || post(keys_create::handle)),
        row("GET", "/keys", admin, RateClass::Get, || get(keys_list::handle)),
        // Any key may do that to itself.
        Endpoint {
            needs_key: true,
            ..row("POST", "/keys/rotate", None, RateClass::Write, || post(keys_rotate::handle))
        },
        row("DELETE", "/keys/{id}", admin, RateClass::Write, || delete(keys_revoke::handle)),
        row("POST", "/session", None, RateClass::Free, || post(session_create::handle)),
        row("GET", "/session", None, RateClass::Free, || get(session_create::show)),
        row("DELETE", "/session", None, RateClass::Free, || delete(session_delete::handle)),
        row("GET", "/", None, RateClass::Free, || get(index::handle)),
        row("GET", "/healthz", None, RateClass::Free, || get(health::alive)),
        row("GET", "/readyz", None, RateClass::Free, || get(health::ready)),
        Endpoint { json: false, ..row("GET", "/metrics", None, RateClass::Free, || get(metrics::handle)) },
        Endpoint {
            cacheable: true,
            ..row("GET", "/.well-known/assay-keys.json", None, RateClass::Free, || get(signing_keys::handle))
        },
        Endpoint {
            documented: false,
            cacheable: true,
            ..row("GET", "/openapi.json", None, RateClass::Free, || get(openapi::handle))
        },
        Endpoint::page("GET", "/docs", || get(docs::index)),
        Endpoint::page("GET", "/docs/", || get(docs::folder)),
        Endpoint::page("GET", "/docs/{file}", || get(docs::file)),
    ]
}

/// Whether this path needs no key.
pub(crate) fn is_public(path: &str) -> bool {
    let path = match path.strip_prefix("/v1") {
        Some("") => "/",
        Some(rest) if rest.starts_with('/') => rest,
        _ => path,
    };
    // An artifact's address is its own key, and a thumbnail's; whoever signs in shows one; metrics look at the peer.
    matches!(
        path,
        "/" | "/openapi.json"
            | "/docs"
            | "/healthz"
            | "/readyz"
            | "/metrics"
            | "/session"
            | "/.well-known/assay-keys.json"
    ) || path.starts_with("/docs/")
        || path.starts_with("/artifacts/")
        || path.starts_with("/thumbnails/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_paths_are_those_of_the_table() {
        for endpoint in table() {
            assert_eq!(is_public(endpoint.path), !endpoint.needs_key, "{}", endpoint.path);
        }
        for (path, public) in [("/v1", true), ("/v1/healthz", true), ("/v1healthz", false), ("/v1/v1", false)] {
            assert_eq!(is_public(path), public, "{path}");
        }
    }
}
