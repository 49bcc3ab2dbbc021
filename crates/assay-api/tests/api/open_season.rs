//! Timing in an open season. A submission's policy sees secret worlds and chooses how long it takes, so no response
//! may reveal when anything happened between two points of the submission's grid. The same submission is run with two
//! timings that differ in every time, and in how much was recorded when, but not in what is published; all requests
//! are sent at many times, and the responses must be equal.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

use assay_api::{AccountLimits, ApiSettings, EventHub, EventSettings, QueueForecast};
use assay_model::{Artifact, Blame, EpisodeResult, JobId, Scopes};
use assay_store::{EpisodeProgress, JobFailure, ShardRequest, Site};
use assay_store_testing::{episode, outcome, signed};
use assay_testkit::PATIENCE;
use axum::body::Body;
use http_body_util::BodyExt;
use jiff::SignedDuration;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::app::{POLICY, Part, SCENARIO, TestApp, request};

/// Interval of the heartbeats of streams: they show that a stream has nothing else to send.
const HEARTBEAT: Duration = Duration::from_millis(10);
/// A heartbeat.
const BEAT: &[u8] = b":\n";
/// Longer than any of these tests, on their clock.
const LEASE: SignedDuration = SignedDuration::from_secs(10_000);
/// Times of all requests, in seconds from the submission: around each point of the grid, and in between.
const LOOKS: [i64; 13] = [0, 5, 12, 14, 15, 22, 27, 29, 30, 36, 44, 45, 46];
/// Every value of the filters that a submission of these tests can have.
const FILTERS: [&str; 9] = [
    "status=QUEUED",
    "status=RUNNING",
    "status=JUDGING",
    "status=COMPLETED",
    "status=FAILED",
    "status=CANCELLED",
    "verdict=SAFE",
    "verdict=UNSAFE",
    "status=COMPLETED&verdict=SAFE",
];
const ARENA: Part<'_> = Part::Text("scenario_id", "cartpole_keepin");

/// The times of the submission's events, in seconds from its acceptance.
#[derive(Debug, Clone)]
struct Course {
    started: i64,
    /// The showcase, then the others.
    recorded: [i64; 4],
    ended: Option<i64>,
    fails: bool,
    /// Bytes of an episode's evidence.
    bytes: u64,
}

const SLOW_START: Course = Course { started: 3, recorded: [4, 6, 17, 20], ended: Some(31), fails: false, bytes: 5 };
/// Timing that is published like [`SLOW_START`].
const SLOW_END: Course =
    Course { started: 13, recorded: [24, 25, 26, 28], ended: Some(43), fails: false, bytes: 5_000_000 };

/// A service with a submission in the middle of other jobs.
struct Arena {
    app: TestApp,
    lab: String,
    other: String,
    submission: String,
    /// Paths of verifications, with the key that may see them.
    jobs: Vec<(String, String)>,
}

impl Arena {
    async fn new() -> Self {
        // The caps allow no further job or submission until one has ended.
        let account = AccountLimits { active_jobs: 2, submissions_per_day: 1, ..AccountLimits::default() };
        let events = EventSettings { heartbeat_s: HEARTBEAT.into(), ..EventSettings::default() };
        let app = TestApp::with(ApiSettings { account, events, ..ApiSettings::default() });
        let lab = app.key("lab", &Scopes::all().to_string()).await;
        let other = app.key("other", &Scopes::all().to_string()).await;
        // Episodes take 2 s here, and a conclusion 1 s.
        let records = &app.state.records;
        verify(&app, &other).await;
        let claim = records.claim_shard(&ShardRequest::new("w"), app.state.clock.now(), LEASE).await.unwrap().unwrap();
        app.clock.forward(2);
        records.record_episode(claim.fence, episode(0), app.state.clock.now()).await.unwrap();
        let claim = records.claim_conclusion("w", app.state.clock.now(), LEASE).await.unwrap().unwrap();
        app.clock.forward(1);
        let found = outcome(&claim.header, &claim.episodes);
        records.complete_job(claim.fence, found, signed(), app.state.clock.now()).await.unwrap();
        // One job of the other account has a lane, another waits, as does one of the account itself.
        let running = verify(&app, &other).await;
        records.claim_shard(&ShardRequest::new("w"), app.state.clock.now(), LEASE).await.unwrap().unwrap();
        app.clock.forward(1);
        let submission = app.submission(&lab).await;
        let waiting = verify(&app, &other).await;
        let own = verify(&app, &lab).await;
        let jobs = vec![(running, other.clone()), (waiting, other.clone()), (own, lab.clone())];
        Self { app, lab, other, submission, jobs }
    }

    /// Drops all caches.
    fn renew(&mut self) {
        let state = &mut self.app.state;
        let records = state.records.clone();
        state.forecast = QueueForecast::new(records.clone(), state.clock.clone(), state.settings.lanes);
        state.events =
            EventHub::new(records, state.clock.clone(), state.forecast.clone(), self.app.live.clone(), Site::default());
        self.app.router = assay_api::router(state.clone());
    }

    /// Performs the events of the timing that occur in the second `at`.
    async fn happen(&self, course: &Course, at: i64) {
        let (records, now) = (&self.app.state.records, self.app.state.clock.now());
        let id: JobId = self.submission.parse().unwrap();
        // The showcase has a shard of its own, which comes first.
        let claim = async |episodes: &[u32]| {
            let claim = records.claim_shard(&ShardRequest::new("w"), now, LEASE).await.unwrap().unwrap();
            assert_eq!((claim.fence.job_id, claim.episodes.as_slice()), (id, episodes));
        };
        if course.started == at {
            claim(&[3]).await;
        }
        let fence = |shard| assay_store::Fence { job_id: id, shard, attempt: 1 };
        for (index, recorded) in [3, 0, 1, 2].into_iter().zip(course.recorded) {
            if recorded == at {
                self.app.live.report(id, EpisodeProgress { episode: index, step: 7, max_steps: 500 });
                let shard = u32::from(index < 3);
                records.record_episode(fence(shard), found(index, course.bytes), now).await.unwrap();
            }
            if recorded == at && index == 3 {
                claim(&[0, 1, 2]).await;
            }
        }
        if course.ended == Some(at) {
            let claim = records.claim_conclusion("w", now, LEASE).await.unwrap().unwrap();
            assert_eq!(claim.fence.job_id, id);
            if course.fails {
                let failure = JobFailure { blame: Blame::Platform, message: format!("episode {at} broke") };
                assert!(records.fail_job(id, failure, now).await.unwrap());
            } else {
                let found = outcome(&claim.header, &claim.episodes);
                assert!(records.complete_job(claim.fence, found, signed(), now).await.unwrap());
            }
        }
    }

    /// Returns every response in which the submission could be visible.
    async fn look(&mut self) -> BTreeMap<String, String> {
        self.renew();
        let mut seen = BTreeMap::new();
        let own = format!("/submissions/{}", self.submission);
        let mut paths: Vec<(String, String)> = ["", "/attestation", "/episodes", "/report.json", "/report"]
            .map(|below| (format!("{own}{below}"), self.lab.clone()))
            .into();
        for path in
            ["/submissions", "/submissions?limit=1&scenario=cartpole_keepin", "/verify", "/verify?status=QUEUED"]
        {
            paths.extend([&self.lab, &self.other].map(|key| (path.to_owned(), key.clone())));
        }
        paths.extend(FILTERS.map(|filter| (format!("/submissions?{filter}"), self.lab.clone())));
        for path in ["/leaderboard?scenario=cartpole_keepin", "/leaderboard", "/seasons", "/readyz"] {
            paths.push((path.to_owned(), self.other.clone()));
        }
        paths.extend(self.jobs.iter().cloned());
        for (path, key) in paths {
            let answer = self.app.get(&path, &key).await;
            let headers = ["etag", "last-modified", "retry-after", "content-length", "x-ratelimit-remaining"];
            let headers = headers.map(|name| answer.headers.get(name).cloned());
            let who = if key == self.lab { "lab" } else { "other" };
            seen.insert(format!("GET {path} as {who}"), format!("{} {headers:?} {}", answer.status, answer.body));
        }
        for had in [None, Some("0"), Some("1"), Some("2")] {
            seen.insert(
                format!("events after {had:?}"),
                self.first_events(&format!("{own}/events"), &self.lab, had).await,
            );
        }
        for (path, key) in &self.jobs {
            seen.insert(format!("events of {path}"), self.first_events(&format!("{path}/events"), key, None).await);
        }
        seen
    }

    /// Returns the first events of a stream.
    async fn first_events(&self, path: &str, key: &str, had: Option<&str>) -> String {
        let mut request = request("GET", path, key);
        if let Some(had) = had {
            request = request.header("last-event-id", had);
        }
        let response = self.app.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        let (parts, mut body) = response.into_parts();
        let mut text = format!("{} ", parts.status);
        // The events that are sent at once: a heartbeat comes when there is no further one.
        while let Some(frame) = tokio::time::timeout(PATIENCE, body.frame()).await.unwrap() {
            match &frame.unwrap().into_data().unwrap()[..] {
                BEAT => break,
                event => text.push_str(std::str::from_utf8(event).unwrap()),
            }
        }
        text
    }

    /// Returns the responses to requests that change something if they succeed.
    async fn ask(&mut self) -> BTreeMap<String, String> {
        self.renew();
        let own = format!("/submissions/{}", self.submission);
        let shown = |answer: crate::app::Answer| format!("{} {}", answer.status, answer.body["error"]);
        let chosen = shown(self.app.post(&format!("{own}/choose"), &self.lab).await);
        let erased = request("DELETE", &own, &self.lab).body(Body::empty()).unwrap();
        let erased = shown(self.app.send(erased).await);
        let replayed = shown(self.app.post(&format!("{own}/replay"), &self.lab).await);
        let verified = shown(self.app.verify(&self.lab, &[POLICY, SCENARIO]).await);
        let submitted = shown(self.app.submit(&self.lab, &[POLICY, ARENA]).await);
        let asked =
            [("choose", chosen), ("erase", erased), ("replay", replayed), ("verify", verified), ("submit", submitted)];
        asked.map(|(name, answer)| (name.to_owned(), answer)).into()
    }
}

async fn verify(app: &TestApp, key: &str) -> String {
    let made = app.verify(key, &[POLICY, SCENARIO, Part::Text("num_episodes", "1")]).await;
    assert_eq!(made.status, 201, "{}", made.body);
    format!("/verify/{}", made.body["job_id"].as_str().unwrap())
}

/// Creates the result of an episode, which is equal in both timings except for times and evidence.
fn found(index: u32, bytes: u64) -> EpisodeResult {
    let bytes = if index == 3 { 5 } else { bytes };
    let name = format!("episodes/{index:03}/video.mp4");
    let evidence =
        vec![Artifact { name: name.clone(), sha256: format!("{index:064x}").parse().unwrap(), size_bytes: bytes }];
    EpisodeResult { evidence, video_path: Some(name), ..episode(index) }
}

/// All responses, by time and path.
type Seen = Vec<(i64, BTreeMap<String, String>)>;

async fn seen_of(course: &Course, changes: bool) -> Seen {
    let mut arena = Arena::new().await;
    let mut seen = Seen::new();
    for second in 0..=46 {
        arena.happen(course, second).await;
        if LOOKS.contains(&second) {
            let mut all = arena.look().await;
            // What is granted changes what is seen later: once the end is published, which is the last look but one.
            if changes {
                all.extend(arena.ask().await);
            }
            seen.push((second, all));
        }
        arena.app.clock.forward(1);
    }
    seen
}

fn assert_same(one: &Seen, other: &Seen) {
    for ((second, one), (_, other)) in one.iter().zip(other) {
        for (place, answer) in one {
            assert_eq!(answer, &other[place], "{place} distinguishes the timings after {second} s");
        }
    }
}

#[tokio::test]
async fn two_timings_that_are_published_alike_cannot_be_distinguished() {
    for changes in [false, true] {
        let (one, other) = (seen_of(&SLOW_START, changes).await, seen_of(&SLOW_END, changes).await);
        assert_same(&one, &other);
        let status = |second: i64| {
            let (_, all) = one.iter().find(|(at, _)| *at == second).unwrap();
            let (_, answer) = all.iter().find(|(place, _)| place.starts_with("GET /submissions/")).unwrap();
            ["QUEUED", "RUNNING", "JUDGING", "COMPLETED"].into_iter().find(|name| answer.contains(name)).unwrap()
        };
        let expected = [(0, "QUEUED"), (14, "QUEUED"), (15, "RUNNING"), (29, "RUNNING"), (30, "JUDGING")];
        for (second, name) in expected.into_iter().chain([(44, "JUDGING"), (45, "COMPLETED")]) {
            assert_eq!(status(second), name, "after {second} s");
        }
    }
}

/// Compares each filter with the entry that the list shows without one.
async fn assert_filters_match_what_is_shown(arena: &Arena, when: &str) {
    let shown = arena.app.get("/submissions", &arena.lab).await.body["submissions"][0].clone();
    for filter in FILTERS {
        let page = arena.app.get(&format!("/submissions?{filter}"), &arena.lab).await.body;
        let holds = filter.split('&').all(|pair| {
            let (field, value) = pair.split_once('=').unwrap();
            shown[field] == json!(value)
        });
        assert_eq!(page["total"], json!(u32::from(holds)), "{filter} {when}: {shown}");
        let expected = if holds { json!([shown]) } else { json!([]) };
        assert_eq!(page["submissions"], expected, "{filter} {when}");
    }
}

#[tokio::test]
async fn filters_go_by_what_is_published() {
    let fails = Course { fails: true, ..SLOW_END };
    let runs = Course { ended: None, ..SLOW_END };
    for course in [&SLOW_START, &SLOW_END, &fails, &runs] {
        let arena = Arena::new().await;
        for second in 0..=46 {
            arena.happen(course, second).await;
            assert_filters_match_what_is_shown(&arena, &format!("after {second} s of {course:?}")).await;
            arena.app.clock.forward(1);
        }
        arena.app.post(&format!("/submissions/{}/cancel", arena.submission), &arena.lab).await;
        assert_filters_match_what_is_shown(&arena, &format!("at the end of {course:?}")).await;
    }
}

#[tokio::test]
async fn the_test_can_distinguish_different_timings() {
    let later = Course { ended: Some(44), ..SLOW_END };
    let (one, other) = (seen_of(&SLOW_START, false).await, seen_of(&later, false).await);
    let first = one.iter().zip(&other).position(|(one, other)| one != other);
    assert_eq!(first.map(|index| LOOKS[index]), Some(45), "it is published a point later");
}

#[tokio::test]
async fn a_failure_is_visible_when_it_is_published() {
    let fails = |course: &Course| Course { fails: true, ..course.clone() };
    let (one, other) = (seen_of(&fails(&SLOW_START), true).await, seen_of(&fails(&SLOW_END), true).await);
    assert_same(&one, &other);
    let (_, last) = one.last().unwrap();
    assert!(last.iter().any(|(place, answer)| place.starts_with("GET /submissions/") && answer.contains("FAILED")));
}

#[tokio::test]
async fn cancelling_does_not_reveal_whether_the_submission_had_ended() {
    let runs = Course { ended: None, ..SLOW_END };
    let mut answers = Vec::new();
    for course in [&SLOW_START, &SLOW_END, &runs] {
        let mut arena = Arena::new().await;
        for second in 0..=44 {
            arena.happen(course, second).await;
            arena.app.clock.forward(i64::from(second < 44));
        }
        let cancelled = arena.app.post(&format!("/submissions/{}/cancel", arena.submission), &arena.lab).await;
        assert_eq!((cancelled.status.as_u16(), &cancelled.body["status"]), (200, &json!("CANCELLED")));
        let mut seen: Seen = vec![(44, [("cancel".to_owned(), cancelled.body.to_string())].into())];
        for second in [44, 45, 60, 75] {
            seen.push((second, arena.look().await));
            seen.push((second, arena.ask().await));
            arena.app.clock.forward(if second == 44 { 1 } else { 15 });
        }
        answers.push(seen);
    }
    assert_same(&answers[0], &answers[1]);
    assert_same(&answers[0], &answers[2]);
    let submitted = &answers[0].last().unwrap().1["submit"];
    assert!(submitted.starts_with("429"), "a submission that was cancelled counts: {submitted}");
}

/// The events of a stream until it ends, while time passes.
async fn followed(arena: &Arena, course: &Course, had: Option<&str>) -> Vec<(Option<String>, Value)> {
    let path = format!("/submissions/{}/events", arena.submission);
    let mut request = request("GET", &path, &arena.lab);
    if let Some(had) = had {
        request = request.header("last-event-id", had);
    }
    let response = arena.app.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), 200);
    let mut body = response.into_body();
    let (mut text, beats, has_ended) = (String::new(), Cell::new(0), Cell::new(false));
    let reading = async {
        while let Some(frame) = body.frame().await {
            match &frame.unwrap().into_data().unwrap()[..] {
                BEAT => beats.set(beats.get() + 1),
                event => text.push_str(std::str::from_utf8(event).unwrap()),
            }
        }
        has_ended.set(true);
    };
    let passing = async {
        for second in 0..=46 {
            arena.happen(course, second).await;
            // At each point of the grid, and in between, the stream has checked the clock before its second heartbeat.
            let enough = beats.get() + 2;
            while [0, 14, 15, 29, 30, 44].contains(&second) && beats.get() < enough && !has_ended.get() {
                tokio::time::sleep(HEARTBEAT / 2).await;
            }
            arena.app.clock.forward(1);
        }
    };
    tokio::time::timeout(PATIENCE, async { tokio::join!(reading, passing) }).await.expect("a stream that ends");
    let field = |block: &str, name: &str| block.lines().find_map(|line| Some(line.strip_prefix(name)?.to_owned()));
    let blocks = text.split("\n\n").filter(|block| block.contains("data: "));
    blocks
        .map(|block| (field(block, "id: "), serde_json::from_str(&field(block, "data: ").unwrap()).unwrap()))
        .collect()
}

#[tokio::test]
async fn events_come_at_the_points_of_the_grid() {
    let arena = Arena::new().await;
    let created = arena.app.state.clock.now();
    let events = followed(&arena, &SLOW_START, None).await;
    let ids: Vec<_> = events.iter().filter_map(|(id, data)| Some((id.as_deref()?, data["status"].as_str()?))).collect();
    assert_eq!(ids, [("1", "QUEUED"), ("2", "RUNNING"), ("3", "JUDGING"), ("4", "COMPLETED")]);
    let mut points = Vec::new();
    for (_, data) in &events {
        let at: jiff::Timestamp = data["at"].as_str().unwrap().parse().unwrap();
        let after = at.duration_since(created).as_secs();
        assert_eq!((after % 15, &data["progress"]["episodes_done"]), (0, &Value::Null), "{data}");
        assert!(!data["message"].as_str().unwrap().contains(|c: char| c.is_ascii_digit()), "{data}");
        points.push(after);
    }
    assert_eq!(points, [0, 15, 30, 45], "one at each point");
    assert_eq!(events[3].1["verdict"], json!("SAFE"));

    // A reconnecting client gets the later events; after the end there are none.
    let get = async |had| {
        let path = format!("/submissions/{}/events", arena.submission);
        let request = request("GET", &path, &arena.lab).header("last-event-id", had).body(Body::empty()).unwrap();
        let answer = arena.app.send(request).await;
        let text = answer.body.as_str().unwrap_or_default().to_owned();
        let ids: Vec<String> = text.lines().filter_map(|line| Some(line.strip_prefix("id: ")?.to_owned())).collect();
        (answer.status.as_u16(), ids.join(" "))
    };
    assert_eq!(get("0").await, (200, "1 2 3 4".to_owned()));
    assert_eq!(get("2").await, (200, "3 4".to_owned()));
    assert_eq!(get("4").await.0, 204);
    assert_eq!(get("5").await, (200, "4".to_owned()), "an id that was never given is ignored");
}

#[tokio::test]
async fn the_estimate_is_constant_between_two_points() {
    let arena = Arena::new().await;
    let path = format!("/submissions/{}", arena.submission);
    let expected = async || {
        let body = arena.app.get(&path, &arena.lab).await.body;
        (body["queue_position"].clone(), body["eta_s"].clone(), body["eta_reason"].clone())
    };
    let first = expected().await;
    assert_eq!((&first.0, &first.2), (&json!(1), &Value::Null));
    assert!(first.1.as_f64().is_some_and(|eta| eta > 8.0), "4 episodes of 2 s behind another: {first:?}");
    for job in &arena.jobs {
        let cancelled = arena.app.post(&format!("{}/cancel", job.0), &job.1).await;
        assert_eq!(cancelled.status, 200, "{}", cancelled.body);
    }
    arena.app.clock.forward(14);
    // Forecasts are renewed after at most one second.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(expected().await, first);
    arena.app.clock.forward(1);
    assert_ne!(expected().await, first, "nothing is before it any more");
}

#[tokio::test]
async fn a_missing_estimate_has_its_reason() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let path = verify(&app, &key).await;
    let body = app.get(&path, &key).await.body;
    let reason = "no episode of its scenario has been measured on this server yet";
    assert_eq!((&body["eta_s"], &body["eta_reason"]), (&Value::Null, &json!(reason)), "{body}");

    let mut app = TestApp::with(ApiSettings { runs_uploads: false, ..ApiSettings::default() });
    let records = app.state.records.clone();
    app.state.forecast = QueueForecast::with_uploads(records, app.state.clock.clone(), app.state.settings.lanes, false);
    app.router = assay_api::router(app.state.clone());
    let key = app.key("lab", "verify,read").await;
    let path = verify(&app, &key).await;
    let body = app.get(&path, &key).await.body;
    let reason = "no worker of this server runs uploaded policies";
    assert_eq!((&body["eta_s"], &body["eta_reason"]), (&Value::Null, &json!(reason)), "{body}");
    let ended = app.post(&format!("{path}/cancel"), &key).await.body;
    assert_eq!((&ended["eta_s"], &ended["eta_reason"]), (&Value::Null, &Value::Null), "{ended}");
}
