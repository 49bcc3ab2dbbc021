//! Endpoints with different behaviours, each with its expected outcome.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use std::time::Duration;

use assay_judge::{Judge, JudgeAnswer, JudgeFrame, JudgeOptions, Question, Rule};
use assay_model::Secret;
use assay_testkit::{FakeVision, PATIENCE, Saying, wait_for};

const GOOD: &str = r#"{"safe": true, "success": null, "confidence": 0.5, "explanation": "fine"}"#;
/// The patience with an endpoint that never answers: enough to send it a question.
const SHORT: Duration = Duration::from_millis(700);
const KEY: &str = "sk-canary-7f3a";

fn question() -> Question {
    Question {
        task: "Reach the ball.".into(),
        rules: vec![Rule { id: "force".into(), text: "contact force below 50 N".into() }],
        frames: vec![JudgeFrame { time_s: 0.5, png: vec![1, 2, 3] }, JudgeFrame { time_s: 1.0, png: vec![4] }],
    }
}

fn judge(fake: &FakeVision, patience: Duration) -> Judge {
    let mut options = JudgeOptions::new(&fake.base(), "fake-vision").unwrap();
    options.key = Some(Secret::new(KEY));
    options.patience = patience;
    Judge::new(options).unwrap().pausing(Duration::from_millis(10))
}

fn ask(fake: &FakeVision) -> JudgeAnswer {
    judge(fake, PATIENCE).ask(&question(), 10_000, &|| true)
}

fn reason(fake: &FakeVision, patience: Duration) -> String {
    let answered = judge(fake, patience).ask(&question(), 10_000, &|| true);
    assert!(!format!("{answered:?}").contains(KEY));
    answered.opinion.unwrap_err()
}

#[test]
fn a_question_contains_frames_task_and_rules_but_no_result() {
    let fake = FakeVision::start(|_, _| Saying::Content(GOOD.into()));
    let answered = ask(&fake);
    assert!(answered.opinion.unwrap().safe);
    assert_eq!(answered.tokens, 100);
    let asked = &fake.asked()[0];
    assert!(asked.head.starts_with("POST /v1/chat/completions "), "{}", asked.head);
    assert!(asked.head.contains(&format!("Bearer {KEY}")));
    assert_eq!((&asked.body["model"], &asked.body["temperature"]), (&"fake-vision".into(), &0.into()));
    let content = asked.body["messages"][1]["content"].as_array().unwrap();
    assert_eq!(content[0]["text"], "Task: Reach the ball.\nSafety rules:\n- force: contact force below 50 N");
    assert_eq!(content[1]["text"], "t = 0.50 s");
    assert_eq!(content[2]["image_url"]["url"], "data:image/png;base64,AQID");
    assert_eq!(content.len(), 5);
}

#[test]
fn temporary_errors_are_retried() {
    let fake = FakeVision::start(|number, _| match number {
        0 => Saying::Raw(503, String::new(), "{}".into()),
        1 => Saying::Content("I would rather write a poem.".into()),
        _ => Saying::Content(GOOD.into()),
    });
    let answered = ask(&fake);
    assert!(answered.opinion.is_ok());
    assert_eq!((answered.tokens, fake.asked().len()), (200, 3), "the rejected answer counts too");
}

#[test]
fn errors_of_endpoints_are_reported() {
    let echo = |text: &str| Saying::Raw(401, String::new(), format!("{{\"error\": \"bad key {KEY} {text}\"}}"));
    let cases: Vec<(&str, Saying, &str, usize)> = vec![
        ("silent", Saying::Silence(PATIENCE), "could not send the question to the endpoint: timeout: ", 3),
        ("broken", Saying::Raw(500, String::new(), "oops".into()), "the endpoint answered 500", 3),
        ("busy", Saying::Raw(429, "Retry-After: 0\r\n".into(), "{}".into()), "the endpoint answered 429", 3),
        ("no access", echo("x"), "the endpoint answered 401", 1),
        ("elsewhere", Saying::Raw(302, "Location: http://127.0.0.1:9/\r\n".into(), String::new()), "the endpoint", 1),
        ("no JSON", Saying::Raw(200, String::new(), "<html>".into()), "the endpoint's answer is not a chat", 3),
        ("too long", Saying::Raw(200, String::new(), "x".repeat(300_000)), "could not read the endpoint's answer", 3),
        ("talkative", Saying::Content("It is SAFE!".into()), "the model's answer does not have the requested form", 3),
        ("sly", Saying::Content(GOOD.replace("0.5", "1e9")), "the model's confidence is not between", 3),
    ];
    for (name, saying, expected, tries) in cases {
        let fake = FakeVision::start(move |_, _| saying.clone());
        let patience = if name == "silent" { SHORT } else { PATIENCE };
        let reason = reason(&fake, patience);
        assert!(reason.starts_with(expected), "{name}: {reason}");
        // An endpoint may read a question after the judge has given up.
        wait_for("all questions", PATIENCE, || (fake.asked().len() >= tries).then_some(()));
        assert_eq!(fake.asked().len(), tries, "{name}");
    }
}

#[test]
fn the_cost_is_bounded() {
    let fake = FakeVision::start(|_, _| Saying::Content("no".into()));
    let answered = judge(&fake, PATIENCE).ask(&question(), 100, &|| true);
    assert_eq!(answered.opinion.unwrap_err(), "the job's 100 tokens are used up");
    assert_eq!((answered.tokens, fake.asked().len()), (100, 1));
}

#[test]
fn an_endpoint_may_report_any_number_of_tokens() {
    let counts = ["12", "18446744073709551615"];
    let fake = FakeVision::start(move |number, _| {
        let tokens = counts[number.min(1)];
        Saying::Raw(200, String::new(), format!(r#"{{"choices": [], "usage": {{"total_tokens": {tokens}}}}}"#))
    });
    let answered = ask(&fake);
    assert_eq!(answered.opinion.unwrap_err(), "the job's 10000 tokens are used up");
    assert_eq!((answered.tokens, fake.asked().len()), (u64::MAX, 2));
}

#[test]
fn no_question_is_asked_if_the_answer_is_not_wanted() {
    let fake = FakeVision::saying(true, None);
    assert!(judge(&fake, PATIENCE).ask(&question(), 100, &|| false).opinion.is_err());
    assert!(fake.asked().is_empty());
}
