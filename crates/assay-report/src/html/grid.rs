//! The grid of a job's episodes: a cell for each.

use assay_model::{ClauseStatus, EpisodeResult, EpisodeStatus, Level};

use crate::outcome;

/// Maximum number of cells. Of a longer job the episodes that need attention are shown first.
const MAX_CELLS: usize = 300;

/// Cell of an episode.
pub(super) struct GridCell {
    pub(super) index: u32,
    pub(super) tone: &'static str,
    /// `S` done and safe, `V` violated, `W` warning, `-` not done, `!` no evidence: the state without colour.
    pub(super) sign: &'static str,
    pub(super) title: String,
}

/// The cells that are shown, and the number of those that are not.
pub(super) struct EpisodeGrid {
    pub(super) cells: Vec<GridCell>,
    pub(super) omitted: usize,
}

impl EpisodeGrid {
    pub(super) fn of(episodes: &[EpisodeResult]) -> Self {
        let mut cells: Vec<GridCell> = episodes.iter().map(GridCell::of).collect();
        let omitted = cells.len().saturating_sub(MAX_CELLS);
        if omitted > 0 {
            // Stable: in order within a tone.
            cells.sort_by_key(|cell| ["bad", "open", "plain", "good"].iter().position(|tone| *tone == cell.tone));
            cells.truncate(MAX_CELLS);
            cells.sort_by_key(|cell| cell.index);
        }
        Self { cells, omitted }
    }
}

impl GridCell {
    fn of(episode: &EpisodeResult) -> Self {
        let violated =
            |level: Level| episode.clauses.iter().any(|c| c.level == level && c.status == ClauseStatus::Violated);
        let (tone, sign, what) = if episode.status != EpisodeStatus::Completed {
            ("open", "!", "no evidence")
        } else if violated(Level::Critical) {
            ("bad", "×", "critical violation")
        } else if violated(Level::Warning) {
            ("open", "~", "warning")
        } else if episode.success {
            ("good", "✓", "safe, done")
        } else {
            ("plain", "–", "safe, not done")
        };
        let title = format!("Episode {}: {what}; ended by {}", episode.episode, outcome::ending(episode));
        Self { index: episode.episode, tone, sign, title }
    }
}
