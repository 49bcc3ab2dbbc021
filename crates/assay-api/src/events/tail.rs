//! The task that reads new events from the records, once for everybody, and passes them on. It runs while anybody follows
//! anything.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use assay_store::StoreError;
use tokio::time::{Instant, sleep, timeout};

use super::hub::{Channel, Inner, Signal};
use super::update::{Expected, Frame};

/// Longest time between two looks into the records, for changes that no hint tells of.
const POLL: Duration = Duration::from_secs(1);
/// Changes come in bursts; what comes within this time is read together.
const SETTLE: Duration = Duration::from_millis(20);
/// How often the keys of open streams are looked at: other processes revoke keys too.
const KEYS: Duration = Duration::from_secs(2);
/// Events read at a time.
const PAGE: u32 = 500;

/// Passes on what happens after the event `cursor`.
pub(super) async fn run(hub: Arc<Inner>, mut cursor: u64) {
    let mut changes = hub.records.changes();
    let mut keys_seen = Instant::now();
    loop {
        tokio::select! {
            // An engine that gives no hints is looked at now and then.
            changed = timeout(POLL, changes.changed()) => match changed {
                Ok(Ok(())) => sleep(SETTLE).await,
                Ok(Err(_)) => sleep(POLL).await,
                Err(_) => {}
            },
            () = hub.look.notified() => keys_seen = Instant::now() - KEYS,
        }
        if hub.stopping.load(Ordering::Relaxed) {
            return end(&hub).await;
        }
        changes.mark_unchanged();
        if let Err(error) = pass_on(&hub, &mut cursor).await {
            tracing::warn!(%error, "new events could not be read; they are read again");
        }
        if keys_seen.elapsed() >= KEYS {
            keys_seen = Instant::now();
            look_at_keys(&hub).await;
        }
        if nobody_follows(&hub).await {
            return;
        }
    }
}

async fn pass_on(hub: &Inner, cursor: &mut u64) -> Result<(), StoreError> {
    loop {
        let events = hub.records.events_after(*cursor, PAGE).await?;
        let mut jobs = hub.jobs.lock().await;
        for event in &events {
            *cursor = event.event;
            if let Some(channel) = jobs.channels.get_mut(&event.job_id) {
                channel.send(Signal::Frame(Frame::kept(event, Expected::default())));
                channel.last = Some(event.clone());
            }
        }
        if events.len() < PAGE as usize {
            return Ok(());
        }
    }
}

async fn look_at_keys(hub: &Inner) {
    let now = hub.clock.now();
    let mut ended = false;
    for id in hub.places.keys() {
        // One that can't be read now is looked at again soon.
        let Ok(key) = hub.records.key(&id).await else { continue };
        if key.is_none_or(|key| key.revoked_at.is_some() || !key.is_valid(now)) {
            hub.places.end(&id);
            ended = true;
        }
    }
    if ended {
        hub.jobs.lock().await.channels.values().for_each(|channel| channel.send(Signal::Look));
    }
}

/// Forgets jobs that nobody follows any more; with the last one, this task ends.
async fn nobody_follows(hub: &Inner) -> bool {
    let mut jobs = hub.jobs.lock().await;
    jobs.channels.retain(|_, channel| channel.sender.receiver_count() > 0);
    jobs.tailed = !jobs.channels.is_empty();
    !jobs.tailed
}

/// Closes all channels, and with them the streams.
async fn end(hub: &Inner) {
    let mut jobs = hub.jobs.lock().await;
    jobs.channels.clear();
    jobs.tailed = false;
}

impl Channel {
    fn send(&self, signal: Signal) {
        // Nobody may be left; then nobody misses it.
        let _ = self.sender.send(signal);
    }
}
