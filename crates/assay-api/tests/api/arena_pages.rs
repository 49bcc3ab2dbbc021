//! The pages of the arena: boards, and the account's submissions in their published state.

use assay_model::{EpisodeResult, Scopes};
use assay_store_testing::episode;

use axum::http::Request;

use crate::app::{Part, TestApp, ZIP, form};
use crate::sessions::sign_in;
use crate::ui::{html, open};

const HOSTILE: &str = "<img src=x>'\"&<!--";

async fn submitted(app: &TestApp, account: &str, name: &str, composite: f64) -> String {
    app.clock.forward(1);
    let key = app.key(account, &Scopes::all().to_string()).await;
    let parts = [
        Part::File("policy", "a.zip", ZIP),
        Part::Text("scenario_id", "cartpole_keepin"),
        Part::Text("name", name),
        Part::Text("description", name),
    ];
    let made = app.submit(&key, &parts).await;
    assert_eq!(made.status, 201, "{}", made.body);
    app.work(|index| EpisodeResult { composite_score: composite, ..episode(index) }).await;
    made.body["submission_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_board_draws_ties_and_intervals_and_links_own_entries() {
    let app = TestApp::new();
    for (account, composite) in [("slow", 0.2), ("swift", 0.9), ("even", 0.2)] {
        submitted(&app, account, &format!("{account}{HOSTILE}"), composite).await;
    }
    app.publish();
    let cookie = sign_in(&app, &app.key("swift", "read").await).await.cookie;
    let seasons = open(&app, "/ui/arena", &cookie).await;
    assert!(html(&seasons).contains("href=\"/ui/arena/cartpole_keepin?season=1\""));
    let page = open(&app, "/ui/arena/cartpole_keepin", &cookie).await;
    let text = html(&page);
    for part in
        ["<strong>1</strong>", "<strong>2</strong> tied", "rank 1 to 3", "200 to 1000", "after the season", "920.0"]
    {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    assert_eq!(text.matches("href=\"/ui/submissions/").count(), 1, "its own entry: {text}");
    assert!(!text.contains("<img") && !text.contains("<!--"));
    assert!(text.find("swift").unwrap() < text.find("slow").unwrap());
    let empty = open(&app, "/ui/arena/tabletop_reach", &cookie).await;
    assert!(html(&empty).contains("This scenario has no season."));
    for (path, status) in [("/ui/arena/nothing", 404), ("/ui/arena/cartpole_keepin?season=x", 400)] {
        assert_eq!(open(&app, path, &cookie).await.status, status, "{path}");
    }
}

#[tokio::test]
async fn a_submission_shows_its_account_alone_what_is_published() {
    let app = TestApp::new();
    let id = submitted(&app, "lab", &format!("mine{HOSTILE}"), 0.9).await;
    let path = format!("/ui/submissions/{id}");
    let own = sign_in(&app, &app.key("lab", "read").await).await.cookie;
    for path in ["/ui/submissions", &path] {
        let page = open(&app, path, &own).await;
        assert!(
            html(&page).contains("QUEUED") && !html(&page).contains("SAFE"),
            "{path}: its end is not published yet"
        );
    }
    app.publish();
    for path in ["/ui/submissions", &path] {
        let page = open(&app, path, &own).await;
        assert!(html(&page).contains("SAFE") && html(&page).contains("920.0"), "{path}");
        assert!(!html(&page).contains("<img") && !html(&page).contains("<!--"), "{path}");
    }
    let other = sign_in(&app, &app.key("other", "read,verify").await).await.cookie;
    let (found, absent) = (open(&app, &path, &other).await, open(&app, "/ui/submissions/nothing", &other).await);
    assert_eq!((found.status, html(&found)), (absent.status, html(&absent)));
    assert_eq!(found.status, 404);
    assert!(!html(&open(&app, "/ui/submissions", &other).await).contains("mine"));
    let led = open(&app, &path, "").await;
    assert_eq!((led.status.as_u16(), &led.headers["location"]), (303, &"/ui/sign-in".parse().unwrap()));
}

#[tokio::test]
async fn a_policy_is_submitted_to_the_open_season() {
    let app = TestApp::new();
    let browser = sign_in(&app, &app.key("lab", "read,submit").await).await;
    let (board, page) = ("/ui/arena/cartpole_keepin", "/ui/arena/cartpole_keepin/submit");
    let shown = open(&app, page, &browser.cookie).await;
    assert!(html(&shown).contains("opens the scenario’s first season"));
    assert!(
        html(&open(&app, board, &browser.cookie).await).contains("This scenario has no season"),
        "a look opens none"
    );
    let send = async |token: &str, file: Part<'_>, name: &str| {
        let parts = [
            Part::Text("csrf", token),
            file,
            Part::Text("scenario_id", "cartpole_keepin"),
            Part::Text("name", name),
            Part::Text("description", ""),
        ];
        app.send(form(Request::post(page).header("cookie", &browser.cookie), &parts)).await
    };
    let zip = Part::File("policy", "grasp.zip", ZIP);
    assert_eq!(send("forged", zip, "x").await.status, 403);
    let refused = send(&browser.token, Part::File("policy", "", b""), HOSTILE).await;
    assert!(refused.status == 400 && html(&refused).contains("Not submitted"), "{}", refused.body);
    assert!(!html(&refused).contains("<img"), "the name is text");
    let made = send(&browser.token, zip, "mine").await;
    assert_eq!(made.status, 303, "{}", made.body);
    let place = made.headers["location"].to_str().unwrap();
    assert!(html(&open(&app, place, &browser.cookie).await).contains("mine"));
    let board = open(&app, board, &browser.cookie).await;
    assert!(html(&board).contains(&format!("href=\"{page}\"")));
    assert!(html(&open(&app, page, &browser.cookie).await).contains("Submit to season 1"));
    let reader = sign_in(&app, &app.key("lab", "read").await).await;
    assert!(!html(&open(&app, "/ui/arena/cartpole_keepin", &reader.cookie).await).contains(page));
    assert_eq!(open(&app, page, &reader.cookie).await.status, 403);
    assert_eq!(open(&app, "/ui/arena/absent/submit", &browser.cookie).await.status, 404);
}
