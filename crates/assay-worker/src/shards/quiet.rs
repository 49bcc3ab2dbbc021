//! Determines when a lane that ran secret worlds may run others.
//!
//! A verification shows when it began, and its policy has a clock. If it began as soon as a submission left a lane,
//! it would reveal how long that took, and thus something about the submission's observations. So a lane switches from
//! secret worlds to others only at a point of the submission's grid, where that time is public; from secret worlds to
//! secret worlds at once.

use assay_model::{Assignment, Grid};
use jiff::Timestamp;

/// The time until which a lane runs secret worlds only.
#[derive(Debug, Default)]
pub(crate) struct Quiet(Option<Timestamp>);

impl Quiet {
    /// True if the lane may run any shard at `now`.
    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        self.0.is_none_or(|until| until <= now)
    }

    /// Records that the lane has left this shard at `now`.
    pub(crate) fn after(&mut self, shard: &Assignment, now: Timestamp) {
        if shard.is_secret() {
            let published = Grid::of(shard.created_at).published(now);
            self.0 = Some(self.0.map_or(published, |until| until.max(published)));
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use assay_model::{ArenaEntry, Fence, SeedSource};
    use assay_store::Claim;
    use assay_store_testing::{at, job};

    use super::*;

    /// Returns a shard of a verification, or of a submission.
    pub(crate) fn shard(arena: bool, episodes: Vec<u32>) -> Assignment {
        let mut header = job(1, "lab", 20, 20).header;
        header.arena = arena.then_some(ArenaEntry { season: 1, rerun: false, max_score: 500, description: None });
        let secret = assay_model::SeasonSecret::new([1; 32]);
        let seeds = match arena {
            true => SeedSource::Season { secret, episodes: 20, policy_key: header.policy_key.clone() },
            false => header.job_seeds(),
        };
        let claim = Claim {
            fence: Fence { job_id: header.job_id, shard: 0, attempt: 1 },
            account: "lab".parse().unwrap(),
            header,
            policy_path: None,
            episodes,
            failures: 0,
            last_failure: None,
            notes: Vec::new(),
        };
        claim.assignment(&seeds, 1 << 20)
    }

    #[test]
    fn a_lane_leaves_secret_worlds_at_a_point_of_the_grid() {
        let mut quiet = Quiet::default();
        quiet.after(&shard(false, vec![0, 1]), at(4));
        quiet.after(&shard(true, vec![20]), at(4));
        assert!(quiet.is_over(at(4)), "verifications and showcases are public");
        quiet.after(&shard(true, vec![18, 19]), at(17));
        assert!(!quiet.is_over(at(29)) && quiet.is_over(at(30)));
        quiet.after(&shard(true, vec![3]), at(40));
        quiet.after(&shard(false, vec![0]), at(41));
        assert!(!quiet.is_over(at(44)) && quiet.is_over(at(45)));
    }
}
