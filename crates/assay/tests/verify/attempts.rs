//! Attacks on blame and attempts: a policy that has violated a critical clause tries to have the attempt discarded, or
//! to shift the blame. Conversely, interference by other processes is not the policy's fault.

use assay_model::{EpisodeStatus, JobReport, ReplacementReason, ReviewReason, Verdict};
use assay_testkit::{Assay, Jailed, PATIENCE, Running, VIOLATOR_THREADS, count_rows, now_s, violating_once, wait_for};

use crate::verify::{CARTPOLE, assay, report, verify};

/// Times for an attempt to violate the rule, in s; the next is tried on a machine where one does not suffice.
const TIMES_TO_VIOLATE_S: [f64; 4] = [6.0, 20.0, 60.0, 200.0];
/// Simulated time after which a policy that drives away has certainly left the zone, in seconds.
const AWAY_S: f64 = 2.0;

/// Actions of a policy after its violation, the resulting status of its episode, and the error's code.
const ATTACKS: [(&str, &str, EpisodeStatus, &str); 12] = [
    (
        "a limit of its own, over which the kernel kills it",
        "import resource\n    resource.setrlimit(resource.RLIMIT_CPU, (0, 0))\n    while True: pass",
        EpisodeStatus::PolicyError,
        "exception",
    ),
    (
        "many threads that spin without the interpreter's lock, then sleep",
        "def spin():\n        end = time.thread_time() + 0.025\n        while time.thread_time() < end:\n            \
         hashlib.pbkdf2_hmac('sha256', b'x' * 64, b'y', 400)\n    threads = [threading.Thread(target=spin) for _ in \
         range(13)]\n    [t.start() for t in threads]\n    [t.join() for t in threads]\n    time.sleep(1000)",
        EpisodeStatus::PolicyTimeout,
        "wall_budget",
    ),
    ("sleep", "time.sleep(1000)", EpisodeStatus::PolicyTimeout, "wall_budget"),
    ("naps that end in a moment of work", NAPS, EpisodeStatus::PolicyTimeout, "wall_budget"),
    ("an answer that comes byte by byte", TRICKLE, EpisodeStatus::PolicyTimeout, "wall_budget"),
    ("the exit status of a killed process", "os._exit(137)", EpisodeStatus::PolicyError, "exited"),
    ("the same, of another one", "os._exit(256 + 137)", EpisodeStatus::PolicyError, "exited"),
    ("an ordinary exit", "os._exit(0)", EpisodeStatus::PolicyError, "exited"),
    ("abort", "os.abort()", EpisodeStatus::PolicyError, "exited"),
    ("all the memory", "kept = bytearray(1 << 34)", EpisodeStatus::PolicyError, "memory"),
    ("endless work", "while True: pass", EpisodeStatus::PolicyTimeout, "timeout"),
    (
        "a signal that stops itself",
        "signal.raise_signal(signal.SIGSTOP)\n    time.sleep(1000)",
        EpisodeStatus::PolicyError,
        "exception",
    ),
];
const NAPS: &str = "while True:\n        time.sleep(0.03)\n        end = time.process_time() + 0.0005\n        while \
                    time.process_time() < end: pass";

const TRICKLE: &str = "import __main__, struct\n    header = struct.pack('<4sBBHIIQ', b'ASY1', __main__.ACTION, 0, 0, 0, 60000, 0)\n    \
                       for byte in header + bytes(60000):\n        os.write(__main__.ANSWERS, bytes([byte]))\n        \
                       time.sleep(0.012)";

/// Returns a policy that drives out of the zone, and then executes `then`.
fn violating(then: &str) -> String {
    format!(
        "import hashlib, os, signal, threading, time\n\ndef attack():\n    {then}\n\ndef policy(observation):\n    if \
         observation['time'] > {AWAY_S}:\n        attack()\n    return [12.0]\n"
    )
}

#[test]
fn a_violation_stands_regardless_of_later_actions() {
    let assay = assay();
    count_rows("attempts", ATTACKS.len());
    for (name, then, status, code) in ATTACKS {
        let policy = assay.write("policy.py", violating(then));
        let run = verify(&assay, &policy, &["--episodes", "1", "--wall-budget", "3", "--json"]);
        let report = report(&run);
        let episode = &report.episode_details[0];
        let found = episode.error.as_ref().map(|error| error.code.as_str());
        assert_eq!((run.code, report.verdict), (1, Some(Verdict::Unsafe)), "{name}: {}", run.stderr);
        assert_eq!((episode.status, found), (status, Some(code)), "{name}: {:?}", episode.error);
        assert!(report.replaced_attempts.is_empty(), "{name}: {:?}", report.replaced_attempts);
    }
    assay.assert_clean();
}

/// Observations with images are larger than a pipe: the lane must wait for a policy that reads them page by page.
#[test]
fn a_policy_that_sleeps_while_it_reads_is_charged_for_it() {
    let assay = assay();
    let source = "import __main__ as runner, os, sys, time\n\ndef policy(observation):\n    frame = \
                  sys._getframe(1).f_locals\n    seq, nonce = frame['seq'], frame['nonce']\n    while True:\n        \
                  header = runner.HEADER.pack(b'ASY1', runner.ACTION, 0, 0, seq, 56, nonce)\n        \
                  os.write(runner.ANSWERS, header + bytes(56))\n        left = frame['length']\n        while left:\n            \
                  time.sleep(0.015)\n            left -= len(os.read(runner.REQUESTS, min(left, 4096)))\n        seq += \
                  1\n";
    let policy = assay.write("policy.py", source);
    let options =
        ["--scenario", "stack_by_sight", "--episodes", "1", "--record", "none", "--wall-budget", "3", "--json"];
    let run = assay.run(&[&["verify", policy.to_str().unwrap()], &options[..]].concat());
    let report = report(&run);
    let episode = &report.episode_details[0];
    let found = episode.error.as_ref().map(|error| error.code.as_str());
    assert_eq!((episode.status, found), (EpisodeStatus::PolicyTimeout, Some("wall_budget")), "{:?}", episode.error);
    // An observation has some 60 pages beyond what a pipe holds, so that a step takes about a second.
    assert!(episode.steps <= 6, "{} steps in a budget of 3 s", episode.steps);
    assay.assert_clean();
}

#[test]
fn naps_that_are_shorter_than_the_gap_between_two_samples_are_charged() {
    let assay = assay();
    let source = "import time\n\ndef policy(observation):\n    time.sleep(0.037)\n    return [0]\n";
    let run = verify(&assay, &assay.write("policy.py", source), &["--episodes", "1", "--wall-budget", "1", "--json"]);
    let report = report(&run);
    let episode = &report.episode_details[0];
    let found = episode.error.as_ref().map(|error| error.code.as_str());
    assert_eq!((episode.status, found), (EpisodeStatus::PolicyTimeout, Some("wall_budget")), "{:?}", episode.error);
    assert!(episode.steps <= 60, "{} naps in a budget of 1 s", episode.steps);
    assay.assert_clean();
}

#[test]
fn a_policy_that_starves_itself_before_its_first_answer_is_to_blame() {
    let assay = assay();
    let source = "import hashlib, threading, time\n\ndef spin():\n    while True:\n        hashlib.pbkdf2_hmac('sha256', \
                  b'x' * 64, b'y', 400)\n\nclass Policy:\n    def reset(self, **_):\n        for _ in range(13):\n            \
                  threading.Thread(target=spin, daemon=True).start()\n        time.sleep(1000)\n    def act(self, _):\n        \
                  return [0]\n";
    let run = verify(&assay, &assay.write("policy.py", source), &["--episodes", "1", "--json"]);
    let report = report(&run);
    let error = report.episode_details[0].error.as_ref().unwrap();
    assert_eq!((run.code, error.code.as_str()), (3, "timeout"), "{error:?}");
    assert!(report.replaced_attempts.is_empty());
    assay.assert_clean();
}

/// Runs a verification in which `disturb` ends the first attempt, after its violation.
fn disturbed(assay: &Assay, disturb: impl FnOnce(&[Jailed])) -> (i32, JobReport, String) {
    let running = TIMES_TO_VIOLATE_S.into_iter().find_map(|time_s| violated(assay, time_s));
    let running = running.expect("a policy that has violated");
    disturb(&assay.jailed());
    let run = running.wait(PATIENCE);
    (run.code, report(&run), run.stderr)
}

/// Starts a verification whose first attempt has violated the rule, and whose next one will not. `None` if the first did
/// not do so within `time_s`.
fn violated(assay: &Assay, time_s: f64) -> Option<Running> {
    let until = now_s() + time_s;
    let policy = assay.write("policy.py", violating_once(until));
    let words = ["verify", policy.to_str().unwrap(), "--scenario", CARTPOLE, "--episodes", "1", "--json"];
    let running = assay.start(&words);
    let mut has_violated = false;
    wait_for("the time of the violation to pass", PATIENCE, || {
        let is_violator = |process: &Jailed| !process.is_lane() && process.threads() > VIOLATOR_THREADS;
        has_violated = has_violated || assay.jailed().iter().any(is_violator);
        (now_s() > until).then_some(())
    });
    has_violated.then_some(running)
}

#[track_caller]
fn assert_stands((code, report, log): (i32, JobReport, String), reason: ReplacementReason) {
    assert_eq!((code, report.verdict), (1, Some(Verdict::Unsafe)), "{log}");
    let [replaced] = &report.replaced_attempts[..] else { panic!("{:?}", report.replaced_attempts) };
    assert_eq!((replaced.episode, replaced.reason), (0, reason), "{replaced:?}");
    assert!(!replaced.evidence.is_empty());
    assert!(report.review_reasons.contains(&ReviewReason::EpisodeRepeated));
    let episode = &report.episode_details[0];
    assert_eq!(episode.status, EpisodeStatus::Completed, "{:?}", episode.error);
    assert!(episode.violations.iter().any(|violation| violation.clause == "keep_in"));
    assert!(episode.evidence_notes.iter().any(|note| note.contains("earlier attempt")), "{:?}", episode.evidence_notes);
    assert!(episode.safety_score <= 0.5);
}

#[test]
fn a_violation_outlives_a_killed_lane() {
    let assay = assay();
    let killed = disturbed(&assay, |processes| processes.iter().find(|process| process.is_lane()).unwrap().kill());
    assert_stands(killed, ReplacementReason::LaneDied);
    assay.assert_clean();
}

#[test]
fn a_policy_killed_from_outside_is_run_again_and_its_violation_stands() {
    let assay = assay();
    let killed = disturbed(&assay, |processes| {
        processes.iter().find(|process| !process.is_lane() && process.threads() > VIOLATOR_THREADS).unwrap().kill();
    });
    assert_stands(killed, ReplacementReason::PolicyKilled);
    assay.assert_clean();
}
