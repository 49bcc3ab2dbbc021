//! A policy's budgets are its scenario's: CPU time of all threads, also between two calls, the import, the whole
//! process, memory, size.

use std::path::PathBuf;

use assay_model::{EpisodeResult, EpisodeStatus, PolicyErrorCode};
use assay_testkit::{Assay, archive};

use crate::verify::{CARTPOLE, assay, report};

const BUDGET: &str = "[budget]\nstep_cpu_ms = 60\nhard_cpu_ms = 400\nfirst_cpu_ms = 700\nimport_cpu_ms = 900\n\
                      memory_mib = 300\narchive_mib = 1\n\n[arena]";
/// Number of control steps of an episode.
const STEPS: u64 = 500;

/// The cart and pole with [`BUDGET`].
fn tight(assay: &Assay) -> PathBuf {
    assay.copy_scenario(CARTPOLE, "tight", |name, text| match name {
        "scenario.toml" => {
            let (before, own) = text.split_once("[budget]").unwrap();
            format!("{before}{BUDGET}{}", own.split_once("[arena]").unwrap().1)
        }
        _ => text,
    })
}

/// An episode of `policy` on the cart and pole with [`BUDGET`].
#[track_caller]
fn episode(assay: &Assay, policy: &str) -> EpisodeResult {
    let (policy, scenario) = (assay.write("policy.py", policy), tight(assay));
    let words = ["verify", policy.to_str().unwrap(), "--scenario", scenario.to_str().unwrap(), "--episodes", "1"];
    let mut found = report(&assay.run(&[&words[..], &["--json"]].concat()));
    found.episode_details.remove(0)
}

#[track_caller]
fn assert_timeout(episode: &EpisodeResult, code: &str, message: &str) {
    let error = episode.error.as_ref().unwrap();
    assert_eq!((episode.status, error.code.as_str()), (EpisodeStatus::PolicyTimeout, code), "{error:?}");
    assert!(error.message.contains(message), "{error:?}");
}

#[test]
fn a_step_over_its_budget_is_counted_and_one_over_the_hard_limit_ends_the_episode() {
    let assay = assay();
    let burn = "import time\ncalls = 0\n\ndef burn(seconds):\n    until = time.process_time() + seconds\n    \
                while time.process_time() < until:\n        pass\n\n";
    let policy = |calls: &str| {
        format!("{burn}def policy(observation):\n    global calls\n    calls += 1\n{calls}    return [0]\n")
    };
    let slow = episode(&assay, &policy("    burn({1: 0.3, 3: 0.1, 5: 0.1}.get(calls, 0))\n"));
    // The first call has an allowance of its own.
    assert_eq!((slow.status, slow.deadline_misses), (EpisodeStatus::Completed, 2), "{:?}", slow.error);
    let hard = episode(&assay, &policy("    burn({4: 3}.get(calls, 0))\n"));
    assert_timeout(&hard, "timeout", "step 3 took more than 400 ms");
    let first = episode(&assay, &policy("    burn({1: 3}.get(calls, 0))\n"));
    assert_timeout(&first, "timeout", "the first call took more than 700 ms");
    assay.assert_clean();
}

#[test]
fn all_threads_count_also_between_two_calls() {
    let assay = assay();
    // The calling thread sleeps while another one works.
    let threads = "import threading, time\ncalls = 0\n\ndef work():\n    until = time.thread_time() + 0.15\n    \
                   while time.thread_time() < until:\n        pass\n\ndef policy(observation):\n    global calls\n    \
                   calls += 1\n    if calls == 3:\n        thread = threading.Thread(target=work)\n        \
                   thread.start()\n        thread.join()\n    return [0]\n";
    assert_eq!(episode(&assay, threads).deadline_misses, 1);
    // One C call holds the interpreter's lock: the work is done after the answer, before the next observation is read.
    let between = "import threading, time\ncalls = 0\n\ndef work():\n    time.sleep(0)\n    sum(range(15_000_000))\n\n\
                   def policy(observation):\n    global calls\n    calls += 1\n    if calls == 3:\n        \
                   threading.Thread(target=work).start()\n    return [0]\n";
    let found = episode(&assay, between);
    assert!(found.deadline_misses >= 1 || found.status == EpisodeStatus::PolicyTimeout, "{found:?}");
    assay.assert_clean();
}

#[test]
fn the_import_and_the_whole_process_have_the_scenarios_limits() {
    let assay = assay();
    let endless = episode(&assay, "import time\nwhile time.process_time() < 60:\n    pass\n");
    assert_timeout(&endless, "import_timeout", "0.9 s of CPU time");
    let limits = episode(
        &assay,
        "import resource\n\ndef policy(observation):\n    \
         raise ValueError([resource.getrlimit(n)[1] for n in (resource.RLIMIT_CPU, resource.RLIMIT_AS)])\n",
    );
    // In s: import, start and first action, the hard limit of each other step, and 5.
    let cpu_s = (900 + 2 * 700 + (STEPS - 1) * 400) / 1000 + 5;
    let expected = format!("ValueError: [{cpu_s}, {}]", 300 << 20);
    assert_eq!(limits.error.unwrap().message, expected);
    let greedy = episode(&assay, "kept = bytearray(400 << 20)\n\ndef policy(observation):\n    return [0]\n");
    assert_eq!(greedy.error.unwrap().code, PolicyErrorCode::Memory);
    assay.assert_clean();
}

#[test]
fn work_between_the_import_and_the_episode_counts_as_the_import() {
    let assay = assay();
    // The thread started by the import continues to work while the previous episode runs.
    let source = "import hashlib, threading, time\n\ndef work():\n    while True:\n        hashlib.pbkdf2_hmac('sha256', \
                  b'x' * 64, b'y', 1000)\n\nthreading.Thread(target=work, daemon=True).start()\n\ndef \
                  policy(observation):\n    time.sleep(0.01)\n    return [0]\n";
    let (policy, scenario) = (assay.write("policy.py", source), tight(&assay));
    let words = ["verify", policy.to_str().unwrap(), "--scenario", scenario.to_str().unwrap(), "--episodes", "2"];
    let found = report(&assay.run(&[&words[..], &["--lanes", "1", "--json"]].concat()));
    let [first, second] = &found.episode_details[..] else { panic!("{found:?}") };
    assert!(first.steps > 100, "{:?}", first.error);
    assert_timeout(second, "import_timeout", "between the end of its import and the episode");
    assert_eq!(second.steps, 0);
    assay.assert_clean();
}

#[test]
fn a_zip_over_the_scenarios_limit_is_refused() {
    let assay = assay();
    let scenario = tight(&assay);
    let source: &[u8] = b"def policy(observation):\n    return [0]\n";
    let mut state = 1_u64;
    // Incompressible data.
    let weights: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.to_be_bytes()[0]
    })
    .take(1 << 20)
    .collect();
    let zip = |weights: &[u8]| archive(&[("policy.py", source), ("weights.bin", weights)]);
    let (large, small) = (assay.write("large.zip", zip(&weights)), assay.write("small.zip", zip(&weights[..1 << 19])));
    for command in ["verify", "check"] {
        let run = |policy: &PathBuf| {
            assay.run(&[command, policy.to_str().unwrap(), "--scenario", scenario.to_str().unwrap()])
        };
        let refused = run(&large);
        assert_eq!(refused.code, 2, "{command}: {}", refused.stderr);
        for part in ["at most 1 MiB", "budget.archive_mib = 1 of cartpole_keepin"] {
            assert!(refused.stderr.contains(part), "{command}: {}", refused.stderr);
        }
        assert_ne!(run(&small).code, 2, "{command}");
    }
    assay.assert_clean();
}
