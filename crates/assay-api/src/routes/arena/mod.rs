//! Seasons and leaderboards: `/seasons`, `/leaderboard`.

pub(in crate::routes) mod close;
pub(in crate::routes) mod leaderboard;
pub(in crate::routes) mod open;
pub(in crate::routes) mod seasons;
pub(in crate::routes) mod view;
