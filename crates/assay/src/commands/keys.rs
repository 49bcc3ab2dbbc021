//! `assay keys create|list|revoke`: accesses the data folder directly, even while the service runs.

use anyhow::{Context, anyhow};
use assay_api::OsEntropy;
use assay_api::keys::mint;
use assay_model::{Clock, Scope, Scopes, SystemClock};
use assay_store::{KeyId, KeyRecord, Records};
use clap::Subcommand;
use jiff::ToSpan;
use serde_json::json;

use crate::exit::{ExitStatus, Failure, OrFail};
use crate::options::DataArgs;
use crate::screen;

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Create an API key; it is printed only once
    Create {
        #[command(flatten)]
        data: DataArgs,
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
        data: DataArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a key: it is rejected from now on
    Revoke {
        #[command(flatten)]
        data: DataArgs,
        /// The key's id (the part between the underscores)
        id: String,
    },
}

pub(crate) fn run(command: &KeysCommand) -> Result<ExitStatus, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().or_internal()?;
    runtime.block_on(async {
        match command {
            KeysCommand::Create { data, account, scopes, expires_in } => {
                create(data, account, scopes, *expires_in).await
            }
            KeysCommand::List { data, json } => list(data, *json).await,
            KeysCommand::Revoke { data, id } => revoke(data, id).await,
        }
    })
}

async fn open(data: &DataArgs) -> Result<Box<dyn Records>, Failure> {
    data.records("assay keys").await
}

async fn create(
    data: &DataArgs,
    account: &str,
    scopes: &[String],
    expires_in: Option<u16>,
) -> Result<ExitStatus, Failure> {
    let account = account.parse().context("--account").or_usage()?;
    let scopes = scopes.iter().map(|s| s.trim().parse::<Scope>()).collect::<Result<Scopes, _>>();
    let scopes = scopes.context("--scopes").or_usage()?;
    let now = SystemClock.now();
    let expires_at = expires_in.map(|days| now.checked_add((i64::from(days) * 24).hours())).transpose().or_usage()?;
    let (text, record) = mint(&OsEntropy, now, account, "command line", scopes, expires_at);
    open(data).await?.create_key(record).await.or_internal()?;
    eprintln!("assay: keep this key; it is not shown again");
    super::stdout::print(text.reveal());
    Ok(ExitStatus::Success)
}

async fn list(data: &DataArgs, json: bool) -> Result<ExitStatus, Failure> {
    let keys = open(data).await?.keys(None).await.or_internal()?;
    if json {
        let rows: Vec<_> = keys.iter().map(row).collect();
        super::stdout::print(&serde_json::to_string_pretty(&json!({ "keys": rows })).or_internal()?);
        return Ok(ExitStatus::Success);
    }
    let row = |key: &KeyRecord| {
        let made = key.created_at.strftime("%Y-%m-%d").to_string();
        vec![key.id.to_string(), key.account.to_string(), made, state(key).to_owned(), key.scopes.to_string()]
    };
    let rows: Vec<_> = keys.iter().map(row).collect();
    super::stdout::print(&screen::layout().table(&["id", "account", "created", "state", "scopes"], &rows, 0));
    Ok(ExitStatus::Success)
}

fn state(key: &KeyRecord) -> &'static str {
    let expired = key.expires_at.is_some_and(|at| at <= SystemClock.now());
    match (key.revoked_at.is_some(), expired) {
        (true, _) => "revoked",
        (false, true) => "expired",
        (false, false) => "valid",
    }
}

fn row(key: &KeyRecord) -> serde_json::Value {
    json!({
        "id": key.id.as_str(), "account": key.account, "name": key.name, "scopes": key.scopes,
        "created_at": key.created_at, "expires_at": key.expires_at, "revoked_at": key.revoked_at,
        "last_used_at": key.last_used_at, "state": state(key),
    })
}

async fn revoke(data: &DataArgs, id: &str) -> Result<ExitStatus, Failure> {
    let unknown = || Failure::Usage(anyhow!("there is no valid key with the id {id:?}; see assay keys list"));
    let id = KeyId::parse(id).ok_or_else(unknown)?;
    if !open(data).await?.revoke_key(&id, SystemClock.now()).await.or_internal()? {
        return Err(unknown());
    }
    super::stdout::print(&format!("revoked {id}"));
    Ok(ExitStatus::Success)
}
