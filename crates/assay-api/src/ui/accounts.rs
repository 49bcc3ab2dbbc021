//! `/ui/accounts`: the accounts, and what they use of their caps, for administrators.

use askama::Template;
use assay_model::Scope;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::job_line::in_words;
use super::page::{PageFrame, failure, page, to_sign_in};
use super::units::{bytes_in_words, seconds_in_words};
use super::viewer::{MaybeViewer, Viewer};
use crate::http::ApiError;
use crate::routes::{AccountEntry, AccountPage, Query, account_page};
use crate::state::App;

/// Share of a cap from which its use is marked, in percent.
const NEARLY_USED_PERCENT: u64 = 90;

#[derive(Template)]
#[template(path = "ui/accounts.html")]
struct AccountsPage {
    frame: PageFrame,
    lines: Vec<AccountLine>,
    total: u64,
    earlier: Option<u32>,
    later: Option<u32>,
}

/// An account as a line of the list.
struct AccountLine {
    name: String,
    keys: u64,
    used: String,
    /// Its use of each cap, in the order of the columns.
    uses: Vec<CapUse>,
}

/// The use of a cap.
struct CapUse {
    /// The quantity, for its label.
    name: &'static str,
    words: String,
    cap: String,
    used: u64,
    maximum: u64,
    is_nearly_used: bool,
}

/// Shows the list.
pub(crate) async fn handle(
    State(app): State<App>,
    MaybeViewer(viewer): MaybeViewer,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    let shown = show(&app, &viewer, &Query::parse(query.as_deref())).await;
    shown.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

async fn show(app: &App, viewer: &Viewer, query: &Query) -> Result<Response, ApiError> {
    viewer.require(Scope::Admin)?;
    let found = account_page(app, query).await?;
    let next = found.offset.saturating_add(found.limit);
    Ok(page(
        StatusCode::OK,
        &AccountsPage {
            frame: PageFrame::new(&app.settings, Some(viewer), "accounts"),
            lines: found.accounts.iter().map(|account| AccountLine::new(account, &found)).collect(),
            total: found.total,
            earlier: (found.offset > 0).then(|| found.offset.saturating_sub(found.limit)),
            later: (u64::from(next) < found.total).then_some(next),
        },
    ))
}

impl AccountLine {
    fn new(entry: &AccountEntry, page: &AccountPage) -> Self {
        let caps = &page.limits;
        let number = |number: u64| number.to_string();
        let uses = vec![
            CapUse::new("jobs today", entry.jobs_today, caps.jobs_per_day, number),
            CapUse::new("open jobs", entry.active_jobs, caps.active_jobs, number),
            CapUse::new("simulated time in the queue", entry.queued_sim_s, caps.queued_sim_s, seconds_in_words),
            CapUse::new("policies and evidence", entry.stored_bytes, caps.stored_bytes, bytes_in_words),
            CapUse::new("models", entry.models, caps.models, number),
            CapUse::new("size of the models", entry.model_bytes, caps.model_bytes, bytes_in_words),
        ];
        Self {
            name: entry.account.to_string(),
            keys: entry.valid_keys,
            used: entry.last_used_at.map_or_else(|| "never".to_owned(), in_words),
            uses,
        }
    }
}

impl CapUse {
    fn new(name: &'static str, used: u64, maximum: u64, words: impl Fn(u64) -> String) -> Self {
        let is_nearly_used = used > 0 && used.saturating_mul(100) >= maximum.saturating_mul(NEARLY_USED_PERCENT);
        Self { name, words: words(used), cap: words(maximum), used: used.min(maximum), maximum, is_nearly_used }
    }
}
