//! The pages for operators: keys, and the state of the service.

use assay_model::Blame;
use assay_store::JobFailure;

use crate::app::{POLICY, Part, SCENARIO, TestApp, ZIP};
use crate::sessions::{Browser, sign_in};
use crate::ui::{html, open, send};

const ADMIN: &str = "read,verify,admin";
const HOSTILE: &str = "<img src=x>'\"&<!--";

async fn operator(app: &TestApp) -> Browser {
    sign_in(app, &app.key("ops", ADMIN).await).await
}

fn secret(page: &str) -> String {
    let (_, rest) = page.split_once("<code class=\"secret\">").unwrap();
    rest.split('<').next().unwrap().to_owned()
}

fn id(key: &str) -> &str {
    key.split('_').nth(1).unwrap()
}

#[tokio::test]
async fn an_operator_makes_replaces_and_revokes_a_key() {
    let app = TestApp::new();
    let Browser { cookie, token, .. } = operator(&app).await;
    let fields = [
        ("csrf", &*token),
        ("name", "robot%20%3Cimg%20src%3Dx%3E"),
        ("account", "lab"),
        ("days", "30"),
        ("read", "yes"),
        ("verify", "yes"),
    ];
    let made = send(&app, "/ui/keys", &cookie, &fields).await;
    assert_eq!(made.status, 201, "{}", made.body);
    assert!(!html(&made).contains("<img"), "the name is text");
    let key = secret(html(&made));
    assert_eq!(app.get("/verify", &key).await.status, 200);
    let list = open(&app, "/ui/keys", &cookie).await;
    assert!(html(&list).contains(id(&key)) && !html(&list).contains(&key), "it is shown once");
    assert!(html(&list).contains("until 15 Jul 2025"), "it expires after 30 days");

    let question = open(&app, &format!("/ui/keys/{}", id(&key)), &cookie).await;
    assert!(html(&question).contains("cannot be undone"));
    let replace = format!("/ui/keys/{}/replace", id(&key));
    let replaced = send(&app, &replace, &cookie, &[("csrf", &token)]).await;
    assert_eq!(replaced.status, 201);
    let fresh = secret(html(&replaced));
    assert_eq!(app.get("/verify", &key).await.status, 401, "the old one is refused");
    assert_eq!(app.get("/verify", &fresh).await.status, 200);
    assert_eq!(send(&app, &replace, &cookie, &[("csrf", &token)]).await.status, 404, "only a valid key is replaced");
    let session = sign_in(&app, &fresh).await;
    let revoked = send(&app, &format!("/ui/keys/{}/revoke", id(&fresh)), &cookie, &[("csrf", &token)]).await;
    assert_eq!((revoked.status.as_u16(), revoked.headers["location"].to_str().unwrap()), (303, "/ui/keys"));
    assert_eq!(app.get("/verify", &fresh).await.status, 401);
    assert_eq!(open(&app, "/ui/jobs", &session.cookie).await.status, 303, "its sessions end");
}

#[tokio::test]
async fn what_the_api_refuses_the_page_refuses() {
    let app = TestApp::new();
    let key = app.key("ops", ADMIN).await;
    let Browser { cookie, token, .. } = sign_in(&app, &key).await;
    for (fields, status, message) in [
        (&[("name", "x")][..], 400, "scopes is empty"),
        (&[("name", ""), ("read", "yes")], 400, "name must have"),
        (&[("name", "x"), ("review", "yes")], 403, "lacks the scope review"),
        (&[("name", "x"), ("read", "yes"), ("account", "%3Cimg%3E")], 400, "an account has"),
        (&[("name", "x"), ("read", "yes"), ("days", "0")], 400, "days must be"),
    ] {
        let fields = [&[("csrf", &*token)][..], fields].concat();
        let refused = send(&app, "/ui/keys", &cookie, &fields).await;
        assert_eq!(refused.status, status, "{message}");
        assert!(html(&refused).contains(message) && !html(&refused).contains("class=\"secret\""), "{message}");
    }
    let revoke = format!("/ui/keys/{}/revoke", id(&key));
    let last = send(&app, &revoke, &cookie, &[("csrf", &token)]).await;
    assert_eq!(last.status, 409, "the last key of an administrator stays");
    assert_eq!(app.get("/keys", &key).await.body["keys"].as_array().unwrap().len(), 1, "nothing was made");

    let other = sign_in(&app, &app.key("lab", "read,verify").await).await;
    for path in ["/ui/keys", &revoke, &revoke.replace("revoke", "replace")] {
        let fields = |token| [("csrf", token), ("name", "x"), ("read", "yes")];
        assert_eq!(send(&app, path, &other.cookie, &fields(&*other.token)).await.status, 403, "{path}: no admin");
        for wrong in ["", &*other.token] {
            assert_eq!(send(&app, path, &cookie, &fields(wrong)).await.status, 403, "{path}: another token");
        }
    }
    assert_eq!(open(&app, &format!("/ui/keys/{}", id(&key)), &other.cookie).await.status, 403);
    assert_eq!(app.get("/verify", &key).await.status, 200);
}

#[tokio::test]
async fn an_operator_sees_health_queue_and_failures() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let failed = app.verify(&key, &[POLICY, SCENARIO]).await.body["job_id"].as_str().unwrap().to_owned();
    let failure = JobFailure { blame: Blame::Platform, message: format!("the disk broke {HOSTILE}") };
    let now = assay_model::Clock::now(&*app.clock);
    app.state.records.fail_job(failed.parse().unwrap(), failure, now).await.unwrap();
    let name = format!("{HOSTILE}.zip");
    for _ in 0..2 {
        app.verify(&key, &[Part::File("policy", &name, ZIP), SCENARIO]).await;
    }
    let page = open(&app, "/ui/operator", &operator(&app).await.cookie).await;
    let text = html(&page);
    for part in [
        "the disk broke",
        "Failures of the service: 1",
        "<td class=\"number\">1</td><td>QUEUED</td>",
        "<td class=\"number\">2</td><td>QUEUED</td>",
        "a free lane",
        "<dt>queued</dt><dd>2</dd>",
        " free, at least 1 GiB needed",
        "starting",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    assert!(!text.contains("<img") && !text.contains("<!--"));
}

#[tokio::test]
async fn an_operator_creates_drains_and_revokes_a_worker() {
    let app = TestApp::new();
    let Browser { cookie, token, .. } = operator(&app).await;
    assert!(html(&open(&app, "/ui/workers", &cookie).await).contains("runs all episodes itself"));
    let csrf = ("csrf", &*token);
    for name in ["", "Gpu", "%3Cimg%20src%3Dx%3E"] {
        let refused = send(&app, "/ui/workers", &cookie, &[csrf, ("name", name)]).await;
        assert!(refused.status == 400 && html(&refused).contains("name must be"), "{}", refused.body);
        assert!(!html(&refused).contains("<img") && !html(&refused).contains("class=\"secret\""));
    }
    let made = send(&app, "/ui/workers", &cookie, &[csrf, ("name", "gpu-07"), ("trusted", "yes")]).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let secret = secret(html(&made));
    let again = send(&app, "/ui/workers", &cookie, &[csrf, ("name", "gpu-07")]).await;
    assert!(again.status == 409 && html(&again).contains("choose another name"), "{}", again.body);
    let list = open(&app, "/ui/workers", &cookie).await;
    for part in ["gpu-07", "trusted", "ACTIVE", "never"] {
        assert!(html(&list).contains(part), "{part}");
    }
    assert!(!html(&list).contains(&secret), "it is shown once");

    let page = "/ui/workers/gpu-07";
    assert!(html(&open(&app, page, &cookie).await).contains("cannot be undone"));
    let post = async |action: &str, more: &[(&str, &str)]| {
        send(&app, &format!("{page}/{action}"), &cookie, &[&[csrf], more].concat()).await.status.as_u16()
    };
    assert_eq!(post("drain", &[]).await, 303);
    assert!(html(&open(&app, page, &cookie).await).contains("Let it claim again"));
    assert_eq!(post("drain", &[("undo", "yes")]).await, 303);
    assert!(html(&open(&app, page, &cookie).await).contains("ACTIVE"));
    assert_eq!([post("revoke", &[]).await, post("revoke", &[]).await], [303, 303]);
    let revoked = open(&app, page, &cookie).await;
    assert!(html(&revoked).contains("REVOKED") && !html(&revoked).contains("<button class=\"danger\""));
    assert_eq!(post("drain", &[]).await, 409);

    let other = sign_in(&app, &app.key("lab", "read,verify").await).await;
    for path in ["/ui/workers", "/ui/workers/gpu-07/drain", "/ui/workers/gpu-07/revoke"] {
        let fields = |token| [("csrf", token), ("name", "x")];
        assert_eq!(send(&app, path, &other.cookie, &fields(&*other.token)).await.status, 403, "{path}: no admin");
        assert_eq!(send(&app, path, &cookie, &fields(&*other.token)).await.status, 403, "{path}: another token");
    }
    for path in ["/ui/workers", page] {
        assert_eq!(open(&app, path, &other.cookie).await.status, 403, "{path}");
    }
    for path in ["/ui/workers/absent", "/ui/workers/%3Cimg%3E"] {
        assert_eq!(open(&app, path, &cookie).await.status, 404, "{path}");
    }
}
