//! `assay workers create|list|drain|revoke`: workers on other hosts, through the service's records, even while it runs,
//! or through its API.

use anyhow::anyhow;
use assay_model::{Clock, Sha256Digest, SystemClock};
use assay_store::{NewWorker, WorkerName, WorkerRecord, WorkerState};
use clap::Subcommand;
use jiff::ToSpan;
use serde_json::{Value, json};

use crate::exit::{ExitStatus, Failure, OrFail};
use crate::options::ServicePlace;
use crate::printing::complain;
use crate::screen;

/// The name under which the records are opened.
const PROGRAM: &str = "assay workers";

#[derive(Debug, Subcommand)]
pub(crate) enum WorkersCommand {
    /// Create a worker; its token is printed only once
    Create {
        /// Name of the worker: a-z, 0-9 and -
        name: String,
        /// No participant controls its host: it may differ from the server's machine, or run secret worlds of seasons
        #[arg(long)]
        trusted: bool,
        /// Days until its token expires [default: never]
        #[arg(long, value_name = "DAYS")]
        expires_in: Option<u16>,
        #[command(flatten)]
        place: ServicePlace,
    },
    /// List all workers
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: ServicePlace,
    },
    /// Let a worker finish what it runs and end
    Drain {
        /// Name of the worker
        name: String,
        /// Let it claim again instead
        #[arg(long)]
        undo: bool,
        #[command(flatten)]
        place: ServicePlace,
    },
    /// Revoke a worker: its token is rejected from now on, and its shards are queued again
    Revoke {
        /// Name of the worker
        name: String,
        #[command(flatten)]
        place: ServicePlace,
    },
}

pub(crate) fn run(command: &WorkersCommand) -> Result<ExitStatus, Failure> {
    match command {
        WorkersCommand::Create { name, trusted, expires_in, place } => {
            let days = |days: u16| SystemClock.now().checked_add((i64::from(days) * 24).hours());
            let expires_at = expires_in.map(days).transpose().or_usage()?;
            let token = create(place, &name_of(name)?, *trusted, expires_at)?;
            complain!("assay: keep this token; it is not shown again");
            super::stdout::print(&token);
        }
        WorkersCommand::List { json, place } => {
            let workers = list(place)?;
            match json {
                true => {
                    super::stdout::print(&serde_json::to_string_pretty(&json!({ "workers": workers })).or_internal()?)
                }
                false => super::stdout::print(&table(&workers)),
            }
        }
        WorkersCommand::Drain { name, undo, place } => {
            drain(place, &name_of(name)?, !*undo)?;
            super::stdout::print(&format!("{} {name}", if *undo { "resumed" } else { "draining" }));
        }
        WorkersCommand::Revoke { name, place } => {
            revoke(place, &name_of(name)?)?;
            super::stdout::print(&format!("revoked {name}"));
        }
    }
    Ok(ExitStatus::Success)
}

fn name_of(name: &str) -> Result<WorkerName, Failure> {
    let wrong = || Failure::Usage(anyhow!("{name:?} is not a worker's name: use 1 to 63 of a-z, 0-9 and -"));
    WorkerName::parse(name).ok_or_else(wrong)
}

fn unknown(name: &WorkerName) -> Failure {
    Failure::Usage(anyhow!("there is no worker {name} whose token is accepted; see assay workers list"))
}

fn create(
    place: &ServicePlace,
    name: &WorkerName,
    trusted: bool,
    expires_at: Option<jiff::Timestamp>,
) -> Result<String, Failure> {
    let local = place.with_records(PROGRAM, async |records| {
        let token = assay_api::keys::worker_token(&assay_api::OsEntropy);
        let (token_hash, created_at) = (Sha256Digest::of(&token), SystemClock.now());
        let worker = NewWorker { name: name.clone(), token_hash, trusted, created_at, expires_at };
        records.create_worker(worker).await.map_err(|error| match error {
            assay_store::StoreError::Exists { .. } => {
                Failure::Usage(anyhow!("there is, or was, a worker named {name}; choose another name"))
            }
            error => Failure::Internal(error.into()),
        })?;
        Ok(token)
    });
    if let Some(token) = local {
        return token;
    }
    let body = json!({ "name": name.as_str(), "trusted": trusted, "expires_at": expires_at });
    let created = place.client()?.post("/v1/workers", &body).or_internal()?.success()?;
    Ok(created["token"].as_str().unwrap_or_default().to_owned())
}

fn list(place: &ServicePlace) -> Result<Vec<Value>, Failure> {
    let local = place.with_records(PROGRAM, async |records| {
        Ok(records.workers().await.or_internal()?.iter().map(row).collect::<Vec<_>>())
    });
    if let Some(workers) = local {
        return workers;
    }
    let answer = place.client()?.get("/v1/workers").or_internal()?.success()?;
    Ok(answer["workers"].as_array().cloned().unwrap_or_default())
}

fn drain(place: &ServicePlace, name: &WorkerName, drain: bool) -> Result<(), Failure> {
    let local = place.with_records(PROGRAM, async |records| {
        match records.drain_worker(name, drain, SystemClock.now()).await.or_internal()? {
            true => Ok(()),
            false => Err(unknown(name)),
        }
    });
    if let Some(done) = local {
        return done;
    }
    let path = format!("/v1/workers/{name}/drain");
    place.client()?.post(&path, &json!({ "drain": drain })).or_internal()?.success().map(drop)
}

fn revoke(place: &ServicePlace, name: &WorkerName) -> Result<(), Failure> {
    let local = place.with_records(PROGRAM, async |records| {
        match records.revoke_worker(name, SystemClock.now()).await.or_internal()? {
            Some(_) => Ok(()),
            None => Err(unknown(name)),
        }
    });
    if let Some(done) = local {
        return done;
    }
    place.client()?.delete(&format!("/v1/workers/{name}")).or_internal()?.success().map(drop)
}

/// Returns a worker as the API shows it.
fn row(worker: &WorkerRecord) -> Value {
    let reason = match &worker.state {
        WorkerState::Quarantined { reason } => Some(reason),
        _ => None,
    };
    let registration = worker.registration.as_ref();
    json!({
        "name": worker.name.as_str(), "state": worker.state.as_str(), "state_since": worker.state_since, "reason": reason,
        "trusted": worker.trusted, "created_at": worker.created_at, "expires_at": worker.expires_at,
        "seen_at": worker.seen_at, "shards": worker.shards, "lanes": registration.map(|worker| worker.lanes),
        "labels": registration.map(|worker| worker.labels.clone()).unwrap_or_default(),
        "runtimes": registration.map(|worker| worker.runtimes.clone()).unwrap_or_default(),
        "version": registration.map(|worker| worker.version.clone()),
    })
}

fn table(workers: &[Value]) -> String {
    let text = |value: &Value| match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let labels = |worker: &Value| {
        let labels = worker["labels"].as_object().into_iter().flatten();
        labels
            .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()))
            .collect::<Vec<_>>()
            .join(",")
    };
    let runtimes = |worker: &Value| {
        let runtimes = worker["runtimes"].as_array().into_iter().flatten().filter_map(Value::as_str);
        runtimes.map(|sha256| format!("{sha256:.12}")).collect::<Vec<_>>().join(",")
    };
    let row = |worker: &Value| {
        let fields = ["name", "state", "lanes", "shards", "seen_at", "version"];
        fields.iter().map(|field| text(&worker[*field])).chain([runtimes(worker), labels(worker)]).collect::<Vec<_>>()
    };
    let rows: Vec<_> = workers.iter().map(row).collect();
    let heads = ["name", "state", "lanes", "shards", "last seen", "version", "runtimes", "labels"];
    let mut shown = screen::layout().table(&heads, &rows, 0);
    for worker in workers.iter().filter(|worker| worker["reason"].is_string()) {
        shown.push_str(&format!("\n{}: quarantined: {}", text(&worker["name"]), text(&worker["reason"])));
    }
    shown
}
