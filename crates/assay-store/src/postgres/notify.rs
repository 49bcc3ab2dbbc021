//! Hints about changes to and from other processes, by NOTIFY and LISTEN.
//!
//! A NOTIFY inside the transactions of results would make them wait for each other, because its lock at commit is
//! global. So a task sends one for all commits of the last moments, in a transaction of its own. Hints may be lost,
//! and a reader looks every second anyway.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio_postgres::{AsyncMessage, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::engine::PgEngine;
use super::failure::PgResult;
use super::row::change;

/// The channel of the hints.
const CHANNEL: &str = "assay_changes";
/// Minimum time between two hints of a process.
const INTERVAL: Duration = Duration::from_millis(20);
/// Time without a hint after which there may be changes nevertheless.
const SILENCE: Duration = Duration::from_secs(1);

/// Identifies the hints of this process: the server's process of its listener, 0 while there is none.
#[derive(Debug, Default)]
pub(super) struct HintSource(AtomicI32);

/// Reports commits of this process to others until the records are closed.
pub(super) async fn report(engine: Weak<PgEngine>, source: Arc<HintSource>) {
    while let Some(engine) = engine.upgrade() {
        // Ends now and then, so that the records can be closed.
        if tokio::time::timeout(SILENCE, engine.wait_for_commits()).await.is_err() {
            continue;
        }
        if let Err(failure) = send(&engine, &source).await {
            tracing::debug!(?failure, "a hint about changes was not sent");
        }
        drop(engine);
        tokio::time::sleep(INTERVAL).await;
    }
}

async fn send(engine: &PgEngine, source: &HintSource) -> PgResult<()> {
    let session = engine.session().await?;
    let payload = source.0.load(Ordering::Relaxed).to_string();
    change(&session, "SELECT pg_notify($1, $2)", &[&CHANNEL, &payload]).await.map(drop)
}

/// Marks the changes that other processes report until the records are closed.
pub(super) async fn listen(
    engine: Weak<PgEngine>,
    source: Arc<HintSource>,
    (config, tls): (Config, MakeRustlsConnect),
) {
    while engine.strong_count() > 0 {
        if let Err(error) = listen_once(&engine, &source, (&config, tls.clone())).await {
            tracing::debug!(%error, "hints about changes of other processes are not received");
        }
        source.0.store(0, Ordering::Relaxed);
        tokio::time::sleep(SILENCE).await;
        mark(&engine);
    }
}

async fn listen_once(
    engine: &Weak<PgEngine>,
    source: &HintSource,
    (config, tls): (&Config, MakeRustlsConnect),
) -> Result<(), tokio_postgres::Error> {
    let (client, mut connection) = config.connect(tls).await?;
    let mut messages = stream::poll_fn(move |context| connection.poll_message(context));
    let begin = async {
        client.batch_execute(&format!("LISTEN {CHANNEL}")).await?;
        let row = client.query_one("SELECT pg_backend_pid()", &[]).await?;
        row.try_get::<_, i32>(0)
    };
    tokio::pin!(begin);
    loop {
        tokio::select! {
            own = &mut begin, if source.0.load(Ordering::Relaxed) == 0 => {
                source.0.store(own?, Ordering::Relaxed);
                mark(engine);
            }
            message = tokio::time::timeout(SILENCE, messages.next()) => match message {
                Ok(Some(Ok(AsyncMessage::Notification(hint)))) => {
                    // Changes of this process are marked already.
                    if hint.payload() != source.0.load(Ordering::Relaxed).to_string() {
                        mark(engine);
                    }
                }
                Ok(Some(Ok(_))) => {}
                Ok(Some(Err(error))) => return Err(error),
                Ok(None) => return Ok(()),
                Err(_) if engine.strong_count() == 0 => return Ok(()),
                Err(_) => mark(engine),
            },
        }
    }
}

fn mark(engine: &Weak<PgEngine>) {
    if let Some(engine) = engine.upgrade() {
        engine.mark_changed();
    }
}
