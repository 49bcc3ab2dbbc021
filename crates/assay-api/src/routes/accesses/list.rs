//! `GET /accesses`: who accessed what of other accounts.

use std::str::FromStr;

use assay_model::AccountId;
use assay_store::{AccessFilter, AccessRecord};
use axum::extract::{RawQuery, State};
use jiff::Timestamp;
use serde::Serialize;

use crate::http::{ApiError, Json};
use crate::routes::openapi::body::schema_of;
use crate::routes::query::Query;
use crate::state::App;

const DEFAULT_LIMIT: u32 = 100;
const MAX_LIMIT: u32 = 1000;

/// An access to something of another account.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Access")]
pub(in crate::routes) struct AccessView {
    /// Time of the access; of several to the same thing within a minute, of the first.
    at: Timestamp,
    /// Id of the key that was used.
    key_id: String,
    /// Account of the key.
    account: AccountId,
    /// Account that owns the thing.
    owner: AccountId,
    /// The action, such as `read a report`.
    action: String,
    /// Id of the thing: of a job, a key or a scenario.
    target: String,
}

/// A page of accesses.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct AccessPage {
    /// The accesses, newest first.
    accesses: Vec<AccessView>,
    /// Value of `offset` with which the list continues; `null` at its end.
    next: Option<u32>,
}

impl From<AccessRecord> for AccessView {
    fn from(access: AccessRecord) -> Self {
        let AccessRecord { at, key, account, owner, action, target } = access;
        Self { at, key_id: key.to_string(), account, owner, action, target }
    }
}

/// List the accesses to other accounts
///
/// Returns the accesses of keys with the scope `admin` or `review` to jobs, submissions, keys and scenarios of other
/// accounts, newest first. They are kept as long as the setting `retention.access_days` says. Repeated accesses of a
/// key to the same thing within a minute are one.
#[utoipa::path(
    get, path = "/accesses", operation_id = "accesses", tag = "keys",
    params(
        ("account" = Option<String>, Query, description = "Only those with keys of this account", pattern = "^[a-z0-9][a-z0-9_-]*$", max_length = 100),
        ("owner" = Option<String>, Query, description = "Only those to things of this account", pattern = "^[a-z0-9][a-z0-9_-]*$", max_length = 100),
        ("limit" = inline(Option<u32>), Query, description = "Maximum number of accesses on the page; 100 if absent", minimum = 1, maximum = 1000),
        ("offset" = inline(Option<u32>), Query, description = "Number of accesses to skip", minimum = 0, maximum = 2_147_483_647),
    ),
    responses((status = 200, body = ref(schema_of::<AccessPage>())), (status = 400)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> Result<Json<AccessPage>, ApiError> {
    let query = Query::parse(query.as_deref());
    let limit = query.number("limit", DEFAULT_LIMIT, 1, MAX_LIMIT)?;
    let offset = query.number("offset", 0, 0, i32::MAX.unsigned_abs())?;
    let filter = AccessFilter {
        account: account(&query, "account")?,
        owner: account(&query, "owner")?,
        offset,
        // One more shows whether the list goes on.
        limit: limit + 1,
    };
    let mut found = app.records.accesses(&filter).await?;
    let next = (found.len() > limit as usize).then(|| offset.saturating_add(limit));
    found.truncate(limit as usize);
    Ok(Json(AccessPage { accesses: found.into_iter().map(AccessView::from).collect(), next }))
}

fn account(query: &Query, name: &str) -> Result<Option<AccountId>, ApiError> {
    let Some(text) = query.text(name)? else { return Ok(None) };
    let account = AccountId::from_str(text);
    account.map(Some).map_err(|_| ApiError::invalid(name, Some(text), format!("{name} must be the name of an account")))
}
