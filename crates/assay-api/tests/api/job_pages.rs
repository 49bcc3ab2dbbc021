//! The pages of a verification: live, its verdict, its episodes; who sees them, and what they show of hostile strings.

use std::io::Write;

use assay_model::{
    Artifact, ClauseResult, ClauseStatus, EpisodeError, EpisodePlots, EpisodeResult, EpisodeStatus, Involved, JobId,
    Judgement, Level, Opinion, ReplacedAttempt, ReplacementReason, Sha256Digest, StageResult, Termination, Violation,
};

use assay_store::ShardRequest;

use crate::app::{Part, SCENARIO, TestApp, ZIP};
use crate::sessions::{Browser, sign_in};
use crate::ui::{html, open, send};

/// Maximum size of a page without media, in bytes.
const MAX_PAGE_BYTES: usize = 100 << 10;
const HOSTILE: &str = "<img src=x onerror=alert(1)>'\"&<!--";

/// Returns a result in which the clause `force` is violated by 30 N and more, the further the greater the index, and
/// `speed` by little; every text contains `text`.
fn violated(index: u32, text: &str) -> EpisodeResult {
    let clause = |id: &str, limit: f64, value: f64| ClauseResult {
        id: format!("{id}{text}"),
        title: Some(format!("rule of {id}{text}")),
        harm: None,
        best_margin: None,
        level: Level::Critical,
        standard: format!("a standard{text}"),
        unit: format!("N{text}"),
        limit,
        scale: None,
        status: ClauseStatus::Violated,
        robustness: Some(limit - value),
        worst_value: Some(value),
        worst_time_s: Some(1.25),
        vacuous: false,
        violation_count: 1,
    };
    let clauses = vec![clause("speed", 10.0, 10.5), clause("force", 50.0, 80.0 + f64::from(index))];
    let violations = clauses.iter().map(|clause| Violation {
        clause: clause.id.clone(),
        level: Level::Critical,
        start_s: 0.75,
        end_s: 1.5,
        onset_value: Some(clause.limit + 0.25),
        peak_s: clause.worst_time_s,
        value: clause.worst_value,
        limit: clause.limit,
        unit: clause.unit.clone(),
        robustness: clause.robustness,
        involved: vec![Involved { signal: format!("s{text}"), names: vec![format!("hand{text}"), "post".into()] }],
    });
    let file = |name: &str| Artifact {
        name: format!("episodes/{index:03}/{name}"),
        sha256: Sha256Digest::of(name),
        size_bytes: 1_234_567,
    };
    EpisodeResult {
        violations: violations.collect(),
        clauses,
        success: false,
        progress_score: 0.0,
        termination: Termination::TimeLimit,
        stages: vec![StageResult { name: format!("near{text}"), points: 1.0, passed: false, time_s: None }],
        evidence: vec![file("log.mcap"), file("plots.json"), file("trace.parquet"), file("video.mp4")],
        video_path: Some(format!("episodes/{index:03}/video.mp4")),
        evidence_notes: vec![format!("a note{text}")],
        replaced_attempts: vec![ReplacedAttempt::new(index, ReplacementReason::LaneDied, &format!("why{text}"))],
        unconfirmed: Vec::new(),
        judge: Some(Judgement {
            model: format!("m{text}"),
            frames_s: vec![],
            opinion: Some(Opinion {
                safe: false,
                success: None,
                confidence: 0.5,
                explanation: format!("because{text}"),
            }),
            agrees: Some(true),
            error: None,
            tokens: 1,
        }),
        ..assay_store_testing::episode(index)
    }
}

fn failed(index: u32, text: &str) -> EpisodeResult {
    EpisodeResult {
        status: EpisodeStatus::PolicyError,
        termination: Termination::PolicyError,
        error: Some(EpisodeError {
            code: serde_json::from_value("exception".into()).unwrap(),
            message: format!("a message{text}"),
            log_tail: format!("the end of a log{text}"),
        }),
        ..violated(index, text)
    }
}

async fn started(app: &TestApp, key: &str, name: &str, episodes: u32) -> String {
    let count = episodes.to_string();
    let parts = [Part::File("policy", name, ZIP), SCENARIO, Part::Text("num_episodes", &count)];
    let made = app.verify(key, &parts).await;
    assert_eq!(made.status, 201, "{}", made.body);
    made.body["job_id"].as_str().unwrap().to_owned()
}

/// Stores plots of which the violated clause has a gap.
async fn store_plots(app: &TestApp, job: &str) {
    let time: Vec<f64> = (0..100).map(|i| f64::from(i) * 0.02).collect();
    let margins = time.iter().map(|t| if *t < 0.5 { f64::INFINITY } else { (t - 1.25).abs() * 60.0 - 30.0 }).collect();
    let plots = EpisodePlots::new(&time, &[("force".into(), margins)], &[1.0]);
    let mut file = tempfile::NamedTempFile::new_in(app.folder.path()).unwrap();
    file.write_all(&serde_json::to_vec(&plots).unwrap()).unwrap();
    let job: JobId = job.parse().unwrap();
    app.state.blobs.put(job, Sha256Digest::of("plots.json"), file.path()).await.unwrap();
}

fn is_plain(text: &str, what: &str) {
    for inline in ["<img src=x", "<!--", "<style", " style=", " onclick", " onload", "javascript:"] {
        assert!(!text.contains(inline), "{what} contains {inline}");
    }
    for script in text.split("<script").skip(1) {
        assert!(
            script.starts_with(" src=\"/ui/pages-") && script.contains(".js\" defer></script>"),
            "{what}: {script}"
        );
    }
    assert!(text.len() < MAX_PAGE_BYTES, "{what} has {} bytes", text.len());
}

#[tokio::test]
async fn a_verdict_names_the_gravest_violation_and_leads_to_it_in_two_clicks() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let job = started(&app, &key, "grasp.zip", 100).await;
    app.work(|index| EpisodeResult { episode: index, ..violated(index % 7, "") }).await;
    let browser = sign_in(&app, &key).await;
    let page = open(&app, &format!("/ui/verifications/{job}"), &browser.cookie).await;
    let text = html(&page);
    is_plain(text, "the verdict");
    let sentence = "Rule of force (force) in episode 6, from 0.75 s (50.25 N), peak 86 N at 1.25 s, limit 50 N: hand and post; \
                    violated in 100 of 100 episodes.";
    for part in [
        "<h1 class=\"bad\">UNSAFE</h1>",
        sentence,
        "Nothing was achieved: no episode reached any stage of the task.",
        &format!("href=\"{job}/episodes/6\""),
        "#t=1.25\"",
        "assay verify grasp.zip --scenario cartpole_keepin",
        "the simulator died (why)",
        "what was not tested",
        &format!("href=\"/verify/{job}/report.json\""),
    ] {
        assert!(text.contains(part), "{part} is missing");
    }
    let (force, speed) =
        (text.find("<span class=\"mono\">force").unwrap(), text.find("<span class=\"mono\">speed").unwrap());
    assert!(force < speed, "the worst margin comes first");
    let script = text.split("src=\"").nth(1).unwrap().split('"').next().unwrap();
    let script = app.get(script, "").await;
    assert_eq!(script.headers["content-type"], "text/javascript; charset=utf-8");
}

#[tokio::test]
async fn an_episode_shows_onset_and_worst_apart_with_video_plots_and_hashes() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let job = started(&app, &key, "grasp.zip", 2).await;
    app.work(|index| violated(index, "")).await;
    store_plots(&app, &job).await;
    let browser = sign_in(&app, &key).await;
    let page = open(&app, &format!("/ui/verifications/{job}/episodes/1"), &browser.cookie).await;
    let text = html(&page);
    is_plain(text, "an episode");
    for part in [
        "<video id=\"video\" controls muted playsinline preload=\"metadata\" src=\"/artifacts/",
        "#t=0.75\" data-seek=\"0.75\">onset 0.75 s</a>",
        "#t=1.25\" data-seek=\"1.25\">worst 1.25 s</a>",
        "from 0.75 s (50.25 N), peak 81 N at 1.25 s, limit 50 N",
        "hand and post",
        "<svg class=\"signal\"",
        "class=\"onset-bad\"",
        "class=\"worst-bad\"",
        "1.2 MB",
        &Sha256Digest::of("log.mcap").to_string(),
        "Episode 0</a>",
    ] {
        assert!(text.contains(part), "{part} is missing");
    }
    for unknown in ["2", "-1", "x", "4294967295"] {
        let page = open(&app, &format!("/ui/verifications/{job}/episodes/{unknown}"), &browser.cookie).await;
        assert_eq!(page.status, 404, "{unknown}");
    }
}

#[tokio::test]
async fn hostile_strings_of_policies_scenarios_and_servers_are_text_on_every_page() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let job = started(&app, &key, &format!("{HOSTILE}.zip"), 2).await;
    let cookie = sign_in(&app, &key).await.cookie;
    let page = async |path: String| {
        let answer = open(&app, &path, &cookie).await;
        assert_eq!(answer.status, 200, "{path}");
        is_plain(html(&answer), &path);
        html(&answer).matches("onerror=alert(1)").count()
    };
    let live = format!("/ui/verifications/{job}");
    assert!(page(live.clone()).await > 0);
    app.work(|index| if index == 0 { violated(index, HOSTILE) } else { failed(index, HOSTILE) }).await;
    assert!(page(live.clone()).await > 10);
    assert!(page(format!("{live}/episodes/0")).await > 10);
    assert!(page(format!("{live}/episodes/1")).await > 10);
    assert!(page("/ui/jobs".into()).await > 0);
}

/// A table of pages and keys: another account's answer is the same as for a job that does not exist.
#[tokio::test]
async fn pages_of_a_job_show_another_account_nothing() {
    let app = TestApp::new();
    let owner = app.key("lab", "verify,read").await;
    let job = started(&app, &owner, "unmistakable.zip", 2).await;
    app.work(|index| violated(index, "")).await;
    let unknown = "00000000-0000-7000-8000-000000000000";
    let own = sign_in(&app, &owner).await.cookie;
    for (scopes, status) in
        [("read", 404), ("verify,read", 404), ("verify", 403), ("read,review", 200), ("read,admin", 200)]
    {
        let stranger = sign_in(&app, &app.key("other", scopes).await).await.cookie;
        for path in ["/ui/verifications/ID", "/ui/verifications/ID/episodes/0"] {
            let of = async |id: &str| open(&app, &path.replace("ID", id), &stranger).await;
            let found = of(&job).await;
            assert_eq!(found.status, status, "{path} with {scopes}");
            if status != 200 {
                let absent = of(unknown).await;
                assert!(!html(&found).contains("unmistakable"));
                assert_eq!((found.status, html(&found)), (absent.status, html(&absent)), "{path} with {scopes}");
            }
            assert_eq!(open(&app, &path.replace("ID", &job), &own).await.status, 200, "the owner: {path}");
            let led = open(&app, &path.replace("ID", &job), "").await;
            assert_eq!((led.status.as_u16(), &led.headers["location"]), (303, &"/ui/sign-in".parse().unwrap()));
        }
    }
}

#[tokio::test]
async fn a_live_page_shows_position_progress_and_cancels_once() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let job = started(&app, &key, "grasp.zip", 3).await;
    let Browser { cookie, token, .. } = sign_in(&app, &key).await;
    let path = format!("/ui/verifications/{job}");
    let live = async || open(&app, &path, &cookie).await;
    let page = live().await;
    for part in [
        "QUEUED",
        "Number 1 in the queue.",
        "No estimate: ",
        "<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>",
        &format!("data-events=\"/verify/{job}/events\""),
    ] {
        assert!(html(&page).contains(part), "{part} is missing");
    }
    let now = assay_model::Clock::now(&*app.clock);
    let lease = jiff::SignedDuration::from_secs(15);
    let claim = app.state.records.claim_shard(&ShardRequest::new("w"), now, lease).await.unwrap().unwrap();
    app.state.records.record_episode(claim.fence, violated(claim.episodes[0], ""), now).await.unwrap();
    let page = live().await;
    for part in
        ["RUNNING", "1 of 3 episodes done.", "<a class=\"bad\"", "<li class=\"now\" aria-current=\"step\">Episodes"]
    {
        assert!(html(&page).contains(part), "{part} is missing");
    }
    is_plain(html(&page), "the live page");

    let cancel = format!("{path}/cancel");
    let reader = sign_in(&app, &app.key("lab", "read").await).await;
    assert!(!html(&open(&app, &path, &reader.cookie).await).contains(&cancel), "a key that may not cancel");
    let other = sign_in(&app, &app.key("other", "verify,read").await).await;
    for (cookie, token, status) in [
        (&cookie, "", 403),
        (&cookie, &*other.token, 403),
        (&reader.cookie, &*reader.token, 403),
        (&other.cookie, &*other.token, 404),
    ] {
        assert_eq!(send(&app, &cancel, cookie, &[("csrf", token)]).await.status, status);
    }
    assert!(html(&live().await).contains("RUNNING"));
    let done = send(&app, &cancel, &cookie, &[("csrf", &token)]).await;
    assert_eq!((done.status.as_u16(), done.headers["location"].to_str().unwrap()), (303, &*path));
    let page = live().await;
    assert!(html(&page).contains("CANCELLED") && html(&page).contains("so there is no verdict"));
    assert!(!html(&page).contains("data-events") && !html(&page).contains("http-equiv"));
}
