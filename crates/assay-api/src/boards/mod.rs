//! The leaderboards: the ranked submissions that count in a season. A board is cached until the runs that count change.

mod board;
mod cache;
mod entry;

pub(crate) use board::{combined_board, scenario_board};
pub use cache::Boards;
pub(crate) use entry::LeaderboardEntry;
