//! Every operation is asked about a submission of an open season, by its owner and by others, in each state of the
//! submission: nothing leaves but the published aggregates and the showcase. The rows come from the list of endpoints,
//! so that a new operation fails here until it has one.

use std::time::Duration;

use assay_api::{ApiSettings, EndpointInfo, EventSettings, endpoints};
use assay_model::{
    Artifact, EpisodeError, EpisodeResult, EpisodeStatus, JobId, PolicyErrorCode, Scopes, SeasonSecret, Sha256Digest,
};
use assay_store::ShardRequest;
use assay_store_testing::episode;
use assay_testkit::PATIENCE;
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt;
use jiff::SignedDuration;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::app::{Answer, TestApp, request};
use crate::sessions::{Browser, sign_in};

/// The state in which lists show a submission.
const PUBLISHED: &str = "once its end is published";
/// Episodes of a submission that count; the showcase follows.
const COUNTED: u32 = 3;

/// The way in which an operation may name a submission, and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row {
    /// Names neither a job nor a submission: lists, and everything about other things.
    NamesNone,
    /// Names a verification, which a submission is not: 404, or what it answers before it looks for the job.
    Verification(u16),
    /// Shows the published aggregates and the showcase.
    Aggregates,
    /// Needs the closed season.
    Closed(u16, &'static str),
    /// Changes the submission; what it answers is searched once everything else was asked.
    Changes,
    /// Would end the test's own season, sessions or keys; names no job.
    Ends,
}

/// Returns the row of an operation; `None` if it has none yet.
fn row(endpoint: &EndpointInfo) -> Option<Row> {
    let (method, path) = (endpoint.method, endpoint.path);
    Some(match (method, path) {
        ("GET", "/submissions/{id}" | "/submissions/{id}/events" | "/submissions/{id}/attestation") => Row::Aggregates,
        ("GET", "/ui/submissions/{id}") => Row::Aggregates,
        ("GET", "/submissions/{id}/episodes" | "/submissions/{id}/report" | "/submissions/{id}/report.json")
        | ("POST", "/submissions/{id}/replay") => Row::Closed(403, "FORBIDDEN"),
        ("GET", "/submissions/{id}/archive") => Row::Closed(409, "CONFLICT"),
        ("POST", "/submissions/{id}/choose" | "/submissions/{id}/cancel") | ("DELETE", "/submissions/{id}") => {
            Row::Changes
        }
        ("GET", "/verify/{job_id}")
        | (
            "GET",
            "/verify/{job_id}/events"
            | "/verify/{job_id}/episodes"
            | "/verify/{job_id}/report"
            | "/verify/{job_id}/report.json"
            | "/verify/{job_id}/archive"
            | "/verify/{job_id}/attestation",
        )
        | ("POST", "/verify/{job_id}/connection" | "/verify/{job_id}/cancel" | "/verify/{job_id}/replay")
        | ("DELETE", "/verify/{job_id}") => Row::Verification(404),
        ("POST", "/verify/{job_id}/review") => Row::Verification(404),
        ("GET", "/connections/{job_id}") => Row::Verification(401),
        ("GET", "/artifacts/{job_id}/{sha256}/{name}") => Row::Verification(403),
        ("GET", "/ui/verifications/{id}" | "/ui/verifications/{id}/episodes/{episode}")
        | (
            "POST",
            "/ui/verifications/{id}/replay" | "/ui/verifications/{id}/cancel" | "/ui/verifications/{id}/review",
        ) => Row::Verification(404),
        ("POST", "/seasons/close" | "/keys/rotate" | "/ui/sign-out" | "/ui/arena/{id}/season/close")
        | ("DELETE", "/session") => Row::Ends,
        // Lists, and operations that create something.
        (_, path) if !path.contains('{') && !NAMES_JOBS_IN_ITS_BODY.contains(&path) => Row::NamesNone,
        (_, path) if OTHER_THINGS.iter().any(|beginning| path.starts_with(beginning)) => Row::NamesNone,
        _ => return None,
    })
}

/// Operations without parameters in their path that name jobs nevertheless: each needs a row of its own.
const NAMES_JOBS_IN_ITS_BODY: [&str; 1] = ["/comparisons"];
/// Beginnings of the paths whose parameter names something else than a job.
const OTHER_THINGS: [&str; 22] = [
    "/accounts/{",
    "/collections/{",
    "/community/scenarios/{",
    "/docs/{",
    "/keys/{",
    "/models/{",
    "/scenarios/{",
    "/thumbnails/{",
    "/workers/{",
    "/ui/arena/{",
    "/ui/collections/{",
    "/ui/docs/{",
    "/ui/docs/images/{",
    "/ui/keys/{",
    "/ui/models/{",
    "/ui/scenarios/{",
    "/ui/workers/{",
    "/ui/{file}",
    "/ui/accounts/{",
    "/ui/community/{",
    "/ui/servers/{",
    "/ui/webhooks/{",
];

/// Returns a result that can be recognised in every part.
fn telling(index: u32) -> EpisodeResult {
    let name = |file: &str| format!("episodes/{index:03}/{file}");
    let file = |file: &str, byte: u8| Artifact {
        name: name(file),
        sha256: Sha256Digest::new([byte | u8::try_from(index).unwrap(); 32]),
        size_bytes: 8_123_450 + u64::from(index),
    };
    let seen = format!("0.12345678{index}");
    let error = EpisodeError {
        code: PolicyErrorCode::Exception,
        message: format!("ValueError: saw {seen}"),
        log_tail: format!("  File \"policy.py\", line 77{index}, in act\nValueError: saw {seen}\n"),
    };
    EpisodeResult {
        seed: 771_234_567_890 + u64::from(index),
        steps: 612_345_670 + index,
        sim_time_s: f64::from(index) + 61.234_5,
        wall_time_s: f64::from(index) + 62.345_6,
        unsafe_time_s: f64::from(index) + 63.456_7,
        status: if index == 1 { EpisodeStatus::PolicyError } else { EpisodeStatus::Completed },
        trace_hash: Some(Sha256Digest::new([0xd0 | u8::try_from(index).unwrap(); 32])),
        error: (index == 1 || index == COUNTED).then_some(error),
        evidence: vec![file("trace.parquet", 0xa0), file("video.mp4", 0xb0)],
        video_path: Some(name("video.mp4")),
        evidence_notes: vec![format!("note 9{index}9{index}9")],
        ..episode(index)
    }
}

/// Texts that must not leave while the season is open.
async fn hidden(app: &TestApp) -> Vec<String> {
    let scenario = "cartpole_keepin".parse().unwrap();
    let secret = app.state.records.season_secrets(&scenario, 1).await.unwrap().unwrap().season;
    // The signed documents of these tests, as they are, and as they are shown below.
    let signed = ["\"signed\": true", "\"signed\":true", "\"payload\": 1", "\"payload\":1"].map(str::to_owned);
    let mut texts = [vec![secret.to_hex()], signed.to_vec()].concat();
    for result in (0..COUNTED).map(telling) {
        let seeds = secret.episode(result.episode);
        texts.extend([seeds.world, seeds.policy, result.seed].map(|seed| seed.to_string()));
        texts.extend([format!("{}", result.steps), format!("{}", result.sim_time_s), result.wall_time_s.to_string()]);
        texts.extend(result.evidence.iter().flat_map(|file| [file.sha256.to_string(), file.size_bytes.to_string()]));
        texts.extend(result.trace_hash.map(|hash| hash.to_string()));
        texts.extend(result.evidence_notes);
        texts.push(format!("0.12345678{}", result.episode));
        texts.push(format!("line 77{}", result.episode));
    }
    texts
}

/// A client with a key.
struct Asker {
    name: &'static str,
    key: String,
    browser: Browser,
    /// True if the submission is, or could be, shown to it.
    sees: bool,
}

impl Asker {
    async fn new(app: &TestApp, name: &'static str, account: &str, scopes: &str, sees: bool) -> Self {
        let key = app.key(account, scopes).await;
        let browser = sign_in(app, &key).await;
        Self { name, key, browser, sees }
    }

    async fn ask(&self, app: &TestApp, endpoint: &EndpointInfo, id: &str, query: &str) -> Answer {
        let digest = telling(0).evidence[0].sha256.to_string();
        let path = endpoint.path.replace("{id}", id).replace("{job_id}", id).replace("{episode}", "0");
        let path = path.replace("{sha256}", &digest).replace("{digest}", &digest).replace("{name}", "trace.parquet");
        let path = format!("{}{query}", path.replace("{file}", "trace.parquet"));
        let request = match endpoint.path.starts_with("/ui") {
            true => Request::builder().method(endpoint.method).uri(&path).header("cookie", &self.browser.cookie),
            false => request(endpoint.method, &path, &self.key),
        };
        let (kind, body) = match (endpoint.method, endpoint.path) {
            ("POST", path) if path.ends_with("/review") && !path.starts_with("/ui") => {
                ("application/json", json!({ "decision": "accepted", "reason": "why not" }).to_string())
            }
            ("POST", path) if path.starts_with("/ui") => {
                let form = format!("csrf={}&episode=0&decision=accepted&reason=why", self.browser.token);
                ("application/x-www-form-urlencoded", form)
            }
            _ => ("", String::new()),
        };
        let request = if kind.is_empty() { request } else { request.header("content-type", kind) };
        let request = request.body(Body::from(body)).unwrap();
        if path.contains("/events") { first_events(app, request).await } else { app.send(request).await }
    }
}

/// Returns what a stream sends at once: a heartbeat comes when there is nothing further.
async fn first_events(app: &TestApp, request: Request<Body>) -> Answer {
    let (parts, mut body) = app.router.clone().oneshot(request).await.unwrap().into_parts();
    let mut text = String::new();
    while let Some(frame) = tokio::time::timeout(PATIENCE, body.frame()).await.expect("a heartbeat") {
        match &frame.unwrap().into_data().unwrap()[..] {
            b":\n" => break,
            event => text.push_str(std::str::from_utf8(event).unwrap()),
        }
    }
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Answer { status: parts.status, headers: parts.headers, body }
}

/// Checks an answer: its status as the row says, and its content.
fn check(row: Row, asker: &Asker, answer: &Answer, hidden: &[String], context: &str) {
    let text = format!("{:?} {}", answer.headers, answer.body);
    for needle in hidden {
        assert!(!text.contains(needle.as_str()), "{needle} leaves by {context}: {text}");
    }
    let status = answer.status.as_u16();
    match row {
        Row::Verification(expected) => assert!(status == expected || status == 403, "{context}: {status} {text}"),
        Row::Closed(expected, code) if asker.sees => {
            assert_eq!((status, answer.code()), (expected, code), "{context}: {text}");
        }
        Row::Closed(..) | Row::Aggregates if !asker.sees => assert_eq!(status, 404, "{context}: {text}"),
        // The commitment exists once there is a result, and one to the rerun once the season is closed.
        Row::Aggregates => {
            let is_early = context.contains("/attestation") && [403, 409].contains(&status);
            assert!(status == 200 || is_early, "{context}: {status} {text}");
        }
        Row::NamesNone | Row::Changes | Row::Ends | Row::Closed(..) => {}
    }
}

async fn ask_everything(app: &TestApp, askers: &[Asker], id: &str, when: &str) {
    let hidden = hidden(app).await;
    for endpoint in endpoints() {
        let row = row(&endpoint).unwrap_or_else(|| panic!("{endpoint:?} needs a row: may it name a submission?"));
        if matches!(row, Row::Changes | Row::Ends) || (row == Row::NamesNone && endpoint.method != "GET") {
            continue;
        }
        // What names no job is asked once its end is published, by the owner; documents, which take long, never change.
        let is_document = ["/openapi.json", "/docs", "/ui/docs"].iter().any(|begin| endpoint.path.starts_with(begin));
        if row == Row::NamesNone && (is_document || when != PUBLISHED) {
            continue;
        }
        for asker in askers.iter().take(if row == Row::NamesNone { 1 } else { askers.len() }) {
            let queries: &[&str] = if row == Row::NamesNone { &[""] } else { &["", "?run=closing"] };
            for query in queries {
                let context = format!("{} {}{query} of {} {when}", endpoint.method, endpoint.path, asker.name);
                let answer = asker.ask(app, &endpoint, id, query).await;
                // There is no other run before the season is closed.
                let is_missing = !query.is_empty() && answer.status == 404;
                let row = if is_missing { Row::NamesNone } else { row };
                check(row, asker, &answer, &hidden, &context);
            }
        }
    }
}

#[tokio::test]
async fn nothing_but_the_published_leaves_an_open_season() {
    let events = EventSettings { heartbeat_s: Duration::from_millis(10).into(), ..EventSettings::default() };
    let app = TestApp::with(ApiSettings { events, ..ApiSettings::default() });
    let all = Scopes::all().to_string();
    let askers = [
        Asker::new(&app, "the owner", "lab", &all, true).await,
        Asker::new(&app, "the owner without other rights", "lab", "read,submit,verify", true).await,
        Asker::new(&app, "a reviewer", "jury", "read,submit,verify,review", true).await,
        Asker::new(&app, "another account", "other", "read,submit,verify,publish", false).await,
    ];
    let id = app.submission(&askers[0].key).await;
    ask_everything(&app, &askers, &id, "while it is queued").await;

    let (records, lease) = (&app.state.records, SignedDuration::from_secs(10_000));
    let claim = records.claim_shard(&ShardRequest::new("w"), app.state.clock.now(), lease).await.unwrap().unwrap();
    assert_eq!(claim.fence.job_id, id.parse::<JobId>().unwrap());
    for index in claim.episodes {
        records.record_episode(claim.fence, telling(index), app.state.clock.now()).await.unwrap();
    }
    app.publish();
    ask_everything(&app, &askers, &id, "while it runs").await;

    app.work(telling).await;
    ask_everything(&app, &askers, &id, "before its end is published").await;
    app.publish();
    let detail = app.get(&format!("/submissions/{id}"), &askers[0].key).await.body;
    assert_eq!((&detail["status"], &detail["showcase"]["episode"]), (&json!("COMPLETED"), &json!(COUNTED)));
    ask_everything(&app, &askers, &id, PUBLISHED).await;

    let scenario = "cartpole_keepin".parse().unwrap();
    records.begin_closing_season(&scenario, 1, SeasonSecret::new([1; 32]), app.state.clock.now()).await.unwrap();
    ask_everything(&app, &askers, &id, "while the season is closing").await;

    let hidden = hidden(&app).await;
    for endpoint in endpoints().into_iter().filter(|endpoint| row(endpoint) == Some(Row::Changes)) {
        for asker in &askers {
            let answer = asker.ask(&app, &endpoint, &id, "").await;
            check(Row::Changes, asker, &answer, &hidden, &format!("{} {}", endpoint.method, endpoint.path));
        }
    }
}
