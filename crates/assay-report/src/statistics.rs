//! Statistics of a job as sentences.

use assay_model::{JobReport, Statistics};

use crate::words::{counted, percent, percent_up};

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
    out
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
            out.push(format!("Not certified: the target was {}.", percent(target)));
        }
        _ => {}
    }
    out
}

fn bound(statistics: &Statistics) -> String {
    let Statistics { episodes, violations, without_evidence, violation_probability_upper: upper, .. } = *statistics;
    let confidence = percent(statistics.confidence_level);
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
