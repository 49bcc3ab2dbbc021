//! Publication times of results in an open season.
//!
//! A submission runs on worlds that its author must not learn, and its policy determines the duration of the run.
//! Everything that a client can see of it therefore changes only at the points of a grid that is fixed when it is
//! accepted: every [`Grid::STEP_S`] seconds from its `created_at`. An event between two points becomes visible at the
//! later one.

use jiff::{SignedDuration, Timestamp};

use crate::{Conclusion, EpisodeResult, EpisodeStatus, Verdict};

/// Times at which a submission's state is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    start: Timestamp,
}

impl Grid {
    /// Interval between two points, in seconds.
    pub const STEP_S: u32 = 15;
    /// Minimum age of a change at its publication, in seconds, so that the time needed to commit it does not show.
    pub const SETTLE_S: u32 = 1;

    /// Returns the grid of a submission accepted at `created_at`, which is its point 0.
    #[must_use]
    pub fn of(created_at: Timestamp) -> Self {
        Self { start: created_at }
    }

    /// Returns the last point at or before `now`; 0 before the first.
    #[must_use]
    pub fn last_point(self, now: Timestamp) -> u32 {
        let steps = self.micros_to(now).div_euclid(micros(Self::STEP_S));
        u32::try_from(steps.max(0)).unwrap_or(u32::MAX)
    }

    /// Returns the first point at which a change made at `at` is published.
    #[must_use]
    pub fn point_of(self, at: Timestamp) -> u32 {
        let settled = (self.micros_to(at) + micros(Self::SETTLE_S)).div_euclid(micros(Self::STEP_S));
        u32::try_from(settled.max(0)).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// Returns the time of a point.
    #[must_use]
    pub fn time(self, point: u32) -> Timestamp {
        let after = SignedDuration::from_secs(i64::from(point) * i64::from(Self::STEP_S));
        self.start.saturating_add(after).unwrap_or(Timestamp::MAX)
    }

    /// Returns the time at which a change made at `at` is published.
    #[must_use]
    pub fn published(self, at: Timestamp) -> Timestamp {
        self.time(self.point_of(at))
    }

    /// Returns whether a change made at `at` is published by `now`.
    #[must_use]
    pub fn is_published(self, at: Timestamp, now: Timestamp) -> bool {
        self.point_of(at) <= self.last_point(now)
    }

    fn micros_to(self, time: Timestamp) -> i64 {
        time.as_microsecond() - self.start.as_microsecond()
    }
}

fn micros(seconds: u32) -> i64 {
    i64::from(seconds) * 1_000_000
}

impl Conclusion {
    /// Returns the reason for a verdict other than SAFE, without numbers: the number of episodes concerned is not
    /// published while the season is open.
    #[must_use]
    pub fn published_reason(&self) -> Option<&'static str> {
        match self.verdict {
            Verdict::Safe => None,
            Verdict::Unsafe => Some("a critical clause was violated"),
            Verdict::Inconclusive => Some("some episodes yield no evidence"),
        }
    }
}

/// Returns the class of the first error, the only part of a submission's errors that an open season publishes: type,
/// message and line could each reveal what the policy observed in a secret world. `None` if every episode was
/// completed.
#[must_use]
pub fn error_class(episodes: &[EpisodeResult]) -> Option<&'static str> {
    episodes.iter().find_map(|episode| match episode.status {
        EpisodeStatus::Completed => None,
        EpisodeStatus::PolicyError => Some("policy_error"),
        EpisodeStatus::PolicyTimeout => Some("policy_timeout"),
        EpisodeStatus::Invalid => Some("invalid"),
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use proptest::prelude::*;

    use super::*;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_microsecond(1_750_000_000_000_000 + micros).unwrap()
    }

    #[test]
    fn a_change_is_published_at_the_next_point_once_it_is_settled() {
        let grid = Grid::of(at(250_000));
        for (change_s, point) in [(0.0, 1), (13.9, 1), (14.1, 2), (15.0, 2), (28.9, 2), (29.1, 3), (-1.0, 1)] {
            #[expect(clippy::cast_possible_truncation, reason = "a few seconds")]
            let change = at(250_000 + (change_s * 1e6) as i64);
            assert_eq!(grid.point_of(change), point, "{change_s} s");
        }
        assert_eq!(grid.time(2), at(30_250_000));
        assert_eq!((grid.last_point(at(15_249_999)), grid.last_point(at(15_250_000))), (0, 1));
        assert_eq!(grid.last_point(at(0)), 0, "before the first");
    }

    proptest! {
        #[test]
        fn published_state_depends_only_on_the_point(change in 0_i64..10_000_000_000, now in 0_i64..10_000_000_000) {
            let grid = Grid::of(at(0));
            let published = grid.published(at(change));
            prop_assert!(published.duration_since(at(change)).as_micros() > i128::from(micros(Grid::SETTLE_S)) - 1);
            prop_assert!(published.duration_since(at(change)).as_micros() <= i128::from(micros(Grid::STEP_S + Grid::SETTLE_S)));
            prop_assert_eq!(grid.is_published(at(change), at(now)), published <= at(now));
            let earlier = grid.time(grid.last_point(at(now)));
            prop_assert_eq!(grid.is_published(at(change), at(now)), grid.is_published(at(change), earlier));
        }
    }
}
