#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use super::*;
use crate::{EpisodeSeeds, SeedSource};

/// Number of job seeds that an attacker tries, and number of episodes of each.
const GUESSED_SEEDS: u64 = 1000;
const GUESSED_EPISODES: u32 = 4;

/// Source of bytes from the hash of a counter: sufficiently random, and the same in every run.
#[derive(Debug, Default)]
struct Counted(AtomicU64);

impl Entropy for Counted {
    fn fill(&self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = Sha256::digest(self.0.fetch_add(1, Ordering::Relaxed).to_le_bytes())[0];
        }
    }
}

/// Returns an attacking policy's lookup table from `derived(job seed, episode)` to job seed and episode.
fn attack(derived: impl Fn(u64, u32) -> u64) -> HashMap<u64, (u64, u32)> {
    let guesses = (0..GUESSED_SEEDS).flat_map(|seed| (0..GUESSED_EPISODES).map(move |episode| (seed, episode)));
    guesses.map(|(seed, episode)| (derived(seed, episode), (seed, episode))).collect()
}

/// Returns derivations as cheap as the first one, which the attack breaks.
fn cheap_derivations() -> Vec<fn(u64, u32) -> u64> {
    fn hashed_key(seed: u64, episode: u32) -> u64 {
        PolicyKey::new(Sha256::digest(seed.to_le_bytes()).into()).policy_seed(episode)
    }
    fn padded_key(seed: u64, episode: u32) -> u64 {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        PolicyKey::new(bytes).policy_seed(episode)
    }
    fn salted_key(seed: u64, episode: u32) -> u64 {
        let mut mac = Hmac::<Sha256>::new_from_slice(SALT).unwrap();
        mac.update(&seed.to_le_bytes());
        PolicyKey::new(mac.finalize().into_bytes().into()).policy_seed(episode)
    }
    vec![
        |seed, episode| EpisodeSeeds::derive(seed, episode).policy,
        |seed, episode| EpisodeSeeds::derive(seed, episode).world,
        hashed_key,
        padded_key,
        salted_key,
    ]
}

#[test]
fn known_answers_pin_the_key() {
    // hashlib.scrypt((7).to_bytes(8, "little"), salt=b"assay/policy-key/1", n=2**11, r=8, p=1, dklen=32).hex(), and the
    // upper 53 bits of the first eight bytes (little-endian) of hmac.digest(key, b"policy" + (3).to_bytes(4, "little"),
    // "sha256").
    let key = PolicyKey::from_seed(7);
    assert_eq!(key.to_hex(), "8652a6fb8ec03a20b0bf520e93e7733b7e9dd6423334b0a116baed0af95b1563");
    assert_eq!(key.policy_seed(3), 5_770_485_633_978_958);
    assert_eq!(PolicyKey::public(), PolicyKey::from_seed(PUBLIC_SEED));
    assert!(key.policy_seed(3) < 1 << DRAWN_BITS);
    assert_eq!(format!("{key:?}"), "[policy key]");
    assert_eq!(key.to_hex().parse(), Ok(key.clone()));
    assert_eq!(
        ("07".parse::<PolicyKey>(), "xy".repeat(32).parse::<PolicyKey>()),
        (Err(InvalidPolicyKey), Err(InvalidPolicyKey))
    );
    let json = serde_json::to_string(&key).unwrap();
    assert_eq!(serde_json::from_str::<PolicyKey>(&json).unwrap(), key);
}

#[test]
fn a_policys_seed_does_not_reveal_the_job() {
    let table = attack(|seed, episode| EpisodeSeeds::derive(seed, episode).policy);
    let jobs =
        (0..GUESSED_SEEDS).step_by(37).flat_map(|seed| (0..GUESSED_EPISODES).map(move |episode| (seed, episode)));
    let jobs: Vec<_> = jobs.collect();
    for (seed, episode) in &jobs {
        let received = SeedSource::Job { seed: *seed, policy_key: None }.episode(*episode);
        let (found_seed, found_episode) = table[&received.policy];
        assert_eq!((found_seed, found_episode), (*seed, *episode), "the old derivation falls");
        assert_eq!(EpisodeSeeds::derive(found_seed, found_episode).world, received.world, "and the world with it");
    }
    for table in cheap_derivations().into_iter().map(attack) {
        for (seed, key) in [3, 700].map(|seed| job_seeds(Some(seed), None, &Counted::default())) {
            let source = SeedSource::Job { seed, policy_key: Some(key) };
            for episode in 0..GUESSED_EPISODES {
                let received = source.episode(episode);
                assert!(!table.contains_key(&received.policy), "job {seed}, episode {episode}");
                assert_eq!(received.world, EpisodeSeeds::derive(seed, episode).world, "worlds are as before");
            }
        }
    }
}

#[test]
fn a_drawn_seed_reveals_nothing_about_the_key() {
    let entropy = Counted::default();
    let jobs: Vec<_> = (0..200).map(|_| job_seeds(None, None, &entropy)).collect();
    let seeds: std::collections::HashSet<_> = jobs.iter().map(|(seed, _)| *seed).collect();
    assert_eq!(seeds.len(), jobs.len());
    assert!(seeds.iter().all(|seed| *seed < 1 << DRAWN_BITS), "JSON keeps every digit");
    let high = seeds.iter().filter(|seed| **seed >= 1 << (DRAWN_BITS - 1)).count();
    assert!((60..140).contains(&high), "all 53 bits are drawn: {high} of 200 have the highest");
    let tables: Vec<_> = cheap_derivations().into_iter().map(attack).collect();
    for (seed, key) in &jobs {
        assert!(cheap_derivations().iter().all(|derived| derived(*seed, 0) != key.policy_seed(0)));
        assert!(tables.iter().all(|table| !table.contains_key(&key.policy_seed(0))));
    }
    let (seed, key) = &jobs[0];
    assert_ne!(*key, PolicyKey::from_seed(*seed), "not even the slow derivation joins them");
}

#[test]
fn given_seeds_and_keys_are_used() {
    let (entropy, key) = (Counted::default(), PolicyKey::new([9; 32]));
    assert_eq!(job_seeds(Some(5), Some(key.clone()), &entropy), (5, key.clone()));
    assert_eq!(job_seeds(Some(5), None, &entropy), (5, PolicyKey::from_seed(5)));
    assert_eq!(entropy.0.load(Ordering::Relaxed), 0, "a given seed leaves nothing to chance");
    let ((a, one), (b, other)) = (job_seeds(None, Some(key.clone()), &entropy), job_seeds(None, None, &entropy));
    assert!(a != b && one == key && other != key);
}

#[test]
fn jobs_without_a_policy_key_keep_their_seeds() {
    let header = serde_json::json!({
        "job_id": "01936f3c-8d2e-7c41-9f0a-5b6c7d8e9f01", "scenario": "s", "scenario_version": "1.0.0",
        "scenario_digest": "5f".repeat(32), "policy_name": "p", "policy_sha256": null, "policy_identity": "declared", "seed": 7,
        "record": "none", "created_at": "2026-01-15T09:30:00Z", "warnings": [],
        "plan": { "episodes": 3, "target": null, "confidence_level": 0.95, "max_violation_probability": 0.1 },
    });
    let header: crate::JobHeader = serde_json::from_value(header).unwrap();
    assert_eq!(header.policy_key, None);
    assert_eq!(header.job_seeds().episode(2), EpisodeSeeds::derive(7, 2));
}
