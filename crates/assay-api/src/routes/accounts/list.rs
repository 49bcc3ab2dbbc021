//! `GET /accounts`: the accounts that have keys, what they use, and their caps.

use std::collections::BTreeMap;

use assay_model::AccountId;
use assay_store::KeyRecord;
use axum::extract::{RawQuery, State};
use jiff::Timestamp;
use serde::Serialize;

use crate::http::{ApiError, Json};
use crate::routes::openapi::body::schema_of;
use crate::routes::query::Query;
use crate::state::App;

const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 200;
/// Number of models that are read at a time.
const MODELS: u32 = 1000;

/// An account, and what it uses.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Account")]
pub(crate) struct AccountEntry {
    /// Name of the account.
    pub(crate) account: AccountId,
    /// Number of its keys that are neither revoked nor expired.
    pub(crate) valid_keys: u64,
    /// Time of the last use of one of its keys, to about a minute; `null` if none was ever used.
    pub(crate) last_used_at: Option<Timestamp>,
    /// Jobs accepted today (UTC).
    pub(crate) jobs_today: u64,
    /// Jobs that have not ended.
    pub(crate) active_jobs: u64,
    /// Simulated seconds of the jobs that have not ended.
    pub(crate) queued_sim_s: u64,
    /// Size of its policies and its evidence, in bytes.
    pub(crate) stored_bytes: u64,
    /// Number of its models, unfinished uploads included.
    pub(crate) models: u64,
    /// Size of its models, in bytes.
    pub(crate) model_bytes: u64,
}

/// The caps of each account.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "AccountLimits")]
pub(crate) struct AccountLimitsView {
    /// Jobs in a day (UTC).
    pub(crate) jobs_per_day: u64,
    /// Jobs that have not ended.
    pub(crate) active_jobs: u64,
    /// Simulated seconds of the jobs that have not ended.
    pub(crate) queued_sim_s: u64,
    /// Size of policies and evidence, in bytes.
    pub(crate) stored_bytes: u64,
    /// Number of models.
    pub(crate) models: u64,
    /// Size of the models, in bytes.
    pub(crate) model_bytes: u64,
}

/// A page of the accounts.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct AccountPage {
    /// The accounts, by name.
    pub(crate) accounts: Vec<AccountEntry>,
    /// The caps, which are the same for each account.
    pub(crate) limits: AccountLimitsView,
    pub(crate) total: u64,
    pub(crate) limit: u32,
    pub(crate) offset: u32,
}

/// List the accounts
///
/// Returns a page of the accounts that have, or had, an API key: their keys, jobs, stored bytes and models, and the
/// caps of the settings.
#[utoipa::path(
    get, path = "/accounts", operation_id = "accounts", tag = "keys",
    params(
        ("limit" = inline(Option<u32>), Query, description = "Maximum number of accounts on the page; 50 if absent", minimum = 1, maximum = 200),
        ("offset" = inline(Option<u32>), Query, description = "Number of accounts to skip", minimum = 0, maximum = 2_147_483_647),
    ),
    responses((status = 200, body = ref(schema_of::<AccountPage>())), (status = 400)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> Result<Json<AccountPage>, ApiError> {
    account_page(&app, &Query::parse(query.as_deref())).await.map(Json)
}

/// Returns the page of accounts that the query asks for.
pub(crate) async fn account_page(app: &App, query: &Query) -> Result<AccountPage, ApiError> {
    let limit = query.number("limit", DEFAULT_LIMIT, 1, MAX_LIMIT)?;
    let offset = query.number("offset", 0, 0, i32::MAX.unsigned_abs())?;
    let mut all: BTreeMap<AccountId, Vec<KeyRecord>> = BTreeMap::new();
    for key in app.records.keys(None).await? {
        all.entry(key.account.clone()).or_default().push(key);
    }
    let total = all.len() as u64;
    let mut accounts = Vec::new();
    for (account, keys) in all.into_iter().skip(offset as usize).take(limit as usize) {
        accounts.push(entry(app, account, &keys).await?);
    }
    let caps = &app.settings.account;
    let limits = AccountLimitsView {
        jobs_per_day: caps.jobs_per_day.into(),
        active_jobs: caps.active_jobs.into(),
        queued_sim_s: caps.queued_sim_s,
        stored_bytes: caps.disk_mib << 20,
        models: caps.models,
        model_bytes: caps.models_mib << 20,
    };
    Ok(AccountPage { accounts, limits, total, limit, offset })
}

async fn entry(app: &App, account: AccountId, keys: &[KeyRecord]) -> Result<AccountEntry, ApiError> {
    let now = app.clock.now();
    let usage = app.records.account_usage(&account, now).await?;
    let (models, model_bytes) = models(app, &account).await?;
    Ok(AccountEntry {
        valid_keys: keys.iter().filter(|key| key.is_valid(now)).count() as u64,
        last_used_at: keys.iter().filter_map(|key| key.last_used_at).max(),
        jobs_today: usage.jobs_today,
        active_jobs: usage.active_jobs,
        queued_sim_s: usage.queued_sim_s,
        stored_bytes: usage.stored_bytes,
        models,
        model_bytes,
        account,
    })
}

/// Returns number and size of an account's models.
async fn models(app: &App, account: &AccountId) -> Result<(u64, u64), ApiError> {
    let (mut offset, mut bytes) = (0, 0_u64);
    loop {
        let (found, total) = app.records.models(account, MODELS, offset).await?;
        bytes = found.iter().fold(bytes, |sum, model| sum.saturating_add(model.size_bytes));
        offset = offset.saturating_add(MODELS);
        if found.is_empty() || u64::from(offset) >= total {
            return Ok((total, bytes));
        }
    }
}
