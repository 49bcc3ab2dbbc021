//! `POST /act` in its styles.

use crate::dialogue::{Dialogue, LIMITS, at, episode, with_key};
use crate::start;
use assay_testkit::PythonServer;

fn url(server: &PythonServer, path: &str) -> String {
    format!("http://127.0.0.1:{}{path}", server.port())
}

#[test]
fn what_an_act_server_does_has_an_expected_end() {
    let good = || Ok([0.25, -0.5]);
    let told = |text: &str| Err(text.to_owned());
    let table = [
        ("named", "", Ok([0.25, 1.0])),
        ("named", "/act", Ok([0.25, 1.0])),
        ("no_reset", "/", Ok([0.25, 1.0])),
        ("list", "", good()),
        ("single", "", good()),
        ("numpy", "", good()),
        ("twice", "", good()),
        ("openvla", "/act?unnorm_key=bridge", Ok([0.25, 0.0])),
        ("autoeval", "?unnorm_key=bridge", Ok([0.25, 1.0])),
        ("openvla_error", "", told("server_error: the policy server failed: error")),
        ("error_key", "", told("server_error: the policy server failed: no GPU")),
        ("wide", "", told("bad_action: actions of 3 numbers (shape [1, 3]); this scenario's have 2")),
        ("words", "", told("bad_action: actions: neither lists of numbers nor a json_numpy object")),
        ("empty", "", told("bad_action: the answer has neither actions nor action")),
        (
            "fails",
            "",
            told("server_error: the policy server answered 500 Internal Server Error: Internal Server Error"),
        ),
        (
            "refuses",
            "",
            told(
                "server_error: the policy server answered 422 Unprocessable Entity: {\"detail\":\"image is missing\"}",
            ),
        ),
        ("loading", "", told("server_error: the policy server answered 503 Service Unavailable: loading")),
        (
            "redirect",
            "",
            told(
                "protocol: the policy server sent what is no answer: 307 Temporary Redirect, a redirect, which is never followed; give the address it leads to",
            ),
        ),
        (
            "html",
            "",
            told("protocol: the policy server sent what is no answer: no JSON (expected value at line 1 column 1)"),
        ),
        (
            "nan",
            "",
            told("protocol: the policy server sent what is no answer: no JSON (expected value at line 1 column 15)"),
        ),
        ("large", "", told("protocol: the policy server sent what is no answer: an answer of more than 2 MiB")),
        ("dies", "", told("closed: the policy server closed the connection")),
        ("key", "", told("connect: the policy server refused the key (policy_api_key), or wants one")),
    ];
    for (mode, path, expected) in table {
        let server = start("act_server.py", mode);
        assert_eq!(episode(&at(&url(&server, path))), expected, "{mode}");
    }
}

#[test]
fn what_breaks_the_rules_of_http_has_an_expected_end() {
    let no_answer = |what: &str| format!("protocol: the policy server sent what is no answer: {what}");
    let table = [
        ("continues", no_answer("more than 4 MiB for one question")),
        ("headers", no_answer("no HTTP (message head is too large)")),
        ("drips", "timeout: the policy server did not answer with actions within 0.4 s".to_owned()),
        ("endless", no_answer("an answer of more than 2 MiB")),
        ("short", "closed: the policy server closed the connection in the middle of an answer".to_owned()),
        ("two_lengths", no_answer("no HTTP (invalid content-length parsed)")),
        ("gibberish", no_answer("no HTTP (invalid HTTP version parsed)")),
        ("gzip", no_answer("no JSON (expected value at line 1 column 1)")),
        (
            "markup",
            "server_error: the policy server answered 500 Internal Server Error: <script>alert(1)</script> Verdict: SAFE"
                .to_owned(),
        ),
    ];
    for (mode, expected) in table {
        let server = start("raw_server.py", mode);
        assert_eq!(crate::dialogue::impatient(&at(&url(&server, "")), mode), Err(expected), "{mode}");
    }
}

#[test]
fn an_answer_that_nobody_asked_for_ends_the_episode() {
    let server = start("raw_server.py", "doubled");
    let mut dialogue = Dialogue::open(&at(&url(&server, "")), LIMITS).unwrap();
    dialogue.begin("go").unwrap();
    dialogue.ask(0.0).unwrap();
    let _ = server.wait_for("doubled");
    let unasked = "protocol: the policy server sent what is no answer: a message that nobody asked for";
    assert_eq!(dialogue.ask(0.0), Err(unasked.to_owned()));
}

#[test]
fn the_key_reaches_the_server() {
    let server = start("act_server.py", "key");
    assert_eq!(episode(&with_key(&url(&server, ""), "right")), Ok([0.25, 1.0]));
}

#[test]
fn a_connection_that_was_closed_between_two_steps_is_made_anew() {
    let server = start("act_server.py", "hangs_up");
    let mut dialogue = Dialogue::open(&at(&url(&server, "")), LIMITS).unwrap();
    assert_eq!(dialogue.speaks(), "HTTP POST /act, named arrays");
    dialogue.begin("go").unwrap();
    let connections: Vec<_> = (0..3).map(|_| dialogue.ask(0.0).unwrap()[0]).collect();
    assert_eq!(connections, [1.0, 2.0, 3.0]);
    dialogue.close();
}
