//! Seeds. Every episode has generators of its own, so results do not depend on the order or on the number of lanes.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The two seeds of an episode. Neither reveals the other: both are cut from SHA-256 of the job's seed under a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpisodeSeeds {
    /// Draws the world: places, sizes, start state.
    pub world: u64,
    /// Handed to the policy.
    pub policy: u64,
}

impl EpisodeSeeds {
    /// The seeds of episode `episode` (from 0) of a job with seed `job_seed`.
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
    // 53 bits, so that the seed survives JSON in every language.
    let mut first = [0_u8; 8];
    first.copy_from_slice(&digest[..8]);
    u64::from_le_bytes(first) >> 11
}

/// The world's random numbers (ChaCha12, RFC 8439's family: the same on every machine).
#[derive(Debug, Clone)]
pub struct Generator(ChaCha12Rng);

impl Generator {
    /// A generator for one seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(ChaCha12Rng::seed_from_u64(seed))
    }

    /// A number drawn evenly from [0, 1), a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
        let bits = (self.0.next_u64() >> 11) as f64;
        bits / (1_u64 << 53) as f64
    }

    /// A number drawn evenly from [low, high).
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A standard normal number (Box-Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// An index drawn evenly from 0..len (0 for an empty range).
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
