//! The gallery of scenarios, and the page of one.

use axum::body::Body;
use axum::http::Request;

use crate::app::TestApp;
use crate::sessions::sign_in;
use crate::ui::{html, open};

#[tokio::test]
async fn the_gallery_is_filtered() {
    let app = TestApp::new();
    let cookie = sign_in(&app, &app.key("lab", "read").await).await.cookie;
    let count = async |query: &str| {
        let page = open(&app, &format!("/ui/scenarios{query}"), &cookie).await;
        assert_eq!(page.status, 200, "{query}");
        html(&page).matches("<li class=\"card\">").count()
    };
    for (query, number) in [
        ("", 2),
        ("?collection=small", 2),
        ("?collection=none", 0),
        ("?difficulty=2&cameras=without&collection=", 2),
        ("?difficulty=3", 0),
        ("?cameras=with", 0),
        ("?robot=panda", 0),
        ("?robot=none", 2),
        ("?q=TABLETOP", 1),
        ("?q=%3Cimg%20src%3Dx%3E%22", 0),
    ] {
        assert_eq!(count(query).await, number, "{query}");
    }
    let page = open(&app, "/ui/scenarios?q=%3Cimg%20src%3Dx%3E%22", &cookie).await;
    assert!(!html(&page).contains("<img"));
}

#[tokio::test]
async fn a_scenario_shows_what_its_policy_needs_and_a_policy_to_start_from() {
    let app = TestApp::new();
    let cookie = sign_in(&app, &app.key("lab", "read").await).await.cookie;
    let page = open(&app, "/ui/scenarios/cartpole_keepin", &cookie).await;
    for part in [
        "<h3>A long story</h3>",
        "href=\"/ui/submit?scenario=cartpole_keepin\"",
        "href=\"/ui/scenarios/cartpole_keepin/policy.py\"",
        "What the policy sees",
        "<td class=\"mono\">force</td>",
    ] {
        assert!(html(&page).contains(part), "{part} is missing in {}", html(&page));
    }
    let policy = open(&app, "/ui/scenarios/cartpole_keepin/policy.py", &cookie).await;
    assert_eq!(policy.headers["content-type"], "text/x-python; charset=utf-8");
    assert_eq!(policy.headers["content-disposition"], "attachment; filename=\"policy.py\"");
    let text = policy.body.as_str().unwrap();
    assert!(text.contains("class Policy:") && text.contains("np.zeros(1)"), "{text}");
    for unknown in ["/ui/scenarios/nothing", "/ui/scenarios/nothing/policy.py", "/ui/scenarios/%3Cimg%3E"] {
        let missing = open(&app, unknown, &cookie).await;
        assert_eq!(missing.status, 404, "{unknown}");
        assert!(!html(&missing).contains("<img"));
    }
}

#[tokio::test]
async fn a_scenario_has_a_page_of_the_cheats_on_it() {
    let app = TestApp::new();
    let cookie = sign_in(&app, &app.key("lab", "read").await).await.cookie;
    let scenario = open(&app, "/ui/scenarios/cartpole_keepin", &cookie).await;
    assert!(html(&scenario).contains("href=\"/ui/scenarios/cartpole_keepin/cheats\""));
    let page = open(&app, "/ui/scenarios/tabletop_reach/cheats", &cookie).await;
    let text = html(&page);
    assert!(text.contains("<code>tcp_speed</code>") && text.contains("UNSAFE"), "{text}");
    assert!(!text.contains("gives_way") && !text.contains("keep_in"), "of this scenario only: {text}");
    for path in ["/ui/scenarios/nothing/cheats", "/ui/scenarios/adding/cheats"] {
        assert_eq!(open(&app, path, &cookie).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_scenario_shows_videos_of_its_known_answers() {
    let app = TestApp::new();
    let cookie = sign_in(&app, &app.key("lab", "read").await).await.cookie;
    let page = open(&app, "/ui/scenarios/cartpole_keepin", &cookie).await;
    let text = html(&page);
    assert_eq!(text.matches("<video controls muted playsinline preload=\"none\" poster=").count(), 2, "{text}");
    for part in ["SAFE</span> <strong>reference</strong>", "UNSAFE</span> <strong>reckless</strong>", "keep_in"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    assert!(!text.contains("autoplay"));
    let video = "/ui/scenarios/cartpole_keepin/clips/reckless.mp4";
    assert!(text.contains(&format!("src=\"{video}?v=abababababab\"")), "{text}");
    let other = open(&app, "/ui/scenarios/tabletop_reach", &cookie).await;
    assert!(!html(&other).contains("<video"), "it has none");

    let ask = |range: &str| Request::get(video).header("cookie", &cookie).header("range", range).body(Body::empty());
    for (range, status, part) in [
        ("bytes=0-3", 206, Some("bytes 0-3/")),
        ("bytes=-5", 206, Some("bytes ")),
        ("lines=1", 200, None),
        ("bytes=99999999-", 416, None),
    ] {
        let answer = app.send(ask(range).unwrap()).await;
        assert_eq!(answer.status, status, "{range}");
        let place = answer.headers.get("content-range").map(|value| value.to_str().unwrap());
        assert_eq!(place.is_some(), part.is_some(), "{range}: {place:?}");
        assert!(part.is_none_or(|part| place.unwrap().starts_with(part)), "{range}: {place:?}");
        assert!(status == 416 || answer.headers["content-type"] == "video/mp4");
    }
    let poster = open(&app, "/ui/scenarios/cartpole_keepin/clips/reference.webp", &cookie).await;
    assert_eq!((poster.status.as_u16(), &poster.headers["content-type"]), (200, &"image/webp".parse().unwrap()));
    for missing in ["reckless.json", "idle.mp4", "..%2fREADME.md", "%3Cimg%3E", "reckless"] {
        let answer = open(&app, &format!("/ui/scenarios/cartpole_keepin/clips/{missing}"), &cookie).await;
        assert_eq!(answer.status, 404, "{missing}");
    }
    assert_eq!(open(&app, video, "").await.status, 303, "a stranger is led to the form for signing in");
}
