//! Event streams of jobs.

use std::time::{Duration, Instant};

use assay_api::{AccountLimits, ApiSettings, EventSettings};
use assay_store::{EpisodeProgress, KeyId, ShardRequest};
use assay_store_testing::{episode, outcome};
use assay_testkit::PATIENCE;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use jiff::SignedDuration;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::app::{POLICY, Part, SCENARIO, TestApp, request};

const LEASE: SignedDuration = SignedDuration::from_secs(15);
/// Timeout for events that should arrive at once.
const LIMIT: Duration = PATIENCE;

/// An open stream.
struct Stream {
    status: StatusCode,
    headers: HeaderMap,
    body: Body,
    text: String,
}

/// An event: its id and its data.
type Event = (Option<String>, Value);

async fn open(app: &TestApp, path: &str, key: &str, last: Option<&str>) -> Stream {
    let mut request = request("GET", path, key);
    if let Some(id) = last {
        request = request.header("last-event-id", id);
    }
    let response = app.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    Stream { status: parts.status, headers: parts.headers, body, text: String::new() }
}

impl Stream {
    /// The next block of lines, or `None` at the end.
    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                return Some(block);
            }
            let frame = tokio::time::timeout(LIMIT, self.body.frame()).await.expect("an event in time")?;
            self.text.push_str(std::str::from_utf8(&frame.unwrap().into_data().unwrap()).unwrap());
        }
    }

    async fn event(&mut self) -> Option<Event> {
        loop {
            let block = self.block().await?;
            let field = |name: &str| block.lines().find_map(|line| Some(line.strip_prefix(name)?.to_owned()));
            if let Some(data) = field("data: ") {
                return Some((field("id: "), serde_json::from_str(&data).unwrap()));
            }
        }
    }

    /// Returns the first of the next events that is `good`. The clock of the tests stands still, so that an estimated
    /// end does not come nearer: on a slow machine that counts as a change, and the progress is sent again.
    async fn event_that(&mut self, good: impl Fn(&Value) -> bool) -> Event {
        let until = Instant::now() + LIMIT;
        loop {
            let event = self.event().await.expect("a stream that goes on");
            if good(&event.1) {
                return event;
            }
            assert!(Instant::now() < until, "after {LIMIT:?} still: {}", event.1);
        }
    }

    /// The data of the last event.
    async fn last(&mut self) -> Value {
        let mut last = Value::Null;
        while let Some((_, data)) = self.event().await {
            last = data;
        }
        last
    }

    /// Returns the ids of all recorded events until the stream ends.
    async fn ids(&mut self) -> Vec<String> {
        let mut ids = Vec::new();
        while let Some((id, _)) = self.event().await {
            ids.extend(id);
        }
        ids
    }
}

async fn create(app: &TestApp, key: &str, episodes: u32) -> String {
    let text = episodes.to_string();
    let answer = app.verify(key, &[POLICY, SCENARIO, Part::Text("num_episodes", &text)]).await;
    format!("/verify/{}/events", answer.body["job_id"].as_str().unwrap())
}

/// Runs all queued jobs to their verdicts.
async fn run(app: &TestApp) {
    let (records, now) = (&app.state.records, app.state.clock.now());
    while let Some(claim) = records.claim_shard(&ShardRequest::new("w"), now, LEASE).await.unwrap() {
        for index in claim.episodes {
            records.record_episode(claim.fence, episode(index), now).await.unwrap();
        }
    }
    while let Some(taken) = records.claim_conclusion("w", now, LEASE).await.unwrap() {
        let found = outcome(&taken.header, &taken.episodes);
        assert!(records.complete_job(taken.fence, found, assay_store_testing::signed(), now).await.unwrap());
    }
}

fn numbers(range: std::ops::RangeInclusive<u32>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}

#[tokio::test]
async fn a_job_is_followed_to_its_end() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let path = create(&app, &key, 2).await;
    let mut stream = open(&app, &path, &key, None).await;
    assert_eq!(stream.status, 200);
    for (name, value) in [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-store, no-transform"),
        ("x-accel-buffering", "no"),
    ] {
        assert_eq!(stream.headers[name], value);
    }
    let first = stream.block().await.unwrap();
    assert!(
        first.starts_with("retry: 1000\nid: 1\ndata: {"),
        "one event, as some clients take each block for one: {first}"
    );
    stream.text = format!("{first}\n\n");
    let (id, state) = stream.event().await.unwrap();
    assert_eq!(id.as_deref(), Some("1"), "the state comes at once");
    let expected = json!({
        "status": "QUEUED", "done": false, "verdict": null, "queue_position": 1, "eta_s": null,
        "eta_reason": "no episode of its scenario has been measured on this server yet",
        "progress": { "episodes_done": 0, "episodes_total": 2, "stage": "queued" },
        "message": "waiting for its turn", "at": "2025-06-15T15:06:40Z",
    });
    assert_eq!(state, expected);
    run(&app).await;
    let mut updates = Vec::new();
    while let Some((id, data)) = stream.event().await {
        // The estimate may change in between.
        let Some(id) = id else { continue };
        updates.push((id, data["status"].clone(), data["progress"]["episodes_done"].clone(), data["done"].clone()));
    }
    let expected = [("2", "RUNNING", 0), ("3", "RUNNING", 1), ("4", "RUNNING", 2), ("5", "JUDGING", 2)];
    let line = |(id, status, done): (&str, &str, u32), end| (id.to_owned(), json!(status), json!(done), json!(end));
    let mut expected: Vec<_> = expected.map(|row| line(row, false)).to_vec();
    expected.push(line(("6", "COMPLETED", 2), true));
    assert_eq!(updates, expected, "then all that happens, and the end");
}

#[tokio::test]
async fn a_reconnecting_client_resumes_at_its_last_event() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    // More episodes than are read from the records at a time.
    let path = create(&app, &key, 120).await;
    run(&app).await;
    let last = 120 + 4;
    for had in [0, 1, 60, last - 1] {
        let mut stream = open(&app, &path, &key, Some(&had.to_string())).await;
        assert_eq!(stream.ids().await, numbers(had + 1..=last), "after {had}");
    }
    let again = open(&app, &path, &key, Some(&last.to_string())).await;
    assert_eq!(again.status, 204, "there is nothing more, and EventSource stops asking");
    for unknown in ["", "125", "-1", "+1", "x", "1 ", "99999999999999999999", "é"] {
        let mut stream = open(&app, &path, &key, Some(unknown)).await;
        assert_eq!(stream.ids().await, numbers(last..=last), "{unknown:?} is ignored: the state, and the end");
    }
    let mut stream = open(&app, &path, &key, None).await;
    let (id, data) = stream.event().await.unwrap();
    assert_eq!((id, &data["done"], &data["verdict"]), (Some(last.to_string()), &json!(true), &json!("SAFE")));
    assert!(stream.event().await.is_none(), "it closes after the last event");
}

#[tokio::test]
async fn reconnecting_between_events_sends_the_state_without_repeating_an_event() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let path = create(&app, &key, 1).await;
    let mut stream = open(&app, &path, &key, Some("1")).await;
    let (id, state) = stream.event().await.unwrap();
    assert_eq!((id, &state["status"], &state["queue_position"]), (None, &json!("QUEUED"), &json!(1)));
    run(&app).await;
    assert_eq!(stream.ids().await, numbers(2..=5));
}

#[tokio::test]
async fn a_slow_reader_misses_nothing() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let path = create(&app, &key, 300).await;
    let mut slow = open(&app, &path, &key, None).await;
    let mut quick = open(&app, &path, &key, None).await;
    assert_eq!(slow.event().await.unwrap().0.as_deref(), Some("1"));
    run(&app).await;
    assert_eq!(quick.ids().await, numbers(1..=304));
    assert_eq!(slow.ids().await, numbers(2..=304), "far more happened than is kept in memory for it");
}

#[tokio::test]
async fn streams_of_cancelled_and_failed_jobs_end() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let path = create(&app, &key, 1).await;
    let mut stream = open(&app, &path, &key, None).await;
    assert_eq!(app.post(&path.replace("events", "cancel"), &key).await.status, 200);
    assert_eq!(stream.event().await.unwrap().1["status"], "QUEUED");
    let last = stream.last().await;
    assert_eq!(
        (&last["status"], &last["done"], &last["message"]),
        (&json!("CANCELLED"), &json!(true), &json!("cancelled"))
    );

    let path = create(&app, &key, 1).await;
    let mut stream = open(&app, &path, &key, Some("1")).await;
    let id = path.split('/').nth(2).unwrap().parse().unwrap();
    let failure = assay_store::JobFailure { blame: assay_model::Blame::Platform, message: "no\ndisk".into() };
    app.state.records.fail_job(id, failure, app.state.clock.now()).await.unwrap();
    let last = stream.last().await;
    assert_eq!((&last["status"], &last["message"]), (&json!("FAILED"), &json!("no\ndisk")));
}

#[tokio::test]
async fn jobs_of_other_accounts_cannot_be_followed() {
    let app = TestApp::new();
    let (mine, other) = (app.key("lab", "verify,read").await, app.key("other", "read").await);
    let reviewer = app.key("other", "read,review").await;
    let path = create(&app, &mine, 1).await;
    assert_eq!(open(&app, &path, &other, None).await.status, 404);
    assert_eq!(open(&app, &path, &reviewer, None).await.status, 200);
    assert_eq!(open(&app, "/verify/nothing/events", &mine, None).await.status, 404);
    let request = request("GET", &path, &mine).header("accept", "application/json").body(Body::empty()).unwrap();
    let refused = app.send(request).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (406, "NOT_ACCEPTABLE"));
}

#[tokio::test]
async fn an_idle_stream_sends_heartbeats() {
    let app = TestApp::with(ApiSettings {
        events: EventSettings { heartbeat_s: Duration::from_millis(30).into(), ..EventSettings::default() },
        ..ApiSettings::default()
    });
    let key = app.key("lab", "verify,read").await;
    let path = create(&app, &key, 1).await;
    let mut stream = open(&app, &path, &key, None).await;
    stream.event().await.unwrap();
    for _ in 0..3 {
        let frame = tokio::time::timeout(LIMIT, stream.body.frame()).await.unwrap().unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), ":\n", "a comment, and no empty line, which some take for an event");
    }
}

#[tokio::test]
async fn revoking_a_key_ends_its_streams() {
    let app = TestApp::new();
    let admin = app.key("root", "admin,read").await;
    let (mine, second) = (app.key("lab", "verify,read").await, app.key("lab", "read").await);
    let path = create(&app, &mine, 1).await;
    let (mut ended, mut stays) = (open(&app, &path, &mine, None).await, open(&app, &path, &second, None).await);
    ended.event().await.unwrap();
    stays.event().await.unwrap();
    let id = mine.split('_').nth(1).unwrap();
    let revoke = request("DELETE", &format!("/keys/{id}"), &admin).body(Body::empty()).unwrap();
    assert_eq!(app.send(revoke).await.status, 204);
    assert!(ended.event().await.is_none());
    // Another process revokes keys in the records without notice; keys also expire.
    let id = KeyId::parse(second.split('_').nth(1).unwrap()).unwrap();
    app.state.records.revoke_key(&id, app.state.clock.now()).await.unwrap();
    assert!(stays.event().await.is_none());
    let short = app.key("lab", "read").await;
    let mut stream = open(&app, &path, &short, None).await;
    stream.event().await.unwrap();
    app.clock.forward(3600);
    assert!(stream.event().await.is_none());
}

#[tokio::test]
async fn streams_are_limited_and_slots_are_released() {
    let app = TestApp::with(ApiSettings {
        account: AccountLimits { streams: 2, ..AccountLimits::default() },
        events: EventSettings { max_streams: 3, ..EventSettings::default() },
        ..ApiSettings::default()
    });
    let (lab, other) = (app.key("lab", "verify,read").await, app.key("other", "verify,read").await);
    let (path, others) = (create(&app, &lab, 1).await, create(&app, &other, 1).await);
    let first = open(&app, &path, &lab, None).await;
    let second = open(&app, &path, &lab, None).await;
    let third = app.get(&path, &lab).await;
    assert_eq!((third.status.as_u16(), third.code()), (429, "RATE_LIMITED"), "{}", third.body);
    assert!(third.headers.contains_key("retry-after"));
    let details = json!({ "limit": "streams", "maximum": 2, "current": 2, "frees_at": null,
                          "frees_when": "when one of your account's streams is closed" });
    assert_eq!(third.body["error"]["details"], details);
    let foreign = open(&app, &others, &other, None).await;
    let fourth = app.get(&others, &other).await;
    assert_eq!((fourth.status.as_u16(), fourth.code()), (503, "UNAVAILABLE"), "{}", fourth.body);
    assert!(fourth.headers.contains_key("retry-after"));
    drop((first, foreign));
    assert_eq!(open(&app, &path, &lab, None).await.status, 200);
    drop(second);
    run(&app).await;
    let mut last = open(&app, &path, &lab, None).await;
    assert_eq!(last.ids().await, numbers(5..=5), "a stream that was read to its end");
}

#[tokio::test]
async fn progress_is_sent_between_events() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let path = create(&app, &key, 2).await;
    let id = path.split('/').nth(2).unwrap().parse().unwrap();
    let (records, now) = (&app.state.records, app.state.clock.now());
    let claim = records.claim_shard(&ShardRequest::new("w"), now, LEASE).await.unwrap().unwrap();
    let mut stream = open(&app, &path, &key, None).await;
    assert_eq!(stream.event().await.unwrap().1["status"], "RUNNING");
    let step = |step| app.live.report(id, EpisodeProgress { episode: 0, step, max_steps: 500 });
    (1..=120).for_each(step);
    let (number, update) = stream.event().await.unwrap();
    assert_eq!(number, None, "it is not kept");
    assert_eq!(
        update["message"], "0 of 2 episodes done; episode 0 is at step 120 of 500",
        "and what comes fast is one"
    );
    app.clock.forward(4);
    records.record_episode(claim.fence, episode(0), app.state.clock.now()).await.unwrap();
    let (number, update) = stream.event().await.unwrap();
    assert_eq!((number.as_deref(), &update["progress"]["episodes_done"]), (Some("3"), &json!(1)));
}

#[tokio::test]
async fn queue_position_and_estimated_end_are_sent() {
    let lanes = std::num::NonZeroU32::new(2).unwrap();
    let app = TestApp::with(ApiSettings { lanes, ..ApiSettings::default() });
    let (lab, other) = (app.key("lab", "verify,read").await, app.key("other", "verify,read").await);
    let first = create(&app, &lab, 2).await;
    let job = |path: &str| path.replace("/events", "");
    let queued = app.get(&job(&first), &lab).await.body;
    assert_eq!((&queued["queue_position"], &queued["eta_s"]), (&json!(1), &json!(null)), "nothing was ever measured");
    let records = &app.state.records;
    for index in 0..2 {
        let claim = records.claim_shard(&ShardRequest::new("w"), app.state.clock.now(), LEASE).await.unwrap().unwrap();
        app.clock.forward(10);
        records.record_episode(claim.fence, episode(index), app.state.clock.now()).await.unwrap();
    }
    app.clock.forward(1);
    run(&app).await;
    // One lane works on the first; the other is for accounts without a shard.
    let first = create(&app, &lab, 1).await;
    records.claim_shard(&ShardRequest::new("w"), app.state.clock.now(), LEASE).await.unwrap().unwrap();
    app.clock.forward(1);
    let second = create(&app, &lab, 3).await;
    app.clock.forward(1);
    let third = create(&app, &other, 1).await;
    let expected = [(&first, &lab, None, 9.0), (&second, &lab, Some(2), 29.0), (&third, &other, Some(1), 11.0)];
    for (path, key, position, eta) in expected {
        let found = eventually(&app, &job(path), key, |job| job["eta_s"] == json!(eta)).await;
        assert_eq!((&found["eta_s"], &found["queue_position"]), (&json!(eta), &json!(position)), "{found}");
        let waits = position.map(|_| "a free lane");
        assert_eq!(found["waiting_for"], json!(waits), "{found}");
    }
    let mut stream = open(&app, &second, &lab, None).await;
    let (_, update) = stream.event().await.unwrap();
    assert_eq!((&update["queue_position"], &update["eta_s"]), (&json!(2), &json!(29.0)));
    assert_eq!(app.post(&third.replace("events", "cancel"), &other).await.status, 200);
    let (number, update) = stream.event_that(|update| update["queue_position"] != json!(2)).await;
    assert_eq!((number, &update["queue_position"], &update["eta_s"]), (None, &json!(1), &json!(21.0)), "it moved up");
}

/// Polls until the condition holds, since a forecast may be slightly old.
async fn eventually(app: &TestApp, path: &str, key: &str, good: impl Fn(&Value) -> bool) -> Value {
    let until = Instant::now() + LIMIT;
    loop {
        let body = app.get(path, key).await.body;
        if good(&body) || Instant::now() > until {
            return body;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
