//! The first API key.

use std::os::unix::fs::PermissionsExt;

use assay_api::keys::{Bootstrap, BootstrapError, bootstrap};
use assay_model::Scopes;
use assay_store::KeyId;

use crate::app::TestApp;

async fn start(app: &TestApp, environment: Option<&str>) -> Result<Bootstrap, BootstrapError> {
    let state = &app.state;
    bootstrap(&*state.records, app.folder.path(), environment, &*state.entropy, state.clock.now()).await
}

#[tokio::test]
async fn an_empty_instance_writes_a_key_readable_by_its_owner_only() {
    let app = TestApp::new();
    let Bootstrap::Written(path) = start(&app, None).await.unwrap() else { panic!("not written") };
    assert_eq!(path, app.folder.path().join("bootstrap-key"));
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let key = std::fs::read_to_string(&path).unwrap();
    assert_eq!(app.get("/scenarios", key.trim()).await.status, 200);
    assert_eq!(start(&app, None).await.unwrap(), Bootstrap::NotNeeded);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), key, "the second start changes nothing");
    assert_eq!(app.state.records.keys(None).await.unwrap()[0].scopes, Scopes::all());
}

#[tokio::test]
async fn the_key_of_the_environment_is_used_only_for_an_empty_instance() {
    let app = TestApp::new();
    let key = |digit: &str| format!("assay_boot{digit}_{}", digit.repeat(64));
    assert_eq!(start(&app, Some(&key("1"))).await.unwrap(), Bootstrap::FromEnvironment);
    assert_eq!(app.get("/scenarios", &key("1")).await.status, 200);
    assert!(!app.folder.path().join("bootstrap-key").exists());
    assert_eq!(start(&app, Some(&key("2"))).await.unwrap(), Bootstrap::NotNeeded);
    assert_eq!(app.get("/scenarios", &key("2")).await.status, 401);
    app.state.records.revoke_key(&KeyId::parse("boot1").unwrap(), app.state.clock.now()).await.unwrap();
    assert_eq!(start(&app, Some(&key("2"))).await.unwrap(), Bootstrap::NotNeeded, "a revoked key has existed");
    assert_eq!(app.get("/scenarios", &key("2")).await.status, 401);
}

#[tokio::test]
async fn an_invalid_key_in_the_environment_prevents_the_start() {
    let app = TestApp::new();
    let error = start(&app, Some("hunter2")).await.unwrap_err();
    assert!(matches!(error, BootstrapError::Environment(_)));
    let text = format!("{error} {error:?}");
    assert!(text.contains("ASSAY_BOOTSTRAP_KEY") && !text.contains("hunter2"), "{text}");
    assert!(!app.state.records.has_key_ever_existed().await.unwrap());
}
