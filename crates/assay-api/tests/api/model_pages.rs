//! The pages of an account's models: the list, and the question before one is deleted.

use crate::app::TestApp;
use crate::models::{announced, content, settings, uploaded, verify};
use crate::sessions::{Browser, sign_in};
use crate::ui::{html, open, send};

#[tokio::test]
async fn models_are_listed_and_deleted_after_a_question() {
    let app = TestApp::with(settings());
    let key = app.key("lab", "verify,read").await;
    let model = uploaded(&app, &key, &content(100)).await;
    let upload = announced(&app, &key, &content(3000)).await;
    let upload = upload.trim_start_matches("/models/");
    let Browser { cookie, token, .. } = sign_in(&app, &key).await;
    let list = open(&app, "/ui/models", &cookie).await;
    for part in [
        format!("href=\"/ui/models/{model}\""),
        format!("href=\"/ui/models/{upload}\""),
        "net.onnx".to_owned(),
        "<progress max=\"3000\" value=\"0\"".to_owned(),
        "assay model upload".to_owned(),
    ] {
        assert!(html(&list).contains(&part), "{part} is missing in {}", html(&list));
    }
    for id in [&model.to_string(), upload] {
        let question = open(&app, &format!("/ui/models/{id}"), &cookie).await;
        assert!(html(&question).contains("cannot be undone"), "{}", html(&question));
        let path = format!("/ui/models/{id}/delete");
        assert_eq!(send(&app, &path, &cookie, &[("csrf", "")]).await.status, 403, "without the token");
        let deleted = send(&app, &path, &cookie, &[("csrf", &token)]).await;
        assert_eq!((deleted.status.as_u16(), &deleted.headers["location"]), (303, &"/ui/models".parse().unwrap()));
        assert_eq!(open(&app, &format!("/ui/models/{id}"), &cookie).await.status, 404);
    }
    assert!(html(&open(&app, "/ui/models", &cookie).await).contains("There are none."));
}

#[tokio::test]
async fn a_model_that_a_job_needs_stays_and_the_page_says_why() {
    let app = TestApp::with(settings());
    let key = app.key("lab", "verify,read").await;
    let model = uploaded(&app, &key, &content(100)).await;
    let job = verify(&app, &key, model, None).await.body["job_id"].as_str().unwrap().to_owned();
    let Browser { cookie, token, .. } = sign_in(&app, &key).await;
    let path = format!("/ui/models/{model}/delete");
    let refused = send(&app, &path, &cookie, &[("csrf", &token)]).await;
    assert_eq!(refused.status, 409);
    assert!(html(&refused).contains("Not deleted") && html(&refused).contains(&job), "{}", html(&refused));
    assert_eq!(app.get(&format!("/models/{model}"), &key).await.status, 200);

    let reader = sign_in(&app, &app.key("lab", "read").await).await;
    let shown = open(&app, &format!("/ui/models/{model}"), &reader.cookie).await;
    assert!(shown.status == 200 && !html(&shown).contains("Delete the model"), "a reader may only look");
    assert_eq!(send(&app, &path, &reader.cookie, &[("csrf", &reader.token)]).await.status, 403);
    let other = sign_in(&app, &app.key("other", "verify,read").await).await;
    assert_eq!(open(&app, &format!("/ui/models/{model}"), &other.cookie).await.status, 404);
    assert_eq!(send(&app, &path, &other.cookie, &[("csrf", &other.token)]).await.status, 404);
    assert!(!html(&open(&app, "/ui/models", &other.cookie).await).contains("net.onnx"));
}
