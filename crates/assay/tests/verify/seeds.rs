//! Seeds and policy keys: drawn if none is given, sufficient to repeat a job, and useless to a policy.

use std::fs;

use assay_model::{EpisodeSeeds, JobReport, PolicyKey};
use assay_testkit::{Assay, example};
use serde_json::Value;

use crate::verify::{CARTPOLE, assay, hashes, report, verify};

/// Acts randomly, from the seed that it is given, for half a second.
const BY_CHANCE: &str = "import numpy as np

class Policy:
    def reset(self, *, seed, scenario, instruction):
        self.random = np.random.default_rng(seed)

    def act(self, observation):
        if observation['time'] > 0.5:
            raise RuntimeError('seen enough')
        return np.array([self.random.normal()])
";
/// Tries every job seed below 1000, with the derivation used before keys were introduced, and the seed itself.
const SEARCHES: &str = "import hashlib

def labelled(label, job, episode):
    digest = hashlib.sha256(label + job.to_bytes(8, 'little') + episode.to_bytes(4, 'little')).digest()
    return int.from_bytes(digest[:8], 'little') >> 11

def search(seed):
    guesses = [(job, episode) for job in range(1000) for episode in range(4)]
    found = [guess for guess in guesses for label in (b'assay/policy/1', b'assay/world/1') if labelled(label, *guess) == seed]
    return found + [(seed, None)] * (seed < 1000)

class Policy:
    def reset(self, *, seed, scenario, instruction):
        raise RuntimeError(f'of OLD: {search(OLD)}; of its own: {search(seed)}')

    def act(self, observation):
        return [0]
";

#[track_caller]
fn one(assay: &Assay, policy: &std::path::Path, more: &[&str]) -> JobReport {
    let run = verify(assay, policy, &[&["--episodes", "1", "--record", "none", "--json"], more].concat());
    report(&run)
}

#[test]
fn without_a_seed_worlds_and_key_are_drawn() {
    let (assay, policy) = (assay().drawing_seeds(), example(CARTPOLE, "reference"));
    let (first, second) = (one(&assay, &policy, &[]), one(&assay, &policy, &[]));
    assert!(first.seed != second.seed && first.seed.max(second.seed) < 1 << 53, "{} {}", first.seed, second.seed);
    assert_ne!(first.policy_key, second.policy_key);
    assert_ne!(hashes(&first), hashes(&second));
    let key = first.policy_key.clone().unwrap();
    assert_ne!(key, PolicyKey::from_seed(first.seed), "the key does not follow from a seed that was drawn");
    assert_eq!(first.episode_details[0].seed, key.policy_seed(0));
    // The job can be repeated from both numbers of the report.
    let (seed, key) = (first.seed.to_string(), key.to_hex());
    let again = one(&assay, &policy, &["--seed", &seed, "--policy-key", &key]);
    assert_eq!((hashes(&again), again.policy_key), (hashes(&first), first.policy_key));
    assay.assert_clean();
}

#[test]
fn a_seed_gives_the_key_and_a_key_changes_no_world() {
    let (assay, policy) = (assay(), example(CARTPOLE, "reference"));
    let seeded = one(&assay, &policy, &["--seed", "7"]);
    assert_eq!(seeded.policy_key, Some(PolicyKey::from_seed(7)));
    assert_eq!(hashes(&one(&assay, &policy, &["--seed", "7"])), hashes(&seeded));
    let keyed = one(&assay, &policy, &["--seed", "7", "--policy-key", &"0c".repeat(32)]);
    assert_eq!(keyed.policy_key, Some(PolicyKey::new([0x0c; 32])));
    assert_ne!(keyed.episode_details[0].seed, seeded.episode_details[0].seed);
    assert_eq!(hashes(&keyed), hashes(&seeded), "this policy does not use its seed");
    let by_chance = assay.write("policy.py", BY_CHANCE);
    let other = one(&assay, &by_chance, &["--seed", "7", "--policy-key", &"0c".repeat(32)]);
    assert_ne!(hashes(&other), hashes(&one(&assay, &by_chance, &["--seed", "7"])), "this one does");
    let refused = verify(&assay, &policy, &["--policy-key", "0c"]);
    assert!(refused.code == 2 && refused.stderr.contains("64 hexadecimal digits"), "{}", refused.stderr);
}

#[test]
fn a_replay_takes_the_reports_key_and_old_reports_have_none() {
    let assay = assay().drawing_seeds();
    let policy = assay.write("policy.py", BY_CHANCE);
    let run = verify(&assay, &policy, &["--episodes", "2", "--record", "none", "--out", "out"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    fs::copy(&policy, assay.path("out/policy.py")).unwrap();
    let path = assay.path("out/report.json");
    let run = assay.run(&["replay", path.to_str().unwrap(), "--episode", "1"]);
    assert!(run.code == 0 && run.stdout.contains("bit-identical"), "{}{}", run.stdout, run.stderr);

    // Without a key, the old derivation of seeds applies, which does not give those of this recording.
    let mut value: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let seed = value["seed"].as_u64().unwrap();
    value.as_object_mut().unwrap().remove("policy_key").unwrap();
    fs::write(&path, value.to_string()).unwrap();
    let run = assay.run(&["replay", path.to_str().unwrap(), "--json"]);
    let found: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}", run.stderr));
    assert_eq!((run.code, &found["same"]), (1, &false.into()), "{found:#}");
    let difference = &found["difference"];
    assert_eq!((&difference["cause"], &difference["quantity"]), (&"world".into(), &"policy_seed".into()), "{found:#}");
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
    let old = EpisodeSeeds::derive(seed, 0).policy as f64;
    assert_eq!(difference["replayed"].as_f64(), Some(old), "{found:#}");
}

#[test]
fn a_policy_finds_no_job_seed_behind_its_own() {
    let assay = assay();
    let old = EpisodeSeeds::derive(7, 0).policy;
    let policy = assay.write("policy.py", SEARCHES.replace("OLD", &old.to_string()));
    for seed in ["0", "7", "999"] {
        let message = one(&assay, &policy, &["--seed", seed]).episode_details[0].error.clone().unwrap().message;
        assert!(message.contains(&format!("of {old}: [(7, 0)]; of its own: []")), "seed {seed}: {message}");
    }
}
