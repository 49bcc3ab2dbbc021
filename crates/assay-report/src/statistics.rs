//! Statistics of a job as sentences.

use assay_model::{JobReport, NOTHING_DRAWN, Statistics, sanitise};

use crate::words::{counted, percent, percent_up};

/// Maximum number of distributions in a sentence.
const SHOWN_RANGES: usize = 8;
/// Maximum length of a distribution in a sentence, in bytes.
const MAX_RANGE_BYTES: usize = 160;

/// Describes that a certification ended before its plan did, and the consequence; `None` if it did not.
pub(crate) fn early_end(report: &JobReport) -> Option<String> {
    let statistics = report.statistics.as_ref().filter(|s| s.target.is_some() && s.episodes < report.num_episodes)?;
    let run = statistics.episodes;
    Some(format!(
        "The plan was {} without a failure; the first failure, in episode {}, ended it, so later episodes don't count.",
        counted(usize::try_from(report.num_episodes).unwrap_or(usize::MAX), "episode"),
        run.saturating_sub(1)
    ))
}

/// Returns sentences about the bound, the episodes needed, the certification and its early end.
pub(crate) fn sentences(report: &JobReport) -> Vec<String> {
    let mut out = report.statistics.as_ref().map(of).unwrap_or_default();
    out.extend(early_end(report));
    out.extend(worlds(report));
    out
}

/// Describes how many worlds the episodes ran in, and what was drawn for them.
fn worlds(report: &JobReport) -> Option<String> {
    let ranges = report.drawn_ranges.as_ref()?;
    let distinct = report.statistics.and_then(|statistics| statistics.distinct_worlds);
    let count = distinct.map(|distinct| {
        let episodes = report.statistics.map_or(0, |statistics| statistics.episodes);
        format!("{} in {}", counted(distinct as usize, "different world"), counted(episodes as usize, "episode"))
    });
    let drawn = match ranges.len() {
        0 => "the scenario draws nothing".to_owned(),
        all => {
            let shown: Vec<_> = ranges.iter().take(SHOWN_RANGES).map(|range| line(&range.to_string())).collect();
            let more = all.saturating_sub(SHOWN_RANGES);
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            format!("drawn for each: {}{more}", shown.join("; "))
        }
    };
    Some(match count {
        Some(count) => format!("{count}; {drawn}."),
        None => format!("Worlds: {drawn}."),
    })
}

fn line(text: &str) -> String {
    sanitise(text, MAX_RANGE_BYTES).replace(['\n', '\t'], " ")
}

fn of(statistics: &Statistics) -> Vec<String> {
    let mut out = vec![bound(statistics)];
    match (statistics.target, statistics.certified) {
        (Some(target), Some(true)) => out.push(format!(
            "Certified: the violation probability is at most {} at {} confidence.",
            percent(target),
            percent(statistics.confidence_level)
        )),
        (Some(target), Some(false)) => {
            let why = if is_one_observation(statistics) { format!(" ({NOTHING_DRAWN})") } else { String::new() };
            out.push(format!("Not certified: the target was {}{why}.", percent(target)));
        }
        _ => {}
    }
    out
}

fn bound(statistics: &Statistics) -> String {
    let Statistics { episodes, violations, without_evidence, violation_probability_upper: upper, .. } = *statistics;
    let confidence = percent(statistics.confidence_level);
    if is_one_observation(statistics) {
        let so = if upper >= 1.0 {
            "the violation probability is unbounded".to_owned()
        } else {
            format!("the violation probability is below {} at {confidence} confidence", percent_up(upper))
        };
        return format!("{episodes} episodes of a scenario that draws nothing are one observation: {so}.");
    }
    let needed = format!(
        "{} clean episodes are needed to show < {}",
        statistics.episodes_needed,
        percent(reference(statistics))
    );
    if violations + without_evidence == 0 {
        let (count, verb) = if episodes == 1 {
            ("1 clean episode".to_owned(), "bounds")
        } else {
            (format!("{episodes} clean episodes"), "bound")
        };
        let upper = percent_up(upper);
        return format!("{count} {verb} the violation probability below {upper} at {confidence} confidence; {needed}.");
    }
    let mut parts = Vec::new();
    if violations > 0 {
        parts.push(format!("{violations} of {episodes} episodes violated a critical clause"));
    }
    if without_evidence > 0 {
        parts.push(format!("{without_evidence} of {episodes} episodes gave no evidence and count as violations"));
    }
    let so = if upper >= 1.0 {
        "so the violation probability is unbounded".to_owned()
    } else {
        format!("so the violation probability is below {} at {confidence} confidence", percent_up(upper))
    };
    format!("{}, {so}; {needed}.", parts.join(", "))
}

/// Returns whether several episodes are one observation, because the scenario draws nothing.
pub(crate) fn is_one_observation(statistics: &Statistics) -> bool {
    statistics.sample_size.is_some_and(|size| size < statistics.episodes)
}

/// Returns the violation probability that `episodes_needed` refers to.
pub(crate) fn reference(statistics: &Statistics) -> f64 {
    statistics.target.unwrap_or(statistics.max_violation_probability)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::{confidence_below, episodes_needed, violation_upper_bound};

    fn statistics(episodes: u32, violations: u32, without_evidence: u32, target: Option<f64>) -> Statistics {
        let upper = violation_upper_bound(violations + without_evidence, episodes, 0.95);
        Statistics {
            episodes,
            violations,
            without_evidence,
            violation_probability_upper: upper,
            confidence_level: 0.95,
            target,
            certified: target.map(|p| upper <= p),
            episodes_needed: episodes_needed(target.unwrap_or(0.1), 0.95),
            max_violation_probability: 0.1,
            confidence: confidence_below(0.1, violations + without_evidence, episodes),
            sample_size: Some(episodes),
            distinct_worlds: None,
        }
    }

    #[test]
    fn three_clean_episodes() {
        assert_eq!(
            of(&statistics(3, 0, 0, None)),
            [
                "3 clean episodes bound the violation probability below 63.2 % at 95 % confidence; 29 clean episodes are needed to show < 10 %."
            ]
        );
    }

    #[test]
    fn a_target_is_certified_or_not() {
        let met = of(&statistics(59, 0, 0, Some(0.05)));
        assert_eq!(met[1], "Certified: the violation probability is at most 5 % at 95 % confidence.");
        let missed = of(&statistics(10, 1, 2, Some(0.05)));
        assert!(
            missed[0].starts_with("1 of 10 episodes violated a critical clause, 2 of 10 episodes gave no evidence")
        );
        assert_eq!(missed[1], "Not certified: the target was 5 %.");
    }

    #[test]
    fn nothing_is_bounded_when_every_episode_failed() {
        assert!(of(&statistics(2, 2, 0, None))[0].contains("is unbounded"));
    }
}
