//! The task that reads new events from the records, once for everybody, and passes them on. It runs while anybody follows
//! anything.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use assay_store::StoreError;
use tokio::time::{Instant, sleep, timeout};

use super::hub::{HubState, JobChannel, LastProgress, StreamMessage};
use super::progress;
use super::stream_slots::StreamCredential;
use super::update::EventFrame;

/// Longest time between two looks into the records, for changes that no hint tells of.
const POLL: Duration = Duration::from_secs(1);
/// Changes come in bursts; what comes within this time is read together.
const SETTLE: Duration = Duration::from_millis(20);
/// How often the keys and sessions of open streams are looked at: they expire, and other processes revoke keys too.
const CREDENTIALS: Duration = Duration::from_secs(2);
/// How often progress between events is told, at most.
const PROGRESS: Duration = Duration::from_secs(1);
/// Events read at a time.
const PAGE: u32 = 500;

/// Passes on what happens after the event `cursor`.
pub(super) async fn run(hub: Arc<HubState>, mut cursor: u64) {
    let mut changes = hub.records.changes();
    let (mut looked, mut told) = (Instant::now(), Instant::now());
    loop {
        tokio::select! {
            // An engine that gives no hints is looked at now and then.
            changed = timeout(POLL, changes.changed()) => match changed {
                Ok(Ok(())) => sleep(SETTLE).await,
                Ok(Err(_)) => sleep(POLL).await,
                Err(_) => {}
            },
            () = hub.recheck.notified() => looked = Instant::now() - CREDENTIALS,
        }
        if hub.stopping.load(Ordering::Relaxed) {
            return end(&hub).await;
        }
        changes.mark_unchanged();
        if let Err(error) = pass_on(&hub, &mut cursor).await {
            error.log("new events could not be read; they are read again");
        }
        if looked.elapsed() >= CREDENTIALS {
            looked = Instant::now();
            recheck_credentials(&hub).await;
        }
        if told.elapsed() >= PROGRESS {
            told = Instant::now();
            progress::tell(&hub).await;
        }
        if drop_unfollowed(&hub).await {
            return;
        }
    }
}

async fn pass_on(hub: &HubState, cursor: &mut u64) -> Result<(), StoreError> {
    loop {
        let events = hub.records.events_after(*cursor, PAGE).await?;
        let mut jobs = hub.jobs.lock().await;
        for event in &events {
            *cursor = event.event;
            if let Some(channel) = jobs.channels.get_mut(&event.job_id) {
                // That nothing is known of what will be is no reason to keep back what has been.
                let estimate = progress::estimate(&hub.forecast, event).await.unwrap_or_default();
                channel.send(StreamMessage::Event(EventFrame::kept(event, estimate)));
                channel.last = Some(event.clone());
                channel.last_progress = LastProgress::of(estimate);
            }
        }
        if events.len() < PAGE as usize {
            return Ok(());
        }
    }
}

async fn recheck_credentials(hub: &HubState) {
    let mut ended = false;
    for credential in hub.slots.credentials() {
        // One that can't be read now is looked at again soon.
        if let Ok(false) = is_good(hub, &credential).await {
            hub.slots.end(&credential);
            ended = true;
        }
    }
    if ended {
        hub.jobs.lock().await.channels.values().for_each(|channel| channel.send(StreamMessage::Recheck));
    }
}

async fn is_good(hub: &HubState, StreamCredential { key, session }: &StreamCredential) -> Result<bool, StoreError> {
    let now = hub.clock.now();
    let key = hub.records.key(key).await?;
    let key_is_good = key.is_some_and(|key| key.revoked_at.is_none() && key.is_valid(now));
    let Some(hash) = session.filter(|_| key_is_good) else { return Ok(key_is_good) };
    Ok(hub.records.session(&hash).await?.is_some_and(|session| now < session.expires_at))
}

/// Forgets jobs that nobody follows any more; with the last one, this task ends.
async fn drop_unfollowed(hub: &HubState) -> bool {
    let mut jobs = hub.jobs.lock().await;
    jobs.channels.retain(|_, channel| channel.sender.receiver_count() > 0);
    jobs.tailed = !jobs.channels.is_empty();
    !jobs.tailed
}

/// Closes all channels, and with them the streams.
async fn end(hub: &HubState) {
    let mut jobs = hub.jobs.lock().await;
    jobs.channels.clear();
    jobs.tailed = false;
}

impl JobChannel {
    pub(super) fn send(&self, signal: StreamMessage) {
        // Nobody may be left; then nobody misses it.
        let _ = self.sender.send(signal);
    }
}
