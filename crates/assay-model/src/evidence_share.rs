//! The space that an episode's evidence may take.

/// Maximum size of an episode's evidence before its images are left out, and of what a worker on another host may send
/// of it, in bytes. A recording may exceed its share, since it is never left out.
pub const MAX_EPISODE_EVIDENCE_BYTES: u64 = 256 << 20;
/// Default of the same limit for a job, in bytes.
pub const DEFAULT_EVIDENCE_BYTES: u64 = 4 << 30;

/// Returns each episode's share of a job's space for evidence, independent of the order in which episodes run.
#[must_use]
pub fn episode_share(job_bytes: u64, episodes: u32) -> u64 {
    (job_bytes / u64::from(episodes.max(1))).min(MAX_EPISODE_EVIDENCE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::{DEFAULT_EVIDENCE_BYTES, MAX_EPISODE_EVIDENCE_BYTES, episode_share};

    #[test]
    fn a_jobs_space_is_divided_among_its_episodes() {
        assert_eq!(episode_share(1000, 3), 333);
        assert_eq!(episode_share(DEFAULT_EVIDENCE_BYTES, 1), MAX_EPISODE_EVIDENCE_BYTES);
        assert_eq!(episode_share(1000, 0), 1000);
    }
}
