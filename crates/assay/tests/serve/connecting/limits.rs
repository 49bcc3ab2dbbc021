//! The budgets of a policy that runs in the jail of its own machine, and images on their way to it.

use assay_model::{EpisodeError, EpisodeStatus, JobReport};
use assay_testkit::{Account, Assay};

use super::command::{connect, report};
use crate::serve::{assay, shared_server};

const SIGHT: &str = "tidy_by_sight";
/// Ends the episode after a second of simulated time, by an error whose message depends on every byte of the images.
const SEES: &str = "import hashlib

digest, calls = hashlib.sha256(), 0

def policy(observation):
    global calls
    calls += 1
    for name in ('images/overhead', 'images/wrist'):
        assert observation[name].shape == (224, 224, 3) and observation[name].std() > 1
        digest.update(observation[name].tobytes())
    if calls > 50:
        raise ValueError(digest.hexdigest())
    return [0.0] * 7
";

/// Uses three seconds of processor time for its action in a step, or for its start.
fn slow(place: &str) -> String {
    let burn = "until = time.process_time() + 3.0\n        while time.process_time() < until: pass";
    format!(
        "import time\n\nclass Policy:\n    def reset(self, *, seed, scenario, instruction):\n        self.calls = 0\n\n    \
         def act(self, observation):\n        self.calls += 1\n        if self.calls != {place}: return [0.0]\n        \
         {burn}\n        return [0.0]\n"
    )
}

fn connected(assay: &Assay, policy: &str, scenario: &str) -> JobReport {
    let (server, Account { key, .. }) = shared_server("default");
    let key = assay.write("key", key);
    let policy = assay.write("policy.py", policy);
    let mut arguments = connect((server.address(), &key), policy.to_str().unwrap(), &["--episodes", "1", "--json"]);
    let at = arguments.iter().position(|argument| argument == "--scenario").unwrap();
    scenario.clone_into(&mut arguments[at + 1]);
    report(&assay.run(&arguments))
}

fn error(report: &JobReport) -> (EpisodeStatus, &EpisodeError) {
    let episode = &report.episode_details[0];
    (episode.status, episode.error.as_ref().unwrap())
}

#[test]
fn a_call_over_the_hard_limit_ends_the_episode() {
    let assay = assay();
    let found = connected(&assay, &slow("4"), crate::serve::CARTPOLE);
    let (status, fault) = error(&found);
    assert_eq!((status, fault.code.as_str()), (EpisodeStatus::PolicyTimeout, "timeout"), "{fault:?}");
    assert!(fault.message.contains("step 3 took more than 500 ms of CPU time"), "{fault:?}");
    // The first call has an allowance of its own.
    let first = connected(&assay, &slow("1"), crate::serve::CARTPOLE);
    assert_eq!(first.episode_details[0].error, None);
    assay.assert_clean();
}

#[test]
fn images_arrive_as_they_do_in_a_jail_of_the_service() {
    let assay = assay();
    let there = connected(&assay, SEES, SIGHT);
    let policy = assay.path("policy.py");
    let words = ["verify", policy.to_str().unwrap(), "--scenario", SIGHT, "--episodes", "1", "--seed", "0"];
    let here = report(&assay.run(&[&words[..], &["--record", "none", "--json"]].concat()));
    let ((status, there), (_, here)) = (error(&there), error(&here));
    assert_eq!((status, there.code.as_str()), (EpisodeStatus::PolicyError, "exception"), "{there:?}");
    assert!(there.message.contains("ValueError"), "{there:?}");
    assert_eq!(there.message, here.message);
}
