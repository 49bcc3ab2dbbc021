//! `assay keys create|list|revoke`: through the service's records, even while it runs, or through its API.

use anyhow::{Context, anyhow};
use assay_api::OsEntropy;
use assay_api::keys::mint;
use assay_model::{AccountId, Clock, Scope, Scopes, SystemClock};
use assay_store::{KeyId, KeyRecord};
use clap::Subcommand;
use jiff::{Timestamp, ToSpan};
use serde_json::{Value, json};

use crate::exit::{ExitStatus, Failure, OrFail};
use crate::options::ServicePlace;
use crate::printing::complain;
use crate::screen;

/// The name under which the records are opened.
const PROGRAM: &str = "assay keys";
/// Number of characters of a date.
const DATE: usize = "2026-11-21".len();
/// The name of a key that is created here.
const NAME: &str = "command line";

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Create an API key; it is printed only once
    Create {
        #[command(flatten)]
        place: ServicePlace,
        /// The account that the key belongs to
        #[arg(long, default_value = "default")]
        account: String,
        /// Scopes of the key: read, verify, submit, publish, review, admin
        #[arg(long, value_delimiter = ',', default_value = "read,verify")]
        scopes: Vec<String>,
        /// Days until it expires [default: never]
        #[arg(long, value_name = "DAYS")]
        expires_in: Option<u16>,
    },
    /// List all keys, without their secrets
    List {
        #[command(flatten)]
        place: ServicePlace,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a key: it is rejected from now on
    Revoke {
        #[command(flatten)]
        place: ServicePlace,
        /// The key's id (the part between the underscores)
        id: String,
    },
}

pub(crate) fn run(command: &KeysCommand) -> Result<ExitStatus, Failure> {
    match command {
        KeysCommand::Create { place, account, scopes, expires_in } => {
            let account = account.parse().context("--account").or_usage()?;
            let scopes = scopes.iter().map(|s| s.trim().parse::<Scope>()).collect::<Result<Scopes, _>>();
            let days = |days: u16| SystemClock.now().checked_add((i64::from(days) * 24).hours());
            let expires_at = expires_in.map(days).transpose().or_usage()?;
            let key = create(place, &account, scopes.context("--scopes").or_usage()?, expires_at)?;
            complain!("assay: keep this key; it is not shown again");
            super::stdout::print(&key);
        }
        KeysCommand::List { place, json } => {
            let keys = list(place)?;
            super::stdout::print(&match json {
                true => serde_json::to_string_pretty(&json!({ "keys": keys })).or_internal()?,
                false => table(&keys),
            });
        }
        KeysCommand::Revoke { place, id } => {
            revoke(place, id)?;
            super::stdout::print(&format!("revoked {id}"));
        }
    }
    Ok(ExitStatus::Success)
}

fn create(
    place: &ServicePlace,
    account: &AccountId,
    scopes: Scopes,
    expires_at: Option<Timestamp>,
) -> Result<String, Failure> {
    let local = place.with_records(PROGRAM, async |records| {
        let now = SystemClock.now();
        let (text, record) = mint(&OsEntropy, now, account.clone(), NAME, scopes.clone(), expires_at);
        records.create_key(record).await.or_internal()?;
        Ok(text.reveal().to_owned())
    });
    if let Some(key) = local {
        return key;
    }
    let mut body = json!({ "name": NAME, "account": account, "scopes": scopes });
    if let Some(end) = expires_at {
        body["expires_at"] = json!(end);
    }
    let created = place.client()?.post("/v1/keys", &body).or_internal()?.success()?;
    Ok(created["key"].as_str().unwrap_or_default().to_owned())
}

fn list(place: &ServicePlace) -> Result<Vec<Value>, Failure> {
    let local = place.with_records(PROGRAM, async |records| {
        Ok(records.keys(None).await.or_internal()?.iter().map(row).collect::<Vec<_>>())
    });
    if let Some(keys) = local {
        return keys;
    }
    let answer = place.client()?.get("/v1/keys").or_internal()?.success()?;
    let keys = answer["keys"].as_array().cloned().unwrap_or_default();
    Ok(keys.into_iter().map(with_state).collect())
}

fn revoke(place: &ServicePlace, id: &str) -> Result<(), Failure> {
    let unknown = || Failure::Usage(anyhow!("there is no valid key with the id {id:?}; see assay keys list"));
    let id = KeyId::parse(id).ok_or_else(unknown)?;
    let local = place.with_records(PROGRAM, async |records| {
        match records.revoke_key(&id, SystemClock.now()).await.or_internal()? {
            true => Ok(()),
            false => Err(unknown()),
        }
    });
    if let Some(done) = local {
        return done;
    }
    place.client()?.delete(&format!("/v1/keys/{id}")).or_internal()?.success().map(drop)
}

/// Returns a key as the API shows it, with its state.
fn row(key: &KeyRecord) -> Value {
    with_state(json!({
        "id": key.id.as_str(), "account": key.account, "name": key.name, "scopes": key.scopes,
        "created_at": key.created_at, "expires_at": key.expires_at, "revoked_at": key.revoked_at,
        "last_used_at": key.last_used_at,
    }))
}

fn with_state(mut key: Value) -> Value {
    let end = key["expires_at"].as_str().and_then(|end| end.parse::<Timestamp>().ok());
    let is_expired = end.is_some_and(|end| end <= SystemClock.now());
    key["state"] = json!(match (key["revoked_at"].is_null(), is_expired) {
        (false, _) => "revoked",
        (true, true) => "expired",
        (true, false) => "valid",
    });
    key
}

fn table(keys: &[Value]) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let row = |key: &Value| {
        let scopes: Vec<_> = key["scopes"].as_array().into_iter().flatten().map(text).collect();
        let made = text(&key["created_at"]).chars().take(DATE).collect();
        vec![text(&key["id"]), text(&key["account"]), made, text(&key["state"]), scopes.join(",")]
    };
    let rows: Vec<_> = keys.iter().map(row).collect();
    screen::layout().table(&["id", "account", "created", "state", "scopes"], &rows, 0)
}
