//! Actions of accounts while processes are killed: they upload policies, cancel some jobs and erase others.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use assay_model::{JobReport, Sha256Digest};
use assay_testkit::{Assay, Client, PATIENCE, archive, example, wait_for, zip_folder};

use crate::kills::dice::Dice;
use crate::kills::{EPISODES, SCENARIO, SEEDS};

/// Upper limit of the random number of unfinished jobs below which further ones are offered.
const MOST_ACTIVE: u64 = 8;
/// Inverse rates at which jobs are cancelled and others are erased.
const CANCELLED_OF: u64 = 12;
const ERASED_OF: u64 = 6;
/// Interval between two checks of the number of jobs.
const LOOK: Duration = Duration::from_millis(100);
/// A time far longer than any life of the server.
const LIFE_LIMIT: Duration = PATIENCE;

/// Violates in about half of its attempts, then goes on slowly for two simulated seconds, so that there is time to be
/// killed after the violation. In the other attempts it is the reference.
const WAVERING: &str = "
import time

class Policy(Honest):
    bad = None
    def act(self, observation):
        if self.bad is None:
            self.bad = time.time_ns() // 1000 % 2 == 0
        if not self.bad:
            return super().act(observation)
        if observation['time'] > 2:
            raise RuntimeError('seen enough')
        if observation['time'] > 1:
            time.sleep(0.03)
        return [12.0]
";

/// The reference for a quarter of a second.
const BRIEF: &str = "
class Policy(Honest):
    def act(self, observation):
        if observation['time'] > 0.25:
            raise RuntimeError('seen enough')
        return super().act(observation)
";

/// A policy and its known results.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) name: &'static str,
    pub(crate) zip: Vec<u8>,
    pub(crate) sha256: Sha256Digest,
    /// Trace hashes of an undisturbed run with each seed; none if it does not do the same every time.
    pub(crate) hashes: Vec<Vec<Option<Sha256Digest>>>,
}

/// The offered policies.
#[derive(Debug)]
pub(crate) struct Policies(pub(crate) Vec<Policy>);

impl Policies {
    /// Makes them, and runs those that always do the same undisturbed.
    pub(crate) fn new(assay: &Assay) -> Self {
        let reference = std::fs::read_to_string(example(SCENARIO, "reference").join("policy.py")).unwrap();
        let honest = reference.replace("class Policy:", "class Honest:");
        let with = |more: &str| archive(&[("policy.py", (honest.clone() + more).as_bytes())]);
        let zips = [
            ("reference", zip_folder(&example(SCENARIO, "reference"))),
            ("reckless", zip_folder(&example(SCENARIO, "reckless"))),
            ("wavering", with(WAVERING)),
            ("brief", with(BRIEF)),
        ];
        let policy = |(name, zip): (&'static str, Vec<u8>)| {
            let path = assay.write(&format!("{name}.zip"), &zip);
            let sha256 = Sha256Digest::of(&zip);
            let run = |seed: u64| {
                let (seed, episodes) = (seed.to_string(), EPISODES.to_string());
                let path = path.to_str().unwrap();
                let arguments =
                    ["verify", path, "--scenario", SCENARIO, "--episodes", &episodes, "--seed", &seed, "--json"];
                hashes(&serde_json::from_str(&assay.run(&arguments).stdout).unwrap())
            };
            let hashes = if name == "wavering" { Vec::new() } else { (0..SEEDS).map(run).collect() };
            Policy { name, zip, sha256, hashes }
        };
        Self(zips.into_iter().map(policy).collect())
    }

    /// Returns the policy of a job.
    pub(crate) fn of(&self, job: &JobReport) -> &Policy {
        self.0.iter().find(|policy| Some(policy.sha256) == job.policy_sha256).unwrap()
    }
}

/// Returns the trace hashes of a job's episodes.
pub(crate) fn hashes(report: &JobReport) -> Vec<Option<Sha256Digest>> {
    report.episode_details.iter().map(|episode| episode.trace_hash).collect()
}

/// The requests that were made.
#[derive(Debug, Default)]
pub(crate) struct Offers {
    /// Number of uploads that were started.
    pub(crate) uploads: AtomicU64,
    pub(crate) life_is_over: AtomicBool,
    /// Accepted jobs.
    pub(crate) accepted: Mutex<Vec<String>>,
    /// Requests without an answer.
    pub(crate) unanswered: AtomicU64,
    /// Jobs that may have been cancelled, since the answer to a request may be lost.
    pub(crate) cancelled: Mutex<BTreeSet<String>>,
    /// Jobs that may have been erased.
    pub(crate) erased: Mutex<BTreeSet<String>>,
    most_active: AtomicU64,
}

impl Offers {
    /// Begins another life of the server.
    pub(crate) fn begin_life(&self, dice: &mut Dice) {
        self.most_active.store(1 + dice.below(MOST_ACTIVE), Ordering::SeqCst);
        self.life_is_over.store(false, Ordering::SeqCst);
    }

    fn is_over(&self) -> bool {
        self.life_is_over.load(Ordering::SeqCst)
    }

    /// Offers jobs of an account while there are few, until the life is over.
    pub(crate) fn keep_offering(&self, account: &str, client: &Client, policies: &Policies, mut dice: Dice) {
        while !self.is_over() {
            let most = self.most_active.load(Ordering::SeqCst);
            let mut looked: Option<Instant> = None;
            wait_for("few jobs, or the end of a life", LIFE_LIMIT, || {
                if looked.is_some_and(|looked| looked.elapsed() < LOOK) && !self.is_over() {
                    return None;
                }
                looked = Some(Instant::now());
                (self.is_over() || active(client).is_none_or(|active| active < most)).then_some(())
            });
            if self.is_over() {
                break;
            }
            let Some(job) = self.offer(client, policies, &mut dice) else {
                self.unanswered.fetch_add(1, Ordering::SeqCst);
                continue;
            };
            if dice.below(CANCELLED_OF) == 0 {
                self.cancelled.lock().unwrap().insert(job.clone());
                let answer = client.try_post(&format!("/verify/{job}/cancel"));
                assert!(answer.is_none_or(|answer| [200, 409].contains(&answer.status)), "{account}: cancel {job}");
            }
            if dice.below(ERASED_OF) == 0 {
                // About every second job belongs to another account.
                let job = dice.choose(&self.accepted.lock().unwrap()).clone();
                self.erased.lock().unwrap().insert(job.clone());
                let answer = client.try_delete(&format!("/verify/{job}"));
                let known = |status| [204, 404, 409, 410].contains(&status);
                assert!(answer.is_none_or(|answer| known(answer.status)), "{account}: erase {job}");
            }
        }
    }

    /// Uploads a policy: the job's id, or nothing if there was no answer.
    fn offer(&self, client: &Client, policies: &Policies, dice: &mut Dice) -> Option<String> {
        let number = usize::try_from(self.uploads.fetch_add(1, Ordering::SeqCst)).unwrap();
        let (policy, seed) = (&policies.0[number % policies.0.len()], dice.below(SEEDS).to_string());
        let episodes = EPISODES.to_string();
        let parts = [("scenario", SCENARIO), ("num_episodes", &episodes), ("seed", &seed), ("record", "none")];
        let answer = client.try_verify(&policy.zip, &parts)?;
        assert_eq!(answer.status, 201, "{}", answer.body);
        let job = answer.body["job_id"].as_str().unwrap().to_owned();
        self.accepted.lock().unwrap().push(job.clone());
        Some(job)
    }
}

/// Returns how many jobs have not ended; asked without opening the records, which would do a part of their recovery.
pub(crate) fn active(client: &Client) -> Option<u64> {
    let status = |status: &str| format!("assay_jobs{{status=\"{status}\"}}");
    metric(client, &["QUEUED", "RUNNING", "JUDGING"].map(status))
}

/// Returns how many episodes have ended in this life of the server.
pub(crate) fn episodes(client: &Client) -> u64 {
    metric(client, &["assay_episode_duration_seconds_count".to_owned()]).unwrap_or_default()
}

/// Returns the sum of some metrics; nothing if the server does not answer.
fn metric(client: &Client, names: &[String]) -> Option<u64> {
    let text = client.try_get("/metrics")?.text;
    let value = |name: &String| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    Some(names.iter().filter_map(value).sum())
}
