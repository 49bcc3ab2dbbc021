//! A second judge at the command line: a fake vision model, real frames.

use std::fs;

use assay_model::{JobReport, ReviewReason, Verdict};
use assay_testkit::{FakeVision, Saying, example};
use base64::Engine as _;

use crate::verify::{CARTPOLE, assay, verify};

const KEY: &str = "sk-canary-51c2";

fn report(run: &assay_testkit::Run) -> JobReport {
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}", run.stderr))
}

/// Returns true if a picture has the requested size and something in each corner.
fn is_drawn_to_the_edges(file: &[u8]) -> bool {
    let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height), (512, 384));
    let corners = [(0, 0), (511, 0), (0, 383), (511, 383)];
    corners.iter().all(|(x, y)| pixels[3 * (y * 512 + x)..][..3].iter().any(|channel| *channel > 20))
}

#[test]
fn a_judge_sees_frames_and_can_only_recommend_a_review() {
    let assay = assay();
    let policy = example(CARTPOLE, "reference");
    let fake = FakeVision::saying(false, None);
    let base = fake.base();
    let judge = ["--judge-url", &base, "--judge-model", "fake", "--judge-key", KEY, "--judge-frames", "4"];
    let rest = ["--json", "--episodes", "2", "--judge-episodes", "1", "--record", "none", "--out", "out"];
    let run = verify(&assay, &policy, &[&judge[..], &rest].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let found = report(&run);
    assert_eq!((found.verdict, found.vlm_agreement), (Some(Verdict::Safe), Some(false)));
    assert_eq!(found.review_reasons, [ReviewReason::JudgeDisagrees]);
    let judged: Vec<_> = found.episode_details.iter().filter(|episode| episode.judge.is_some()).collect();
    assert_eq!(judged.len(), 1);
    let judgement = judged[0].judge.clone().unwrap();
    assert_eq!((judgement.agrees, judgement.tokens, judgement.frames_s.len()), (Some(false), 100, 4));

    // The frames are kept, and are the ones that it was shown.
    let asked = &fake.asked()[0];
    let content = asked.body["messages"][1]["content"].as_array().unwrap();
    let shown = content.iter().filter_map(|part| part["image_url"]["url"].as_str());
    let shown: Vec<_> = shown.map(|url| url.trim_start_matches("data:image/png;base64,")).collect();
    let stills: Vec<_> = judged[0].evidence.iter().filter(|file| file.name.contains("still-")).collect();
    assert_eq!((shown.len(), stills.len()), (4, 4));
    for (picture, file) in shown.iter().zip(&stills) {
        let kept = fs::read(assay.path("out").join(&file.name)).unwrap();
        assert!(is_drawn_to_the_edges(&kept), "{}", file.name);
        assert!(base64::engine::general_purpose::STANDARD.decode(picture).unwrap() == kept, "{}", file.name);
    }
    assert!(shown[0] != shown[3], "the cart moved");
    // The measured results are not sent, and the key does not appear anywhere.
    assert!(!asked.body.to_string().contains("SAFE"));
    assert!(!format!("{}{}", run.stdout, run.stderr).contains(KEY));

    // The signature covers the frames too.
    let checked = assay.run(&["attest", "verify", "out/report.intoto.json", "--policy", policy.to_str().unwrap()]);
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
    let html = fs::read_to_string(assay.path("out/report.html")).unwrap();
    assert!(html.contains("fake disagrees with the physics: it saw something unsafe. It is a fake."), "{html}");
    assay.assert_clean();
}

#[test]
fn a_judge_that_does_not_answer_does_not_delay_the_verdict() {
    let assay = assay();
    let policy = example(CARTPOLE, "reference");
    let fake = FakeVision::start(|_, _| Saying::Raw(401, String::new(), format!("{{\"error\": \"{KEY}\"}}")));
    let base = fake.base();
    let run = verify(&assay, &policy, &["--json", "--episodes", "1", "--judge-url", &base, "--judge-model", "fake"]);
    let found = report(&run);
    assert_eq!((run.code, found.vlm_agreement, found.needs_review), (0, None, false));
    let judgement = found.episode_details[0].judge.clone().unwrap();
    assert!(judgement.error.unwrap().starts_with("the endpoint answered 401"));
    assert!(!run.stdout.contains(KEY));
    assay.assert_clean();
}

#[test]
fn wrong_options_are_refused_before_anything_runs() {
    let assay = assay();
    let policy = example(CARTPOLE, "reference");
    for (arguments, part) in [
        (&["--judge-url", "http://127.0.0.1:9/v1"][..], "--judge-model"),
        (&["--judge-url", "ftp://127.0.0.1/", "--judge-model", "m"], "--judge-url"),
        (&["--judge-url", "http://judge.example/v1", "--judge-model", "m", "--judge-key", "k"], "must use https"),
        (&["--judge-url", "http://127.0.0.1:9/v1", "--judge-model", "m", "--judge-frames", "99"], "--judge-frames"),
    ] {
        let run = verify(&assay, &policy, arguments);
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
}
