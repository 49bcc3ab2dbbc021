//! `assay check`: a few real steps, and the faults of a policy.

use std::path::Path;

use assay_model::{FindingLevel, Preflight};
use assay_testkit::{Assay, PythonServer, Run, example};

use crate::verify::{CARTPOLE, assay};

#[track_caller]
fn check(assay: &Assay, policy: &str, more: &[&str]) -> (Run, Preflight) {
    let run = assay.run(&[&["check", policy, "--scenario", CARTPOLE, "--json"], more].concat());
    let found = serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}{}", run.stdout, run.stderr));
    (run, found)
}

fn codes(found: &Preflight) -> Vec<(FindingLevel, &str)> {
    found.findings.iter().map(|finding| (finding.level, finding.code.as_str())).collect()
}

#[test]
fn a_correct_policy_has_no_findings_and_all_tables() {
    let assay = assay();
    let policy = example(CARTPOLE, "reference");
    let (run, found) = check(&assay, policy.to_str().unwrap(), &[]);
    assert_eq!((run.code, found.holds, codes(&found)), (0, true, vec![]));
    assert_eq!((found.steps, found.deterministic, found.control_hz), (25, Some(true), 50.0));
    let names: Vec<_> = found.observation.iter().map(|term| (term.name.as_str(), term.shape.clone())).collect();
    let expected =
        [("time", vec![]), ("time_remaining", vec![]), ("joint_position", vec![2]), ("joint_velocity", vec![2])];
    assert_eq!(names[..4], expected);
    let force = &found.action[0];
    assert_eq!((force.name.as_str(), force.unit.as_str(), force.low, force.high), ("force", "N", -12.0, 12.0));
    assert!(force.least.unwrap() < force.greatest.unwrap() && force.clipped == 0, "{force:?}");
    assert!(found.cpu_ms.unwrap().max < found.budget.step_cpu_ms && found.import_cpu_ms.unwrap() > 0.0);
    let text = assay.run(&["check", policy.to_str().unwrap(), "--scenario", CARTPOLE]).stdout;
    for part in ["joint_position", "[0] force", "-12 to 12 N", "the same actions", "0 problems", "Next: ", " verify "] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
    assay.assert_clean();
}

/// A policy, the exit code, the expected findings, and a part of the message.
type Case<'a> = (&'a str, i32, &'a [(FindingLevel, &'a str)], &'a str);

#[test]
fn each_fault_is_reported_with_advice() {
    use FindingLevel::{Problem, Warning};
    let assay = assay();
    let cases: &[Case] = &[
        ("def policy(o):\n    return [50 * o['time'] - 1]\n", 0, &[(Warning, "clipped")], "outside -12 to 12 N"),
        ("def policy(o):\n    return [0.0]\n", 0, &[(Warning, "constant")], "all 25 actions were the same"),
        (
            "import time\ndef policy(o):\n    return [time.time() % 1.0]\n",
            0,
            &[(Warning, "nondeterministic")],
            "in the second run, from step 0 on",
        ),
        (
            "import time\ndef policy(o):\n    end = time.process_time() + 0.1\n    while time.process_time() < end:\n        \
             pass\n    return [o['time']]\n",
            0,
            &[(Warning, "slow_step")],
            "counts as a miss",
        ),
        ("def policy(o):\n    return o['speed']\n", 1, &[(Problem, "policy_error")], "KeyError: 'speed'"),
        (
            "def policy(o):\n    return [1, 2]\n",
            1,
            &[(Problem, "policy_error")],
            "before its first action (bad_action)",
        ),
        ("import torch\n", 1, &[(Problem, "policy_error")], "import_error"),
        ("x = 1\n", 1, &[(Problem, "policy_error")], "no_policy"),
    ];
    for (number, (source, code, expected, message)) in cases.iter().enumerate() {
        let path = assay.write(&format!("{number}.py"), source);
        let (run, found) = check(&assay, path.to_str().unwrap(), &[]);
        assert_eq!((run.code, codes(&found)), (*code, expected.to_vec()), "{source}");
        let finding = &found.findings[0];
        assert!(finding.message.contains(message) && !finding.advice.is_empty(), "{source}: {finding:?}");
    }
    assay.assert_clean();
}

#[test]
fn a_slow_import_is_reported_and_stopped() {
    let assay = assay();
    let busy = "import time\nend = time.process_time() + SECONDS\nwhile time.process_time() < end:\n    pass\n";
    // Waiting for the end of the import would reveal the error.
    let slow = [busy.replace("SECONDS", "6"), "import time\ntime.sleep(6)\n".to_owned()];
    for source in slow.map(|import| import + "raise RuntimeError('imported')\n") {
        let path = assay.write("policy.py", &source);
        let (run, found) = check(&assay, path.to_str().unwrap(), &[]);
        assert_eq!((run.code, codes(&found)), (0, vec![(FindingLevel::Warning, "slow_import")]), "{source}");
        let message = &found.findings[0].message;
        assert!(message.contains("stopped after 1.5 s") && message.contains("an episode allows 10.0 s"), "{message}");
        assert_eq!((found.steps, found.deterministic, found.import_cpu_ms), (0, None, None));
        assert!(!found.observation.is_empty() && found.action.len() == 1, "facts that do not depend on the policy");
    }
    // A policy with a slow import is tried only once.
    let source = busy.replace("SECONDS", "0.4") + "def policy(o):\n    return [o['time']]\n";
    let (run, found) = check(&assay, assay.write("policy.py", source).to_str().unwrap(), &[]);
    assert_eq!((run.code, codes(&found), found.steps, found.deterministic), (0, vec![], 25, None));
    assay.assert_clean();
}

#[test]
fn an_import_that_starves_itself_is_stopped() {
    let assay = assay();
    // Threads without the interpreter's lock wait for each other, for many seconds in all; then all of them sleep.
    let source = "import hashlib, threading, time\nblock = bytes(1 << 20)\nend = time.monotonic() + 1\n\
                  def spin():\n    while time.monotonic() < end:\n        hashlib.sha256(block).digest()\n\
                  threads = [threading.Thread(target=spin) for _ in range(14)]\n\
                  [thread.start() for thread in threads]\n[thread.join() for thread in threads]\ntime.sleep(60)\n";
    let path = assay.write("policy.py", source);
    let (run, found) = check(&assay, path.to_str().unwrap(), &[]);
    assert_eq!((run.code, codes(&found)), (0, vec![(FindingLevel::Warning, "slow_import")]), "{found:?}");
    // Under 3 s on an idle machine; counting the waiting time of all threads would take 15 s.
    assert!(found.wall_time_s < 9.0, "{} s", found.wall_time_s);
    assay.assert_clean();
}

#[test]
fn a_slow_answer_is_reported_and_not_awaited() {
    let assay = assay();
    // Waiting for the answer would reveal the error.
    let slow = [
        "import time\ndef policy(o):\n    time.sleep(8)\n    raise RuntimeError('answered')\n",
        "import time\nclass Policy:\n    def reset(self, **_):\n        time.sleep(8)\n        raise RuntimeError('reset')\n    \
         def act(self, o):\n        return [0.0]\n",
    ];
    for source in slow {
        let (run, found) = check(&assay, assay.write("policy.py", source).to_str().unwrap(), &[]);
        assert_eq!((run.code, codes(&found)), (0, vec![(FindingLevel::Warning, "slow_answer")]), "{source}");
        assert!(found.findings[0].message.contains("within 1.3 s"), "{}", found.findings[0].message);
        assert!(!found.observation.is_empty() && found.steps == 0, "facts that do not depend on the policy");
    }
    // A server that accepts connections and sends nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ws://{}", silent.local_addr().unwrap());
    let (run, found) = check(&assay, &url, &[]);
    assert_eq!((run.code, codes(&found)), (0, vec![(FindingLevel::Warning, "slow_answer")]), "{:?}", found.error);
    assay.assert_clean();
}

#[test]
fn a_policy_server_is_tried_like_in_an_episode() {
    let assay = assay();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify/policy_server.py");
    let policy = example(CARTPOLE, "reference").join("policy.py");
    let server = PythonServer::start(&script, &[policy.to_str().unwrap(), "--horizon", "4", "--key", "k-canary"]);
    let url = format!("ws://127.0.0.1:{}", server.port());
    let key = ["--policy-api-key", "k-canary"];
    let (run, found) = check(&assay, &url, &[&key[..], &["--replan-steps", "2"]].concat());
    assert_eq!((run.code, codes(&found)), (0, vec![(FindingLevel::Note, "chunk")]), "{:?}", found.error);
    assert_eq!((found.speaks.as_deref(), found.deterministic), (Some("openpi over WebSocket"), Some(true)));
    let answers = found.answers.unwrap();
    assert_eq!((answers.count, answers.shortest, answers.longest, answers.replan_steps), (13, 4, 4, Some(2)));
    let (_, hasty) = check(&assay, &url, &[&key[..], &["--replan-steps", "5"]].concat());
    assert_eq!(codes(&hasty), [(FindingLevel::Warning, "replan")]);
    let (run, refused) = check(&assay, &url, &[]);
    assert_eq!((run.code, codes(&refused)), (1, vec![(FindingLevel::Problem, "policy_error")]));
    assert!(refused.findings[0].message.contains("refused the key"), "{:?}", refused.findings);
}

#[test]
fn wrong_use_has_its_own_exit_code() {
    let assay = assay();
    let policy = example(CARTPOLE, "reference");
    let policy = policy.to_str().unwrap();
    for arguments in [
        ["check", policy, "--scenario", "nothing"],
        ["check", "no_such_policy", "--scenario", CARTPOLE],
        ["check", "ftp://policy.test", "--scenario", CARTPOLE],
    ] {
        assert_eq!(assay.run(&arguments).code, 2, "{arguments:?}");
    }
}
