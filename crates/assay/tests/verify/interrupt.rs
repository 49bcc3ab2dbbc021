//! Ctrl-C: exit code 130, and nothing is left behind, at any time.

use assay_testkit::{Jailed, PATIENCE, Running, example, wait_for};
use rustix::process::Signal;

use crate::verify::{CARTPOLE, assay};

/// Number of episodes of a run whose videos are drawn: more than are drawn at once.
const EPISODES: u32 = 4;
const ENDLESS_IMPORT: &str = "while True:\n    pass\n";
const SLOW: &str = "import time\n\ndef policy(observation):\n    time.sleep(0.2)\n    return [0]\n";

#[track_caller]
fn interrupted(running: Running, signal: &dyn Fn(&Running)) {
    signal(&running);
    let run = running.wait(PATIENCE);
    assert_eq!(run.code, 130, "{}", run.stderr);
    assert!(run.stderr.contains("interrupted"), "{}", run.stderr);
    assert!(!run.stderr.contains("[1/"), "it waited for the end of an episode: {}", run.stderr);
    assert!(run.stdout.is_empty(), "{}", run.stdout);
}

#[test]
fn a_run_can_be_interrupted_while_episodes_run() {
    let assay = assay();
    let policy = assay.write("policy.py", SLOW);
    let out = assay.path("out");
    let by_pid = |signal| move |running: &Running| running.signal(signal);
    for signal in [&by_pid(Signal::INT) as &dyn Fn(&Running), &by_pid(Signal::TERM), &Running::interrupt] {
        let arguments = ["verify", policy.to_str().unwrap(), "--scenario", CARTPOLE, "--out", out.to_str().unwrap()];
        let running = assay.start(&arguments);
        wait_for("a lane", PATIENCE, || assay.jailed().iter().any(Jailed::is_lane).then_some(()));
        interrupted(running, signal);
        assert!(!out.exists(), "the output folder was made by this run");
        assay.assert_clean();
    }
}

#[test]
fn a_run_can_be_interrupted_while_a_policy_is_imported() {
    let assay = assay();
    let policy = assay.write("policy.py", ENDLESS_IMPORT);
    let running = assay.start(&["verify", policy.to_str().unwrap(), "--scenario", CARTPOLE]);
    wait_for("an interpreter", PATIENCE, || {
        assay.jailed().iter().any(|jailed| jailed.command.starts_with("/py/bin/python3")).then_some(())
    });
    interrupted(running, &Running::interrupt);
    assay.assert_clean();
}

#[test]
fn an_interruption_of_the_rendering_keeps_the_verdict() {
    let assay = assay();
    let out = assay.path("out");
    let policy = example(CARTPOLE, "reference");
    let arguments = ["verify", policy.to_str().unwrap(), "--scenario", CARTPOLE, "--record", "all", "--lanes", "2"];
    let more = ["--episodes", &EPISODES.to_string(), "--out", out.to_str().unwrap()];
    let running = assay.start(&[&arguments[..], &more[..]].concat());
    wait_for("a video that is drawn", PATIENCE, || {
        // The logs come first.
        let drawing = assay.jailed().iter().any(|jailed| jailed.command.starts_with("/assay/assay-lane render"));
        (drawing && (0..EPISODES).all(|episode| out.join(format!("episodes/{episode:03}/log.intoto.json")).exists()))
            .then_some(())
    });
    running.interrupt();
    let run = running.wait(PATIENCE);
    assert_eq!(run.code, 130, "{}", run.stderr);
    let is_drawn = |episode: u32| out.join(format!("episodes/{episode:03}/video.mp4")).exists();
    assert!(!(0..EPISODES).all(is_drawn), "it waited for the end of all videos");
    assert!(run.stdout.contains("SAFE"), "the verdict was printed: {}", run.stdout);
    let command = format!("assay render {} --record all", out.display());
    assert!(run.stderr.contains("interrupted") && run.stderr.contains(&command), "{}", run.stderr);
    assay.assert_clean();
    let checked = assay.run(&["attest", "verify", "out/report.intoto.json", "--policy", policy.to_str().unwrap()]);
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
}
