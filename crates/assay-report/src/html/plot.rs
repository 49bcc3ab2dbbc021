//! Plot of a clause's signal over an episode, with its limit.

use assay_model::{ClauseResult, ClauseStatus, EpisodePlots, EpisodeResult, SafeSide, safe_side};

use super::display::{clean, tone_of};
use crate::words;

/// Edges of the plot area in the drawing, in pixels: left, right, top, bottom.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 510.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 118.0;
/// Margin above and below the plotted values, as a share of their range.
const PADDING: f64 = 0.08;
/// Unit of forces, whose magnitudes are limited from above.
const FORCE: &str = "N";
/// Minimum width of a violation's mark, in pixels.
const LEAST_WIDTH: f64 = 2.5;
/// Time before a violation at which a video starts, in seconds.
const LEAD_S: f64 = 0.4;

/// Plot of one clause in one episode.
pub(super) struct PlotView {
    pub(super) clause: String,
    pub(super) title: Option<String>,
    pub(super) tone: &'static str,
    pub(super) status: &'static str,
    /// Polygons between the smallest and greatest value of the signal in each time bin; a gap starts a new polygon.
    pub(super) bands: Vec<String>,
    pub(super) limit_y: f64,
    pub(super) limit: String,
    pub(super) top: String,
    pub(super) bottom: String,
    pub(super) end: String,
    /// End of the time axis, in seconds.
    pub(super) end_s: f64,
    /// Start of the first violation, in pixels.
    pub(super) onset_x: Option<f64>,
    pub(super) spans: Vec<Span>,
    /// Time bins beyond the limit; only if there are more violations than the result lists.
    pub(super) beyond: Vec<Piece>,
    pub(super) worst: Option<WorstMarker>,
    /// Link to the video, shortly before the first violation.
    pub(super) video: Option<String>,
    pub(super) first: String,
}

/// Mark of a violation.
pub(super) struct Span {
    pub(super) x: f64,
    pub(super) width: f64,
    pub(super) title: String,
    pub(super) video: Option<String>,
}

/// Horizontal range, in pixels.
pub(super) struct Piece {
    pub(super) x: f64,
    pub(super) width: f64,
}

/// Mark of the smallest margin.
pub(super) struct WorstMarker {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) label: String,
    pub(super) anchor: &'static str,
    pub(super) label_x: f64,
}

impl PlotView {
    /// Returns the plots of an episode, violated clauses first.
    pub(super) fn all(episode: &EpisodeResult, plots: &EpisodePlots, video: Option<&str>) -> Vec<Self> {
        let plot = |clause: &ClauseResult| Self::of(episode, clause, plots, video);
        let (bad, good): (Vec<_>, Vec<_>) =
            episode.clauses.iter().partition(|clause| clause.status == ClauseStatus::Violated);
        bad.into_iter().chain(good).filter_map(plot).collect()
    }

    fn of(episode: &EpisodeResult, clause: &ClauseResult, plots: &EpisodePlots, video: Option<&str>) -> Option<Self> {
        let margins = plots.clauses.iter().find(|plot| plot.clause == clause.id)?;
        let unit = clean(&clause.unit);
        let side = safe_side(clause);
        let value = |margin: f64| match side {
            Some(SafeSide::AtMost) => clause.limit - margin,
            Some(SafeSide::AtLeast) => clause.limit + margin,
            None => margin,
        };
        let limit = side.map_or(0.0, |_| clause.limit);
        let bins: Vec<Option<(f64, f64)>> =
            margins.low.iter().zip(&margins.high).map(|(low, high)| Some((value((*low)?), value((*high)?)))).collect();
        let all = || bins.iter().flatten().flat_map(|(a, b)| [*a, *b]).chain([limit]);
        let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
        if bins.iter().all(Option::is_none) || plots.end_s <= 0.0 {
            return None;
        }
        let is_force = side == Some(SafeSide::AtMost) && clause.unit == FORCE;
        let (least, most) = axis(least, most, is_force);
        let x = |time: f64| LEFT + (RIGHT - LEFT) * (time / plots.end_s).clamp(0.0, 1.0);
        let y = |value: f64| BOTTOM - (BOTTOM - TOP) * (value.max(least) - least) / (most - least);
        let at = |time: f64| video.map(|video| format!("{video}#t={:.2}", (time - LEAD_S).max(0.0)));
        let violations: Vec<_> = episode.violations.iter().filter(|v| v.clause == clause.id).collect();
        Some(Self {
            clause: clean(&clause.id),
            title: clause.title.as_deref().map(clean),
            tone: tone_of(clause.level, clause.status),
            status: super::display::status_word(clause.status),
            bands: bands(&bins, &plots.time_s, plots.end_s, &x, &y),
            limit_y: y(limit),
            limit: side
                .map_or_else(|| "margin 0".to_owned(), |_| format!("limit {}", words::with_unit(clause.limit, &unit))),
            top: words::number(most),
            bottom: words::number(least),
            end: words::seconds(plots.end_s),
            end_s: plots.end_s,
            onset_x: violations.first().map(|v| x(v.start_s)),
            beyond: if usize::try_from(clause.violation_count).is_ok_and(|n| n > violations.len()) {
                beyond(&margins.low, &plots.time_s, plots.end_s, &x)
            } else {
                Vec::new()
            },
            spans: violations
                .iter()
                .map(|v| Span {
                    x: x(v.start_s),
                    width: (x(v.end_s) - x(v.start_s)).max(LEAST_WIDTH),
                    title: format!("{} to {}", words::seconds(v.start_s), words::seconds(v.end_s)),
                    video: at(v.start_s),
                })
                .collect(),
            worst: worst(clause, &unit, value, &x, &y),
            video: violations.first().and_then(|v| at(v.start_s)),
            first: violations.first().map_or_else(String::new, |v| words::seconds(v.start_s)),
        })
    }
}

/// Returns the ends of an axis with room around the values. That of a quantity that is never negative begins at 0, even
/// if its values were computed from margins with rounding, or, for a force, from a filter that rings.
fn axis(least: f64, most: f64, is_force: bool) -> (f64, f64) {
    const ROUNDING: f64 = 1e-9;
    let range = if most > least { most - least } else { 1.0 };
    let floor = if is_force || least >= -ROUNDING * range { 0.0 } else { f64::NEG_INFINITY };
    (PADDING.mul_add(-range, least).max(floor), PADDING.mul_add(range, most))
}

fn worst(
    clause: &ClauseResult,
    unit: &str,
    value: impl Fn(f64) -> f64,
    x: &dyn Fn(f64) -> f64,
    y: &dyn Fn(f64) -> f64,
) -> Option<WorstMarker> {
    let (margin, time) = (clause.robustness?, clause.worst_time_s?);
    let x = x(time);
    let (anchor, offset) = if x > f64::midpoint(LEFT, RIGHT) { ("end", -8.0) } else { ("start", 8.0) };
    // The margin of a formula that is not a comparison with its limit is not a measurement.
    let what = if safe_side(clause).is_some() { "" } else { "margin " };
    let label = format!("{what}{} at {}", words::with_unit(value(margin), unit), words::seconds(time));
    Some(WorstMarker { x, y: y(value(margin)), label, anchor, label_x: x + offset })
}

/// Returns the time ranges in which the margin was negative, with adjacent bins joined.
fn beyond(low: &[Option<f64>], time_s: &[f64], end_s: f64, x: &dyn Fn(f64) -> f64) -> Vec<Piece> {
    let mut out: Vec<(f64, f64)> = Vec::new();
    for (bin, (margin, start)) in low.iter().zip(time_s).enumerate() {
        if *margin >= Some(0.0) || margin.is_none() {
            continue;
        }
        let end = time_s.get(bin + 1).copied().unwrap_or(end_s);
        match out.last_mut() {
            Some((_, last)) if *last >= *start => *last = end,
            _ => out.push((*start, end)),
        }
    }
    out.into_iter().map(|(a, b)| Piece { x: x(a), width: (x(b) - x(a)).max(LEAST_WIDTH) }).collect()
}

/// Returns polygons around runs of adjacent time bins.
fn bands(
    bins: &[Option<(f64, f64)>],
    time_s: &[f64],
    end_s: f64,
    x: &dyn Fn(f64) -> f64,
    y: &dyn Fn(f64) -> f64,
) -> Vec<String> {
    let mut out = Vec::new();
    let (mut there, mut back): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut close = |there: &mut Vec<String>, back: &mut Vec<String>| {
        if !there.is_empty() {
            back.reverse();
            there.append(back);
            out.push(there.join(" "));
            there.clear();
        }
    };
    for (bin, found) in bins.iter().enumerate() {
        let Some((a, b)) = found else {
            close(&mut there, &mut back);
            continue;
        };
        let Some(start) = time_s.get(bin) else { break };
        let end = time_s.get(bin + 1).copied().unwrap_or(end_s);
        for time in [*start, end] {
            there.push(format!("{:.1},{:.1}", x(time), y(a.max(*b))));
            back.push(format!("{:.1},{:.1}", x(time), y(a.min(*b))));
        }
    }
    close(&mut there, &mut back);
    out
}

#[cfg(test)]
mod tests {
    use super::axis;

    #[test]
    fn the_axis_of_a_force_begins_at_0() {
        assert!(axis(0.0, 90.0, false).0.abs() < f64::EPSILON);
        assert!(axis(-7e-15, 90.0, false).0.abs() < f64::EPSILON, "50 - 50.000000000000007");
        assert!(axis(2.0, 90.0, false).0 >= 0.0);
        assert!(axis(-90.0, 90.0, true).0.abs() < f64::EPSILON, "a filtered force that rings");
        assert!(axis(-3.0, 90.0, false).0 < -3.0, "room below a quantity that can be negative");
    }
}
