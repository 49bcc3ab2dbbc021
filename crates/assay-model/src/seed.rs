//! Seeds. Every episode has its own generators, so results do not depend on the order of episodes or the number of
//! lanes.

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::hex::{from_hex, to_hex};
use crate::seed_bits::{PUBLIC_SEED, keyed, seed_of};
use crate::{PolicyKey, Sha256Digest};

/// The two seeds of an episode. The policy's seed comes from a key ([`PolicyKey`] or a [`SeasonSecret`]), so that it
/// does not reveal the world's seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EpisodeSeeds {
    /// Seed from which the world is drawn: positions, sizes and initial state.
    pub world: u64,
    /// Seed passed to the policy.
    pub policy: u64,
}

/// An episode to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AssignedEpisode {
    /// Index of the episode in the job.
    pub episode: u32,
    /// Its seeds.
    pub seeds: EpisodeSeeds,
    /// True if it is a submission's showcase: public, and not counted.
    pub is_showcase: bool,
}

impl EpisodeSeeds {
    /// Returns the seeds of episode `episode` (from 0) of a job with seed `job_seed` and this key.
    #[must_use]
    pub fn with_key(job_seed: u64, key: &PolicyKey, episode: u32) -> Self {
        Self { world: Self::derive(job_seed, episode).world, policy: key.policy_seed(episode) }
    }

    /// Returns the seeds of a job without a policy key, as in earlier versions: both are unkeyed hashes of the job's
    /// seed, so one of them suffices to find a small job seed, and thus the other. The world's seed is derived this way
    /// with a key, too.
    #[must_use]
    pub fn derive(job_seed: u64, episode: u32) -> Self {
        Self {
            world: labelled(b"assay/world/1", job_seed, episode),
            policy: labelled(b"assay/policy/1", job_seed, episode),
        }
    }
}

fn labelled(label: &[u8], job_seed: u64, episode: u32) -> u64 {
    let digest = Sha256::new()
        .chain_update(label)
        .chain_update(job_seed.to_le_bytes())
        .chain_update(episode.to_le_bytes())
        .finalize();
    seed_of(&digest)
}

/// Secret of a season, from which its worlds are drawn: 256 bits, unpublished until the season is closed. Its debug
/// output hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct SeasonSecret([u8; 32]);

impl SeasonSecret {
    /// Creates a secret from unpredictable bytes.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes, for the records.
    #[must_use]
    pub fn reveal(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the secret as text: 64 lower-case hexadecimal digits.
    #[must_use]
    pub fn to_hex(&self) -> String {
        to_hex(&self.0)
    }

    /// Parses the output of [`Self::to_hex`].
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        from_hex(text).map(Self)
    }

    /// Returns the SHA-256 of the secret. It may be published from the start, and commits the operator to the secret.
    #[must_use]
    pub fn commitment(&self) -> Sha256Digest {
        Sha256Digest::of(self.0)
    }

    /// Returns the seeds of episode `episode`, derived by HMAC-SHA256 under the labels `world` and `policy`.
    #[must_use]
    pub fn episode(&self, episode: u32) -> EpisodeSeeds {
        let seed = |label| seed_of(&keyed(&self.0, label, &episode.to_le_bytes()));
        EpisodeSeeds { world: seed(b"world"), policy: seed(b"policy") }
    }

    /// Returns ten bytes derived from the secret and `name`, for an id that is always the same.
    #[must_use]
    pub fn derived_id(&self, name: &str) -> [u8; 10] {
        let mut bytes = [0; 10];
        bytes.copy_from_slice(&keyed(&self.0, b"id", name.as_bytes())[..10]);
        bytes
    }
}

impl std::fmt::Debug for SeasonSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[secret]")
    }
}

/// Source of the seeds of a job's episodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeedSource {
    /// A seed for the worlds, and a key for the policy's seeds.
    Job {
        /// The job's seed.
        seed: u64,
        /// Policy key of the report; `None` in reports of earlier versions, which derived the policy's seeds from
        /// `seed`.
        policy_key: Option<PolicyKey>,
    },
    /// A season's secret for the first `episodes` episodes; later ones are showcases on [`PUBLIC_SEED`].
    Season {
        /// Secret of the season.
        secret: SeasonSecret,
        /// Number of episodes that count.
        episodes: u32,
        /// Policy key of the showcases; `None` as above.
        policy_key: Option<PolicyKey>,
    },
    /// The seeds of single episodes, for a worker that must not know those of others.
    Assigned {
        /// The episodes, by index.
        episodes: BTreeMap<u32, AssignedEpisode>,
        /// True if they belong to an arena's entry.
        is_arena: bool,
    },
}

impl SeedSource {
    /// Returns the seeds of episode `episode`, from 0. Those of an episode that was not assigned are zero.
    #[must_use]
    pub fn episode(&self, episode: u32) -> EpisodeSeeds {
        let open = |seed, policy_key: &Option<PolicyKey>, episode| match policy_key {
            Some(key) => EpisodeSeeds::with_key(seed, key, episode),
            None => EpisodeSeeds::derive(seed, episode),
        };
        match self {
            Self::Job { seed, policy_key } => open(*seed, policy_key, episode),
            Self::Season { secret, episodes, policy_key } => match episode.checked_sub(*episodes) {
                Some(extra) => open(PUBLIC_SEED, policy_key, extra),
                None => secret.episode(episode),
            },
            Self::Assigned { episodes, .. } => {
                episodes.get(&episode).map_or(EpisodeSeeds { world: 0, policy: 0 }, |assigned| assigned.seeds)
            }
        }
    }

    /// Returns whether the episode is a showcase: it is public and does not count.
    #[must_use]
    pub fn is_showcase(&self, episode: u32) -> bool {
        match self {
            Self::Job { .. } => false,
            Self::Season { episodes, .. } => episode >= *episodes,
            Self::Assigned { episodes, .. } => episodes.get(&episode).is_some_and(|assigned| assigned.is_showcase),
        }
    }

    /// Returns true if the episodes belong to an arena's entry, whose policies never share a process with others.
    #[must_use]
    pub fn is_arena(&self) -> bool {
        match self {
            Self::Job { .. } => false,
            Self::Season { .. } => true,
            Self::Assigned { is_arena, .. } => *is_arena,
        }
    }

    /// Returns what a worker must know of these episodes.
    #[must_use]
    pub fn assign(&self, episodes: &[u32]) -> Vec<AssignedEpisode> {
        let assigned = |episode: &u32| AssignedEpisode {
            episode: *episode,
            seeds: self.episode(*episode),
            is_showcase: self.is_showcase(*episode),
        };
        episodes.iter().map(assigned).collect()
    }
}

/// Generator of a world's random numbers (ChaCha12, of the family of RFC 8439: identical on every machine).
#[derive(Debug, Clone)]
pub struct Generator(ChaCha12Rng);

impl Generator {
    /// Creates a generator from a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(ChaCha12Rng::seed_from_u64(seed))
    }

    /// Draws a number uniformly from [0, 1), a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
        let bits = (self.0.next_u64() >> 11) as f64;
        bits / (1_u64 << 53) as f64
    }

    /// Draws a number uniformly from [low, high).
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Draws a standard normal number (Box-Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Draws an index uniformly from 0..len (0 for an empty range).
    pub fn index(&mut self, len: usize) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "0 <= x < len"
        )]
        let drawn = (self.unit() * len as f64) as usize;
        drawn.min(len.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers_pin_the_derivation() {
        let seeds = EpisodeSeeds::derive(7, 3);
        assert_ne!(seeds.world, seeds.policy);
        assert_ne!(seeds, EpisodeSeeds::derive(7, 4));
        assert_ne!(seeds, EpisodeSeeds::derive(8, 3));
        assert!(seeds.world < 1 << 53);
    }

    #[test]
    fn seasons_draw_by_hmac() {
        let secret = SeasonSecret::new([7; 32]);
        // printf 'world\0\0\0\0' | openssl dgst -sha256 -mac HMAC -macopt hexkey:0707..07, and the same for policy.
        assert_eq!(secret.episode(0), EpisodeSeeds { world: 7_933_533_019_341_833, policy: 386_295_615_738_477 });
        assert_ne!(secret.episode(0), secret.episode(1));
        assert_ne!(secret.episode(0), SeasonSecret::new([8; 32]).episode(0));
        assert_eq!(format!("{secret:?}"), "[secret]");
        assert_eq!(SeasonSecret::parse(&secret.to_hex()), Some(secret.clone()));
        assert_eq!((SeasonSecret::parse("07"), SeasonSecret::parse(&"xy".repeat(32))), (None, None));
        let season = |policy_key| SeedSource::Season { secret: secret.clone(), episodes: 3, policy_key };
        let (source, key) = (season(None), PolicyKey::public());
        assert_eq!((source.episode(2), source.is_showcase(2)), (secret.episode(2), false));
        assert_eq!((source.episode(3), source.is_showcase(3)), (EpisodeSeeds::derive(PUBLIC_SEED, 0), true));
        let showcase = season(Some(key.clone())).episode(3);
        assert_eq!(showcase, EpisodeSeeds::with_key(PUBLIC_SEED, &key, 0));
        assert_eq!(showcase, SeedSource::Job { seed: PUBLIC_SEED, policy_key: Some(key) }.episode(0));
        assert_eq!(SeedSource::Job { seed: 7, policy_key: None }.episode(3), EpisodeSeeds::derive(7, 3));
    }

    #[test]
    fn generator_is_fair_enough() {
        let mut generator = Generator::new(1);
        let n = 20_000;
        let normals: Vec<f64> = (0..n).map(|_| generator.normal()).collect();
        let mean = normals.iter().sum::<f64>() / f64::from(n);
        let variance = normals.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
        let mut counts = [0; 5];
        (0..n).for_each(|_| counts[generator.index(5)] += 1);
        assert!(counts.iter().all(|c| (3700..4300).contains(c)), "{counts:?}");
    }
}
