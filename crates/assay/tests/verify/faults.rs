//! Faults of a policy are results: INCONCLUSIVE with a message that its author can act on, and nothing is left behind.

use assay_model::{Blame, EpisodeStatus, JobStatus, PolicyErrorCode, Verdict};

use crate::verify::{assay, report, verify};

/// A policy, and the message for its author.
struct Fault {
    source: &'static str,
    code: &'static str,
    message: &'static [&'static str],
    /// Text in the traceback or log.
    log: &'static [&'static str],
}

const FAULTS: [Fault; 12] = [
    Fault {
        source: "def policy(observation:\n    return [0]\n",
        code: "syntax_error",
        message: &["policy.py", "line 1"],
        log: &[],
    },
    Fault {
        source: "import numpy\nimport torch_of_nowhere\n\ndef policy(observation):\n    return [0]\n",
        code: "import_error",
        message: &["torch_of_nowhere"],
        log: &["policy.py", "line 2"],
    },
    Fault { source: "GAIN = 3\n", code: "no_policy", message: &["policy(observation)", "class Policy"], log: &[] },
    Fault {
        source: "def inner(x):\n    return 1 / x\n\ndef policy(observation):\n    return [inner(0)]\n",
        code: "exception",
        message: &["ZeroDivisionError"],
        log: &["policy.py\", line 5", "policy.py\", line 2", "in inner"],
    },
    Fault {
        source: "class Policy:\n    def reset(self, *, seed, scenario, instruction):\n        raise ValueError('no ' + scenario)\n\n    def act(self, observation):\n        return [0]\n",
        code: "exception",
        message: &["no cartpole_keepin"],
        log: &["line 3"],
    },
    Fault {
        source: "import numpy as np\n\ndef policy(observation):\n    return np.zeros((2, 3))\n",
        code: "bad_action",
        message: &["(2, 3)", "(1,)"],
        log: &[],
    },
    Fault {
        source: "def policy(observation):\n    return [float('nan')]\n",
        code: "bad_action",
        message: &["nan"],
        log: &[],
    },
    Fault {
        source: "def policy(observation):\n    return {'force': 1}\n",
        code: "bad_action",
        message: &["dict"],
        log: &[],
    },
    Fault { source: "def policy(observation):\n    exit(0)\n", code: "exception", message: &["SystemExit"], log: &[] },
    Fault {
        source: "import os\n\ndef policy(observation):\n    os._exit(7)\n",
        code: "exited",
        message: &["status 7"],
        log: &[],
    },
    Fault {
        source: "import ctypes\n\ndef policy(observation):\n    print('boo', flush=True)\n    ctypes.string_at(0)\n",
        code: "exited",
        message: &["segmentation fault"],
        log: &["boo"],
    },
    // 1 GB of output.
    Fault {
        source: "line = 'x' * 1023 + '\\n'\n\ndef policy(observation):\n    for _ in range(1 << 20):\n        print(line, end='')\n    return [0]\n",
        code: "log_flood",
        message: &["printed more than 8 MiB"],
        log: &["xxxx"],
    },
];

#[test]
fn every_fault_is_reported_to_the_author() {
    let assay = assay();
    for Fault { source, code, message, log } in FAULTS {
        let run = verify(&assay, &assay.write("policy.py", source), &["--episodes", "1", "--json"]);
        let report = report(&run);
        let about = format!("{source}\n{:?}\n{}", report.episode_details[0].error, run.stderr);
        assert_eq!((run.code, report.verdict), (3, Some(Verdict::Inconclusive)), "{about}");
        assert_eq!((report.status, report.blame), (JobStatus::Completed, Some(Blame::Policy)), "{about}");
        let episode = &report.episode_details[0];
        let error = episode.error.as_ref().unwrap();
        assert_eq!((error.code.as_str(), episode.status), (code, EpisodeStatus::PolicyError), "{about}");
        assert!(message.iter().all(|part| error.message.contains(part)), "{about}");
        assert!(log.iter().all(|part| error.log_tail.contains(part)), "{about}");
        // Only the author's own frames.
        assert!(!error.log_tail.contains("runner"), "{about}");
        assert!(report.error_message.unwrap().contains(message[0]), "{about}");
        assay.assert_clean();
    }
}

#[test]
fn an_endless_loop_is_a_timeout() {
    let assay = assay();
    let source = "calls = 0\n\ndef policy(observation):\n    global calls\n    calls += 1\n    while calls > 3:\n        pass\n    return [0]\n";
    let run = verify(&assay, &assay.write("policy.py", source), &["--episodes", "1", "--json"]);
    let report = report(&run);
    let episode = &report.episode_details[0];
    let error = episode.error.as_ref().unwrap();
    assert_eq!((run.code, episode.status), (3, EpisodeStatus::PolicyTimeout), "{error:?}");
    assert!(error.code == PolicyErrorCode::Timeout && error.message.contains("CPU"), "{error:?}");
    assert_eq!((episode.steps, episode.safety_score), (3, 0.0));
    assert!(report.reason.unwrap().contains("too long"));
    assay.assert_clean();
}

#[test]
fn one_bad_episode_does_not_hide_the_others() {
    let assay = assay();
    let source = "import numpy as np\n\nclass Policy:\n    def reset(self, *, seed, scenario, instruction):\n        self.bad = seed % 2 == 0\n\n    def act(self, observation):\n        if self.bad:\n            raise RuntimeError('an even seed')\n        return np.zeros(1)\n";
    let run = verify(&assay, &assay.write("policy.py", source), &["--episodes", "6", "--json"]);
    let report = report(&run);
    assert_eq!((run.code, report.episode_details.len()), (3, 6));
    for episode in &report.episode_details {
        let expected = if episode.seed % 2 == 0 { EpisodeStatus::PolicyError } else { EpisodeStatus::Completed };
        assert_eq!(episode.status, expected);
    }
    let bad = report.episode_details.iter().filter(|episode| episode.error.is_some()).count();
    assert!((1..6).contains(&bad), "the seeds are all alike");
    let statistics = report.statistics.unwrap();
    assert_eq!((statistics.violations, statistics.without_evidence), (0, u32::try_from(bad).unwrap()));
}

#[test]
fn the_terminal_report_contains_the_fault_too() {
    let assay = assay();
    let run = verify(&assay, &assay.write("policy.py", "raise KeyError('lost')\n"), &["--episodes", "1"]);
    assert_eq!(run.code, 3);
    for part in ["INCONCLUSIVE", "import_error", "KeyError", "lost"] {
        assert!(run.stdout.contains(part), "{part} is missing in\n{}", run.stdout);
    }
    assert!(run.stderr.contains("import_error"), "{}", run.stderr);
}
