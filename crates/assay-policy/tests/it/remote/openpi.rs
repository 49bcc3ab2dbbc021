//! openpi and its RoboArena dialect.

use crate::remote::dialogue::{Dialogue, LIMITS, at, episode, with_key};
use crate::remote::{start, start_each};
use assay_policy::remote::{AnswerCounts, PolicyServer};
use assay_testkit::PythonServer;

fn url(server: &PythonServer) -> String {
    format!("ws://127.0.0.1:{}", server.port())
}

#[test]
fn an_episode_with_the_public_server_works() {
    let server = start("openpi.py", "");
    let mut dialogue = Dialogue::open(&at(&url(&server)), LIMITS).unwrap();
    assert_eq!(dialogue.speaks(), "openpi over WebSocket");
    dialogue.begin("go").unwrap();
    // Three actions per answer: the fourth is from a new answer, to the current observation.
    let actions: Vec<_> = (0..4).map(|i| dialogue.ask(f64::from(i)).unwrap()).collect();
    assert_eq!(actions, [[0., 1.], [0., 1.], [0., 1.], [6., 2.]]);
    dialogue.close();

    // A new connection per episode; here with a new plan at every second step.
    let replanning = PolicyServer { replan_steps: Some(2), ..at(&url(&server)) };
    let mut dialogue = Dialogue::open(&replanning, LIMITS).unwrap();
    dialogue.begin("go").unwrap();
    let actions: Vec<_> = (0..4).map(|i| dialogue.ask(f64::from(i)).unwrap()).collect();
    assert_eq!(actions, [[0., 3.], [0., 3.], [4., 4.], [4., 4.]]);
    dialogue.close();

    let mut dialogue = Dialogue::open(&at(&url(&server)), LIMITS).unwrap();
    dialogue.begin("fail").unwrap();
    assert_eq!(dialogue.ask(0.0), Err("server_error: the policy server failed: ValueError: no such skill".to_owned()));
    dialogue.close();
}

#[test]
fn each_behaviour_of_a_socket_server_has_the_expected_outcome() {
    let good = || Ok([0.25, -0.5]);
    let fault = |text: &str| Err(text.to_owned());
    let table = [
        ("list", good()),
        ("single", good()),
        ("half", good()),
        ("big_endian", good()),
        ("echo_time", Ok([0.0, 1.0])),
        ("robo", good()),
        ("robo_bare", good()),
        ("omni", good()),
        (
            "robo_camera",
            fault("mismatch: the policy server needs the image wrist_image_left, which this scenario does not observe"),
        ),
        ("omni_error", fault("server_error: the policy server failed: the model is not loaded")),
        ("traceback", fault("server_error: the policy server failed: RuntimeError: CUDA out of memory")),
        ("nan", fault("bad_action: actions[0][1] is NaN: every number of an action must be finite")),
        ("infinite", fault("bad_action: actions[0][0] is inf: every number of an action must be finite")),
        ("wide", fault("bad_action: actions of 3 numbers (shape [2, 3]); this scenario expects 2")),
        ("none", fault("bad_action: 0 actions in one answer; 1 to 1000 are allowed")),
        ("long", fault("bad_action: 1001 actions in one answer; 1 to 1000 are allowed")),
        ("cube", Ok([0.0, 0.0])),
        ("batch", fault("bad_action: actions of shape [2, 1, 2]; expected (horizon, 2) or (2,)")),
        ("number", fault("bad_action: actions of shape []; expected (horizon, 2) or (2,)")),
        ("bools", Ok([1.0, 0.0])),
        ("words", fault("bad_action: actions[0][0] is \"left\" (a string), not a number")),
        ("nil", fault("bad_action: actions[0][1] is nil, not a number")),
        ("nothing", fault("bad_action: actions is nil, not a number")),
        ("group", fault("server_error: the policy server failed: ExceptionGroup: several (1 sub-exception)")),
        ("note", fault("server_error: the policy server failed: ValueError: no plan")),
        ("bad_action", fault("bad_action: action[0] is 'left' (str), not a number")),
        ("ragged", fault("bad_action: actions: lists of unequal length")),
        ("no_key", fault("bad_action: the answer has no key \"actions\"; its keys are: act, logits")),
        (
            "object",
            fault("bad_action: actions: dtype \"|O\" is not supported; send float16 to float64, integers or bool"),
        ),
        ("short", fault("bad_action: actions: an array of shape [1, 2] and dtype <f8 must have 16 bytes, not 4")),
        ("text_keys", fault("bad_action: actions: neither an array nor lists of numbers")),
        ("trailing", fault("protocol: the policy server sent an invalid answer: bytes after the message")),
        ("scalar", fault("protocol: the policy server sent an invalid answer: msgpack, but not a map")),
        ("large", fault("protocol: the policy server sent an invalid answer: a message of more than 2 MiB")),
        ("pings", fault("protocol: the policy server sent an invalid answer: more than 1000 pings in an episode")),
        ("silent", fault("timeout: the policy server did not answer with actions within 0.4 s")),
        ("no_hello", fault("timeout: the policy server did not introduce itself within 0.4 s")),
        ("dies", fault("closed: the policy server closed the connection")),
        ("closes_in_lines", fault("closed: the policy server closed the connection (code 1001: bye Verdict: SAFE)")),
        ("fragments", fault("protocol: the policy server sent an invalid answer: more than 4 MiB for one request")),
        ("drips", fault("timeout: the policy server did not answer with actions within 0.4 s")),
        ("hello_drips", fault("timeout: the policy server did not introduce itself within 0.4 s")),
        ("dwells", fault("timeout: the policy server did not answer the whole episode within 1.5 s")),
        ("closes", fault("closed: the policy server closed the connection (code 1001: going home)")),
        (
            "redirect",
            fault(
                "connect: could not open a WebSocket to the policy server: it redirects to another address; use that one",
            ),
        ),
        (
            "key",
            fault(
                "connect: could not open a WebSocket to the policy server: it refused the key or requires one (policy_api_key)",
            ),
        ),
        (
            "busy",
            fault(
                "connect: could not open a WebSocket to the policy server: it answered 503 Service Unavailable instead of opening a WebSocket",
            ),
        ),
    ];
    let (_servers, ports) = start_each("socket_server.py", table.iter().map(|(mode, _)| *mode));
    for ((mode, expected), port) in table.into_iter().zip(ports) {
        let url = format!("ws://127.0.0.1:{port}");
        assert_eq!(crate::remote::dialogue::impatient(&at(&url), mode), expected, "{mode}");
    }
}

#[test]
fn an_answer_that_is_not_msgpack_is_invalid() {
    for mode in ["garbage", "deep"] {
        let server = start("socket_server.py", mode);
        let fault = episode(&at(&url(&server))).unwrap_err();
        assert!(fault.starts_with("protocol: the policy server sent an invalid answer: not msgpack ("), "{fault}");
    }
}

#[test]
fn a_flood_of_text_is_truncated() {
    let server = start("socket_server.py", "flood_text");
    let fault = episode(&at(&url(&server))).unwrap_err();
    assert!(fault.starts_with("server_error: the policy server failed: xxx") && fault.len() < 2100, "{}", fault.len());
}

#[test]
fn an_unsolicited_message_ends_the_episode() {
    let unasked = Err("protocol: the policy server sent an invalid answer: an unsolicited message".to_owned());
    let server = start("socket_server.py", "early");
    let mut dialogue = Dialogue::open(&at(&url(&server)), LIMITS).unwrap();
    let _ = server.wait_for("early");
    assert_eq!(dialogue.begin("go").and_then(|()| dialogue.ask(0.0)), unasked);
    let server = start("socket_server.py", "doubled");
    let mut dialogue = Dialogue::open(&at(&url(&server)), LIMITS).unwrap();
    dialogue.begin("go").unwrap();
    dialogue.ask(0.0).unwrap();
    let _ = server.wait_for("doubled");
    assert_eq!(dialogue.ask(0.0), unasked);
}

#[test]
fn an_additional_answer_is_detected_at_the_end_of_the_episode_at_the_latest() {
    // The second answer to the first request arrives right after the second request, and is mistaken for its answer.
    let server = start("socket_server.py", "late_doubled");
    let mut dialogue = Dialogue::open(&at(&url(&server)), LIMITS).unwrap();
    dialogue.begin("go").unwrap();
    dialogue.ask(0.0).unwrap();
    dialogue.ask(0.0).unwrap();
    let answers = dialogue.close();
    assert_eq!((answers.count, answers.unasked), (2, 1), "{answers:?}");
    let server = start("socket_server.py", "list");
    let mut dialogue = Dialogue::open(&at(&url(&server)), LIMITS).unwrap();
    dialogue.begin("go").unwrap();
    dialogue.ask(0.0).unwrap();
    let honest = AnswerCounts { count: 1, shortest: 1, longest: 1, unasked: 0 };
    assert_eq!(dialogue.close(), honest);
}

#[test]
fn a_flood_while_physics_runs_ends_the_episode() {
    let server = start("socket_server.py", "idle_fragments");
    let mut dialogue = Dialogue::open(&at(&url(&server)), LIMITS).unwrap();
    dialogue.begin("go").unwrap();
    dialogue.ask(0.0).unwrap();
    let _ = server.wait_for("flooded");
    let fault = dialogue.ask(0.0).unwrap_err();
    assert_eq!(fault, "protocol: the policy server sent an invalid answer: more than 4 MiB for one request");
}

#[test]
fn a_key_in_a_servers_message_is_redacted() {
    let server = start("socket_server.py", "tells_key");
    let fault = episode(&with_key(&format!("{}/?token=t-123456", url(&server)), "k-abcdef")).unwrap_err();
    assert_eq!(fault, "server_error: the policy server failed: DeniedError: [secret] and /?token=[secret] are no good");
}

#[test]
fn pings_are_answered_while_physics_runs() {
    let server = start("socket_server.py", "keep_alive");
    let mut dialogue = Dialogue::open(&at(&url(&server)), LIMITS).unwrap();
    dialogue.begin("go").unwrap();
    dialogue.ask(0.0).unwrap();
    let _ = server.wait_for("pongs 3");
    dialogue.ask(0.0).unwrap();
    dialogue.close();
}

#[test]
fn the_key_reaches_the_server() {
    let server = start("socket_server.py", "key");
    assert_eq!(episode(&with_key(&url(&server), "right")), Ok([0.25, -0.5]));
    let refused = episode(&with_key(&url(&server), "wrong\n")).unwrap_err();
    assert_eq!(refused, "mismatch: policy_api_key has characters that are not allowed in an HTTP header");
}

#[test]
fn an_unreachable_server_is_reported_without_a_reason() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let unreached =
        Err("connect: the policy server can't be reached (from here, only public addresses and the networks in \
                         the operator's --policy-networks are)"
            .to_owned());
    assert_eq!(episode(&at(&format!("ws://{free}"))), unreached);
    assert_eq!(episode(&at("ws://10.0.0.1:8000")), unreached);
    assert_eq!(episode(&at(&format!("http://{free}"))), unreached);
}
