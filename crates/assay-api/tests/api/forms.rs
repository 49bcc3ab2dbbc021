//! Invalid forms, part by part.

use assay_api::{ApiSettings, Uploads};
use axum::body::Body;
use serde_json::json;

use crate::app::{Answer, POLICY, Part, SCENARIO, SERVER, TestApp, encode, form, request};

async fn refused(app: &TestApp, key: &str, answer: &Answer, context: &str) {
    assert!(answer.status.is_client_error(), "{context}: {}", answer.body);
    assert_eq!(app.leftovers(), 0, "{context}");
    assert_eq!(app.get("/verify", key).await.body["total"], json!(0), "{context}");
    assert_eq!(std::fs::read_dir(app.folder.path().join("policies")).unwrap().count(), 0, "{context}");
    assert!(app.state.records.claimable(1).await.unwrap().is_empty(), "{context}");
    assert!(app.state.servers.list().unwrap().is_empty(), "{context}");
}

#[tokio::test]
async fn each_invalid_part_is_named() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let long = "x".repeat(101);
    let secret = "s3cret".repeat(700);
    let file = |content| Part::File("policy", "p.zip", content);
    use Part::Text;
    let cases: &[(&[Part<'_>], &str, &str)] = &[
        (&[SCENARIO], "policy", "policy is missing"),
        (&[SCENARIO, Text("policy_api_key", "k")], "policy", "policy is missing"),
        // A browser sends this for a field for a file when none was chosen.
        (&[SCENARIO, Part::File("policy", "", b"")], "policy", "policy is missing"),
        (&[SCENARIO, Part::File("policy", "empty.zip", b"")], "policy", "not a zip archive"),
        (&[SCENARIO, Text("policy_url", "ftp://policy.test/")], "policy_url", "no address of a policy server"),
        (&[SCENARIO, SERVER, Text("policy_url", "ws://b.test/")], "policy_url", "given twice"),
        (&[SCENARIO, SERVER, Text("policy_concurrency", "17")], "policy_concurrency", "from 1 to 16"),
        (&[SCENARIO, SERVER, Text("policy_concurrency", "0")], "policy_concurrency", "from 1 to 16"),
        (&[SCENARIO, SERVER, Text("replan_steps", "1001")], "replan_steps", "from 1 to 1000"),
        (&[SCENARIO, POLICY, Text("replan_steps", "x")], "replan_steps", "from 1 to 1000"),
        (&[SCENARIO, SERVER, Text("policy_api_key", "")], "policy_api_key", "printable ASCII"),
        (&[SCENARIO, SERVER, Text("policy_api_key", "s3cr\u{e9}t")], "policy_api_key", "printable ASCII"),
        (&[SCENARIO, SERVER, Text("policy_api_key", "s3cret"), Text("policy_api_key", "k")], "policy_api_key", "twice"),
        (&[SCENARIO, SERVER, Text("policy_api_key", &secret)], "policy_api_key", "longer than 4096 bytes"),
        (&[POLICY], "scenario", "scenario is missing"),
        (&[POLICY, Text("scenario", "no_such")], "scenario", "no such scenario"),
        (&[POLICY, Text("scenario_id", "No such!")], "scenario_id", "no such scenario"),
        (&[POLICY, SCENARIO, Text("scenario_id", "cartpole_keepin")], "scenario_id", "send one of them"),
        (&[POLICY, POLICY, SCENARIO], "policy", "given twice"),
        (&[POLICY, SCENARIO, SCENARIO], "scenario", "given twice"),
        (&[POLICY, SCENARIO, Text("episodes", "3")], "episodes", "there is no part"),
        (&[POLICY, SCENARIO, Text("num_episodes", "0")], "num_episodes", "from 1 to 1000"),
        (&[POLICY, SCENARIO, Text("num_episodes", "1001")], "num_episodes", "from 1 to 1000"),
        (&[POLICY, SCENARIO, Text("num_episodes", "3.0")], "num_episodes", "whole number"),
        (&[POLICY, SCENARIO, Text("num_episodes", "")], "num_episodes", "whole number"),
        (&[POLICY, SCENARIO, Text("seed", "-1")], "seed", "whole number"),
        (&[POLICY, SCENARIO, Text("seed", "18446744073709551616")], "seed", "whole number"),
        (&[POLICY, SCENARIO, Text("policy_key", "5e")], "policy_key", "64 hexadecimal digits"),
        (&[POLICY, SCENARIO, Text("policy_key", &"xy".repeat(32))], "policy_key", "64 hexadecimal digits"),
        (&[POLICY, SCENARIO, Text("max_violation_probability", "1")], "max_violation_probability", "between 0 and 1"),
        (&[POLICY, SCENARIO, Text("max_violation_probability", "NaN")], "max_violation_probability", "between 0 and 1"),
        (&[POLICY, SCENARIO, Text("confidence_level", "0")], "confidence_level", "between 0 and 1"),
        (&[POLICY, SCENARIO, Text("record", "some")], "record", "all, violations or none"),
        (&[POLICY, SCENARIO, Text("policy_name", " \u{1b}[1m ")], "policy_name", "1 to 100 characters"),
        (&[POLICY, SCENARIO, Text("policy_name", &long)], "policy_name", "1 to 100 characters"),
        (&[file(b"no archive"), SCENARIO], "policy", "not a zip archive"),
        (&[file(b""), SCENARIO], "policy", "not a zip archive"),
        (&[], "scenario", "scenario is missing"),
        (&[Text("", "x"), SCENARIO], "body", "there is no part"),
    ];
    for (parts, field, message) in cases {
        let answer = app.verify(&key, parts).await;
        let context = format!("{field}: {message}");
        assert_eq!((answer.status.as_u16(), answer.code()), (400, "VALIDATION_ERROR"), "{context}: {}", answer.body);
        assert_eq!(answer.body["error"]["details"]["field"], json!(field), "{context}");
        assert!(answer.message().contains(message), "{context}: {}", answer.message());
        assert!(!answer.body.to_string().contains("s3cr"), "{context}: {}", answer.body);
        refused(&app, &key, &answer, &context).await;
    }
}

#[tokio::test]
async fn values_in_errors_are_truncated_and_sanitised() {
    let app = TestApp::new();
    let key = app.key("lab", "verify").await;
    let text = format!("\u{1b}[31m{}", "x".repeat(3000));
    let answer = app.verify(&key, &[POLICY, Part::Text("scenario", &text)]).await;
    assert_eq!(answer.body["error"]["details"]["value"], json!("x".repeat(100)));
    let answer = app.verify(&key, &[POLICY, Part::Text("scenario", &"x".repeat(5000))]).await;
    assert!(answer.message().contains("longer than 4096 bytes"), "{}", answer.message());
}

#[tokio::test]
async fn malformed_and_incomplete_forms_leave_nothing() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let whole = encode(&[SCENARIO, POLICY]);
    for end in [0, 10, 60, 120, whole.len() - 20, whole.len() - 6] {
        let builder = request("POST", "/verify", &key).header("content-type", "multipart/form-data; boundary=XyZ");
        let answer = app.send(builder.body(Body::from(whole[..end].to_vec())).unwrap()).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (400, "VALIDATION_ERROR"), "{end}: {}", answer.body);
        refused(&app, &key, &answer, &format!("cut at {end}")).await;
    }
}

#[tokio::test]
async fn oversized_forms_are_413_with_and_without_a_length() {
    let app = TestApp::with(ApiSettings {
        uploads: Uploads { max_bytes: 1000, ..Uploads::default() },
        ..ApiSettings::default()
    });
    let key = app.key("lab", "verify,read").await;
    let fits = [b"PK".to_vec(), vec![0; 998]].concat();
    let (larger, huge) = ([fits.clone(), vec![0]].concat(), [fits.clone(), vec![0; 3 << 20]].concat());
    for (content, announced) in [(&larger, false), (&huge, false), (&huge, true)] {
        let mut sent = form(request("POST", "/verify", &key), &[SCENARIO, Part::File("policy", "p.zip", content)]);
        if announced {
            let length = content.len().to_string().parse().unwrap();
            sent.headers_mut().insert("content-length", length);
        }
        let answer = app.send(sent).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (413, "PAYLOAD_TOO_LARGE"), "{}", answer.body);
        assert!(answer.message().contains("at most 1000 bytes"));
        refused(&app, &key, &answer, "too much").await;
    }
    let answer = app.verify(&key, &[SCENARIO, Part::File("policy", "p.zip", &fits)]).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
}

#[tokio::test]
async fn an_archive_over_its_scenarios_limit_is_413_on_every_route() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,submit,read").await;
    let fits = [b"PK".to_vec(), vec![0; (1 << 20) - 2]].concat();
    let larger = [fits.clone(), vec![0]].concat();
    let small = Part::Text("scenario_id", "tabletop_reach");
    for path in ["/verify", "/submissions", "/preflight"] {
        let answer =
            app.send(form(request("POST", path, &key), &[Part::File("policy", "p.zip", &larger), small])).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (413, "PAYLOAD_TOO_LARGE"), "{path}: {}", answer.body);
        assert!(answer.message().contains("has 2 MiB, but tabletop_reach allows at most 1"), "{}", answer.message());
        let details = json!({ "limit": "archive_mib", "maximum": 1, "current": 2, "frees_at": null,
                              "frees_when": "never: the scenario sets it; send a smaller archive" });
        assert_eq!(answer.body["error"]["details"], details, "{path}");
        refused(&app, &key, &answer, path).await;
    }
    let other = app.verify(&key, &[SCENARIO, Part::File("policy", "p.zip", &larger)]).await;
    assert_eq!(other.status, 201, "the limit of one scenario is none of another: {}", other.body);
    let answer = app.verify(&key, &[small, Part::File("policy", "p.zip", &fits)]).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
}
