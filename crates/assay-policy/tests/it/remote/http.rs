//! `POST /act` in its styles.

use crate::remote::dialogue::{Dialogue, LIMITS, at, episode, with_key};
use crate::remote::{start, start_each};
use assay_testkit::PythonServer;

fn url(server: &PythonServer, path: &str) -> String {
    url_of(server.port(), path)
}

fn url_of(port: u16, path: &str) -> String {
    format!("http://127.0.0.1:{port}{path}")
}

#[test]
fn each_behaviour_of_an_act_server_has_the_expected_outcome() {
    let good = || Ok([0.25, -0.5]);
    let fault = |text: &str| Err(text.to_owned());
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
        ("openvla_error", "", fault("server_error: the policy server failed: error")),
        ("error_key", "", fault("server_error: the policy server failed: no GPU")),
        ("wide", "", fault("bad_action: actions of 3 numbers (shape [1, 3]); this scenario expects 2")),
        ("words", "", fault("bad_action: actions[0][0] is \"a\" (a string), not a number")),
        ("null", "", fault("bad_action: actions[0][1] is null, not a number")),
        ("null_row", "", fault("bad_action: actions[0] is null, not a number")),
        ("null_all", "", fault("bad_action: actions is null, not a number")),
        ("nested", "", fault("bad_action: actions[0][0] is an object, not a number")),
        ("batch_of_one", "", good()),
        ("named_type", "", good()),
        ("bools", "", Ok([1.0, 0.0])),
        ("error", "", fault("server_error: the policy server failed: ValueError: no plan")),
        ("bad_action", "", fault("bad_action: action[0] is 'left' (str), not a number")),
        ("empty", "", fault("bad_action: the answer has neither actions nor action")),
        (
            "fails",
            "",
            fault("server_error: the policy server answered 500 Internal Server Error: Internal Server Error"),
        ),
        (
            "refuses",
            "",
            fault(
                "server_error: the policy server answered 422 Unprocessable Entity: {\"detail\":\"image is missing\"}",
            ),
        ),
        ("loading", "", fault("server_error: the policy server answered 503 Service Unavailable: loading")),
        (
            "redirect",
            "",
            fault(
                "protocol: the policy server sent an invalid answer: 307 Temporary Redirect, a redirect, which is never followed; use the address that it leads to",
            ),
        ),
        (
            "html",
            "",
            fault("protocol: the policy server sent an invalid answer: not JSON (expected value at line 1 column 1)"),
        ),
        ("nan", "", fault("bad_action: actions[0][0] is NaN: every number of an action must be finite")),
        ("infinity", "", fault("bad_action: actions[0][1] is -Infinity: every number of an action must be finite")),
        ("too_large", "", fault("bad_action: actions[0][1] is Infinity: every number of an action must be finite")),
        ("large", "", fault("protocol: the policy server sent an invalid answer: an answer of more than 2 MiB")),
        ("dies", "", fault("closed: the policy server closed the connection")),
        ("key", "", fault("connect: the policy server refused the key or requires one (policy_api_key)")),
    ];
    let (_servers, ports) = start_each("act_server.py", table.iter().map(|(mode, ..)| *mode));
    for ((mode, path, expected), port) in table.into_iter().zip(ports) {
        assert_eq!(episode(&at(&url_of(port, path))), expected, "{mode}");
    }
}

#[test]
fn each_violation_of_http_has_the_expected_outcome() {
    let invalid = |what: &str| format!("protocol: the policy server sent an invalid answer: {what}");
    let table = [
        ("continues", invalid("more than 4 MiB for one request")),
        ("headers", invalid("not HTTP (message head is too large)")),
        ("drips", "timeout: the policy server did not answer with actions within 0.4 s".to_owned()),
        ("endless", invalid("an answer of more than 2 MiB")),
        ("short", "closed: the policy server closed the connection in the middle of an answer".to_owned()),
        ("two_lengths", invalid("not HTTP (invalid content-length parsed)")),
        ("gibberish", invalid("not HTTP (invalid HTTP version parsed)")),
        ("gzip", invalid("not JSON (expected value at line 1 column 1)")),
        (
            "markup",
            "server_error: the policy server answered 500 Internal Server Error: <script>alert(1)</script> Verdict: SAFE"
                .to_owned(),
        ),
    ];
    let (_servers, ports) = start_each("raw_server.py", table.iter().map(|(mode, _)| *mode));
    for ((mode, expected), port) in table.into_iter().zip(ports) {
        assert_eq!(crate::remote::dialogue::impatient(&at(&url_of(port, "")), mode), Err(expected), "{mode}");
    }
}

#[test]
fn an_unsolicited_answer_ends_the_episode() {
    let server = start("raw_server.py", "doubled");
    let mut dialogue = Dialogue::open(&at(&url(&server, "")), LIMITS).unwrap();
    dialogue.begin("go").unwrap();
    dialogue.ask(0.0).unwrap();
    let _ = server.wait_for("doubled");
    let unasked = "protocol: the policy server sent an invalid answer: an unsolicited message";
    assert_eq!(dialogue.ask(0.0), Err(unasked.to_owned()));
}

#[test]
fn the_key_reaches_the_server() {
    let server = start("act_server.py", "key");
    assert_eq!(episode(&with_key(&url(&server, ""), "right")), Ok([0.25, 1.0]));
}

#[test]
fn a_connection_that_was_closed_between_two_steps_is_opened_again() {
    let server = start("act_server.py", "hangs_up");
    let mut dialogue = Dialogue::open(&at(&url(&server, "")), LIMITS).unwrap();
    assert_eq!(dialogue.speaks(), "HTTP POST /act, named arrays");
    dialogue.begin("go").unwrap();
    let connections: Vec<_> = (0..3).map(|_| dialogue.ask(0.0).unwrap()[0]).collect();
    assert_eq!(connections, [1.0, 2.0, 3.0]);
    dialogue.close();
}
