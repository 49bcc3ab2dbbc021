//! The jobs that run while hosts fail.

use std::time::Duration;

use assay_model::{JobReport, Sha256Digest, Verdict};
use assay_testkit::{Client, archive, example};

use crate::hosts::{SCENARIO, assay};

/// Sleeps before each action, so that hosts fail while episodes run; its actions are those of the policy.
const SLOW_REFERENCE: &str = "
import time

class Policy(Honest):
    def act(self, observation):
        time.sleep(PAUSE)
        return super().act(observation)
";
const SLOW_RECKLESS: &str = "
import time

def policy(observation):
    time.sleep(PAUSE)
    return honest(observation)
";

/// Violates in about half of its attempts, then goes on slowly, so that there is time to fail after the violation.
const WAVERING: &str = "
import time

class Policy(Honest):
    bad = None
    def act(self, observation):
        if self.bad is None:
            self.bad = time.time_ns() // 1000 % 2 == 0
        if not self.bad:
            time.sleep(PAUSE)
            return super().act(observation)
        if observation['time'] > 2:
            raise RuntimeError('seen enough')
        if observation['time'] > 1:
            time.sleep(0.03)
        return [12.0]
";

/// A job.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) id: String,
    pub(crate) episodes: u64,
    /// Undisturbed, on one machine; none if the policy does not do the same every time.
    pub(crate) expected: Option<Expected>,
}

/// Verdict, scores and trace hashes of the same job on one machine.
#[derive(Debug, PartialEq)]
pub(crate) struct Expected {
    verdict: Option<Verdict>,
    score: serde_json::Value,
    hashes: Vec<Option<Sha256Digest>>,
}

impl From<&JobReport> for Expected {
    fn from(report: &JobReport) -> Self {
        let hashes = report.episode_details.iter().map(|episode| episode.trace_hash).collect();
        Self { verdict: report.verdict, score: serde_json::to_value(report.score).unwrap(), hashes }
    }
}

/// The jobs.
#[derive(Debug)]
pub(crate) struct Offers(pub(crate) Vec<Offer>);

impl Offers {
    /// Submits jobs of `episodes` episodes in all: of a policy that is safe, of one that is not, and of one that
    /// wavers. Each pauses before an action.
    pub(crate) fn make(client: &Client, episodes: u64, pause: Duration) -> Self {
        let policies = [("reference", SLOW_REFERENCE, 2), ("reckless", SLOW_RECKLESS, 4), ("reference", WAVERING, 4)];
        Self(policies.map(|(name, more, part)| offer(client, (name, more), (episodes / part, pause))).into())
    }

    /// Returns the number of episodes that have a result.
    pub(crate) fn episodes_done(&self, client: &Client) -> u64 {
        self.0.iter().map(|offer| u64::from(client.job(&offer.id).progress.episodes_done)).sum()
    }

    /// Returns true if all jobs have ended.
    pub(crate) fn has_ended(&self, client: &Client) -> bool {
        self.0.iter().all(|offer| client.job(&offer.id).status.is_final())
    }
}

fn offer(client: &Client, (policy, more): (&str, &str), (episodes, pause): (u64, Duration)) -> Offer {
    let source = std::fs::read_to_string(example(SCENARIO, policy).join("policy.py")).unwrap();
    let slow = source.replace("class Policy:", "class Honest:").replace("def policy(", "def honest(") + more;
    let slow = slow.replace("PAUSE", &pause.as_secs_f64().to_string());
    let number = episodes.to_string();
    let parts = [("scenario", SCENARIO), ("num_episodes", &number), ("record", "none")];
    let id = client.verify(&archive(&[("policy.py", slow.as_bytes())]), &parts);
    let expected = (more != WAVERING).then(|| {
        let assay = assay();
        let path = assay.write("policy/policy.py", source);
        let folder = path.parent().unwrap().to_str().unwrap();
        let run = assay.run(&["verify", folder, "--scenario", SCENARIO, "--episodes", &number, "--json"]);
        Expected::from(&serde_json::from_str::<JobReport>(&run.stdout).unwrap())
    });
    Offer { id, episodes, expected }
}
