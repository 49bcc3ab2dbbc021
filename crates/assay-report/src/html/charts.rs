//! Coordinates of the charts. Their texts are numbers, or are escaped by the template.

use assay_model::{EpisodeResult, Statistics, violation_upper_bound};

use super::display::{clean, tone_of};
use crate::statistics::reference;
use crate::words::{percent, percent_up, seconds};

/// Edges of the plot area in the drawing, in pixels: left, right, top, bottom.
const LEFT: f64 = 52.0;
const RIGHT: f64 = 440.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 210.0;
/// Width reserved for a label, in pixels.
const LABEL_WIDTH: f64 = 130.0;
/// Number of segments of the curve.
const CURVE_POINTS: u32 = 120;
/// Range of the plot as a multiple of the larger of the two marked numbers of episodes: leaves room for labels to the
/// right of points, where the curve is below them.
const ROOM: u32 = 12;

/// The bound as a function of the number of clean episodes, with a mark for this job.
pub(super) struct BoundChart {
    pub(super) curve: String,
    pub(super) x_ticks: Vec<Tick>,
    pub(super) y_ticks: Vec<Tick>,
    pub(super) here: PointLabel,
    pub(super) needed: PointLabel,
}

/// A labelled position on an axis, in pixels.
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) label: String,
}

/// A labelled point.
pub(super) struct PointLabel {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) label: String,
    /// Text anchor, `start` or `end`: the side of the point with room for the label.
    pub(super) anchor: &'static str,
    pub(super) label_x: f64,
}

impl BoundChart {
    pub(super) fn of(statistics: &Statistics) -> Self {
        let n = statistics.sample_size.unwrap_or(statistics.episodes).max(1);
        let needed = statistics.episodes_needed.max(1);
        let most = n.max(needed).saturating_mul(ROOM);
        let x = |episodes: f64| LEFT + (RIGHT - LEFT) * episodes.ln() / f64::from(most).ln();
        let y = |p: f64| BOTTOM - (BOTTOM - TOP) * p;
        let alpha = 1.0 - statistics.confidence_level;
        let curve = (0..=CURVE_POINTS).map(|i| {
            let episodes = f64::from(most).powf(f64::from(i) / f64::from(CURVE_POINTS));
            format!("{:.1},{:.1}", x(episodes), y(1.0 - alpha.powf(1.0 / episodes)))
        });
        let mark = |episodes: u32, p: f64, label: String| {
            let x = x(f64::from(episodes));
            let (anchor, offset) = if x > RIGHT - LABEL_WIDTH { ("end", -3.0) } else { ("start", 9.0) };
            PointLabel { x, y: y(p), label, anchor, label_x: x + offset }
        };
        let target = reference(statistics);
        Self {
            curve: curve.collect::<Vec<_>>().join(" "),
            x_ticks: decades(most).map(|e| Tick { at: x(f64::from(e)), label: e.to_string() }).collect(),
            y_ticks: [0.0, 0.25, 0.5, 0.75, 1.0].map(|p| Tick { at: y(p), label: percent(p) }).into(),
            here: mark(
                n,
                statistics.violation_probability_upper,
                format!("this job: below {}", percent_up(statistics.violation_probability_upper)),
            ),
            needed: mark(
                needed,
                violation_upper_bound(0, needed, statistics.confidence_level),
                format!("{needed} clean: {}", percent(target)),
            ),
        }
    }
}

/// Returns 1, 3, 10, 30, ... up to `most`.
fn decades(most: u32) -> impl Iterator<Item = u32> {
    let powers = std::iter::successors(Some(1_u32), |p| p.checked_mul(10));
    powers.flat_map(|p| [p, p.saturating_mul(3)]).take_while(move |&e| e <= most)
}

/// Left end of an episode's time axis, in pixels; clause names are to the left of it.
const AXIS_LEFT: f64 = 170.0;
/// Right end of an episode's time axis, in pixels.
const AXIS_RIGHT: f64 = 985.0;
/// Height of a row, in pixels.
const ROW: f64 = 24.0;
/// Minimum width of a violation's mark, in pixels.
const LEAST_WIDTH: f64 = 3.0;

/// Timeline of an episode: stages and violations on the axis of simulated time.
pub(super) struct Timeline {
    pub(super) height: f64,
    pub(super) axis_y: f64,
    pub(super) end: String,
    pub(super) stages: Vec<Tick>,
    pub(super) rows: Vec<TimelineRow>,
}

/// Row of a timeline with the violations of one clause.
pub(super) struct TimelineRow {
    pub(super) clause: String,
    pub(super) tone: &'static str,
    pub(super) y: f64,
    pub(super) bars: Vec<TimelineBar>,
}

/// Bar of one violation.
pub(super) struct TimelineBar {
    pub(super) x: f64,
    pub(super) width: f64,
    pub(super) title: String,
}

impl Timeline {
    /// Returns the timeline of an episode; `None` without stages reached and violations.
    pub(super) fn of(episode: &EpisodeResult) -> Option<Self> {
        let end = episode.violations.iter().map(|v| v.end_s).fold(episode.sim_time_s, f64::max);
        let stages: Vec<_> = episode.stages.iter().filter_map(|s| Some((s, s.time_s?))).collect();
        if end <= 0.0 || (stages.is_empty() && episode.violations.is_empty()) {
            return None;
        }
        let x = |t: f64| AXIS_LEFT + (AXIS_RIGHT - AXIS_LEFT) * (t / end).clamp(0.0, 1.0);
        let mut rows: Vec<TimelineRow> = Vec::new();
        for violation in &episode.violations {
            let clause = clean(&violation.clause);
            let bar = TimelineBar {
                x: x(violation.start_s),
                width: (x(violation.end_s) - x(violation.start_s)).max(LEAST_WIDTH),
                title: format!("{clause}: {} to {}", seconds(violation.start_s), seconds(violation.end_s)),
            };
            match rows.iter_mut().find(|row| row.clause == clause) {
                Some(row) => row.bars.push(bar),
                None => {
                    let tone = tone_of(violation.level, assay_model::ClauseStatus::Violated);
                    rows.push(TimelineRow { clause, tone, y: 0.0, bars: vec![bar] });
                }
            }
        }
        let mut y = ROW;
        for row in &mut rows {
            row.y = y;
            y += ROW;
        }
        let stages =
            stages.into_iter().map(|(s, t)| Tick { at: x(t), label: format!("{} {}", clean(&s.name), seconds(t)) });
        Some(Self { height: y + ROW, axis_y: y, end: seconds(end), stages: stages.collect(), rows })
    }
}
