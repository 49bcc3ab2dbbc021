//! The endpoints: a folder per resource, a file per endpoint.
//!
//! Where to begin: `list.rs`, the list of all endpoints. The router, the OpenAPI document, the scopes and the rate
//! classes come from it.

mod access;
mod accesses;
mod accounts;
mod arena;
mod collections;
mod community;
mod connections;
mod endpoint;
pub(crate) mod erased;
mod evidence;
mod job_filter;
mod jobs;
mod keys;
mod list;
mod models;
mod openapi;
mod query;
mod rate_class;
mod runtimes;
mod scenarios;
mod service;
mod session;
mod submissions;
mod verify;
mod webhooks;
mod workers;

pub(crate) use self::access::AccessRules;
pub(crate) use self::accounts::list::{AccountEntry, AccountPage, account_page};
pub(crate) use self::arena::close::{DEFAULT_TOP, MAX_TOP, close_season};
pub(crate) use self::arena::open::open_season;
pub(crate) use self::community::delete::delete_scenario;
pub(crate) use self::community::list::published_scenarios;
pub(crate) use self::community::publish::{precheck_publication, publish_form};
pub(crate) use self::endpoint::Endpoint;
pub use self::endpoint::EndpointInfo;
pub(crate) use self::job_filter::{WantedJobs, parse as wanted_jobs};
pub(crate) use self::jobs::{ReadAccess, Submission, Verification};
pub(crate) use self::keys::create::{NewKey, create_key};
pub(crate) use self::keys::revoke::revoke_key;
pub use self::list::endpoints;
pub(crate) use self::list::{declared_api, list};
pub(crate) use self::models::delete::delete_model;
pub(crate) use self::models::model_id::find as find_model;
pub(crate) use self::openapi::document::query_parameters;
pub(crate) use self::query::Query;
pub use self::rate_class::RateClass;
pub(crate) use self::service::metrics::on_own_listener as metrics_on_own_listener;
pub(crate) use self::service::servers::{ServerList, server_list};
pub(crate) use self::service::storage::{StorageReport, storage_report};
pub(crate) use self::submissions::create::submit_form;
pub(crate) use self::submissions::view::{
    SubmissionDetail, SubmissionEntry, detail as submission_object, entry as submission_entry,
};
pub(crate) use self::verify::cancel::cancel as cancel_verification;
pub(crate) use self::verify::create::accept_form;
pub(crate) use self::verify::preflight::run_preflight;
pub(crate) use self::verify::replay::replay_verification;
pub(crate) use self::verify::review::{NewReview, review_verification};
pub(crate) use self::verify::reviews::awaited_reviews;
pub(crate) use self::webhooks::secret::rotate_webhook_secret;
pub(crate) use self::workers::create::{NewWorkerRequest, create_worker};
pub(crate) use self::workers::drain::drain_worker;
pub(crate) use self::workers::existing as existing_worker;
pub(crate) use self::workers::revoke::revoke_worker;
