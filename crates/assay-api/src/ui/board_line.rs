//! An entry of a leaderboard, with its intervals as drawings.

use assay_model::sanitise;

use super::viewer::Viewer;
use crate::boards::LeaderboardEntry;

/// Width of the drawing of an interval, in pixels.
const WIDTH: f64 = 200.0;
/// Smallest width of an interval, in pixels.
const LEAST_WIDTH: f64 = 3.0;
/// An entry of a board.
pub(super) struct BoardLine {
    pub(super) rank: String,
    pub(super) is_tied: bool,
    pub(super) policy: String,
    pub(super) account: String,
    /// Id of the submission, if it is the viewer's own.
    pub(super) own: Option<String>,
    pub(super) verdict: String,
    pub(super) tone: &'static str,
    pub(super) score: String,
    pub(super) scores: IntervalBar,
    pub(super) ranks: Option<IntervalBar>,
    pub(super) safety: String,
    pub(super) success: String,
}

/// An interval in words and as a line in a drawing.
pub(super) struct IntervalBar {
    pub(super) words: String,
    pub(super) x: f64,
    pub(super) width: f64,
}

impl IntervalBar {
    fn new(low: f64, high: f64, most: f64, words: String) -> Self {
        let at = |value: f64| WIDTH * (value / most.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        let width = (at(high) - at(low)).max(LEAST_WIDTH);
        Self { words, x: at(low).min(WIDTH - width), width }
    }
}

impl BoardLine {
    /// Describes an entry among `all`; scores are drawn up to `most`.
    pub(super) fn new(entry: &LeaderboardEntry, all: &[LeaderboardEntry], most: f64, viewer: &Viewer) -> Self {
        let ties = all.iter().filter(|other| entry.rank.is_some() && other.rank == entry.rank).count();
        #[expect(clippy::cast_precision_loss, reason = "entries are counted in thousands")]
        let count = all.len() as f64;
        let ranks = entry.rank_low.zip(entry.rank_high).map(|(low, high)| {
            let words = if low == high { format!("rank {low}") } else { format!("rank {low} to {high}") };
            // A rank covers the range from its predecessor to itself.
            IntervalBar::new(f64::from(low) - 1.0, f64::from(high), count, words)
        });
        let is_own = entry.account == viewer.caller.key.account;
        let verdict = entry.verdict.to_string();
        let share = |share: f64| format!("{:.1} %", share * 100.0);
        Self {
            rank: entry.rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string()),
            is_tied: ties > 1,
            policy: sanitise(entry.policy_name.as_deref().unwrap_or_default(), usize::MAX),
            account: entry.account.to_string(),
            own: entry.submission_id.filter(|_| is_own).map(|id| id.to_string()),
            tone: match &*verdict {
                "SAFE" => "good",
                "UNSAFE" => "bad",
                _ => "open",
            },
            verdict,
            score: format!("{:.1}", entry.score),
            scores: IntervalBar::new(
                entry.score_low,
                entry.score_high,
                most,
                format!("{:.0} to {:.0}", entry.score_low, entry.score_high),
            ),
            ranks,
            safety: entry.safety_score.map_or_else(|| "after the season".to_owned(), |score| format!("{score:.3}")),
            success: share(entry.success_rate),
        }
    }
}
