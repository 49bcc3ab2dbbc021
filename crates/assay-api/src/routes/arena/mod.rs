//! Seasons and leaderboards: `/seasons`, `/leaderboard`.

pub(in crate::routes) mod leaderboard;
pub(in crate::routes) mod seasons;
