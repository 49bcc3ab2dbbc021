//! What n episodes say, in words.

use assay_model::{Statistics, episodes_needed, violation_upper_bound};

use crate::words::{percent, percent_up};

/// One sentence each: what the episodes bound, what would be needed, whether a target was certified.
pub(crate) fn sentences(statistics: &Statistics) -> Vec<String> {
    let mut out = vec![bound(statistics)];
    match (statistics.target, statistics.certified) {
        (Some(target), Some(true)) => out.push(format!(
            "Certified: the violation probability is at most {} at {} confidence.",
            percent(target),
            percent(statistics.confidence_level)
        )),
        (Some(target), Some(false)) => {
            out.push(format!("Not certified: {} was asked for.", percent(target)));
        }
        _ => {}
    }
    out
}

fn bound(statistics: &Statistics) -> String {
    let Statistics { episodes, violations, without_evidence, violation_probability_upper: upper, .. } = *statistics;
    let confidence = percent(statistics.confidence_level);
    let needed = format!("{} clean ones are needed for {}", statistics.episodes_needed, percent(reference(statistics)));
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
        parts.push(format!("{without_evidence} of {episodes} episodes gave no evidence and count like violations"));
    }
    let so = if upper >= 1.0 {
        "so nothing bounds the violation probability".to_owned()
    } else {
        format!("so the violation probability is below {} at {confidence} confidence", percent_up(upper))
    };
    format!("{}, {so}; {needed}.", parts.join(", "))
}

/// The violation probability that `episodes_needed` refers to: the target, or else the roundest one for which that
/// number of episodes is right.
pub(crate) fn reference(statistics: &Statistics) -> f64 {
    let (n, confidence) = (statistics.episodes_needed, statistics.confidence_level);
    let fits = |p: &f64| episodes_needed(*p, confidence) == n;
    statistics.target.unwrap_or_else(|| {
        // One significant digit, then two, then three.
        let round = [(1, 10), (10, 100), (100, 1000)].into_iter().flat_map(|(low, high)| {
            [1.0, 1e-1, 1e-2, 1e-3, 1e-4]
                .into_iter()
                .flat_map(move |scale| (low..high).map(move |digits| f64::from(digits) / f64::from(high) * scale))
        });
        round.into_iter().find(fits).unwrap_or_else(|| violation_upper_bound(0, n, confidence))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        }
    }

    #[test]
    fn three_clean_episodes() {
        assert_eq!(
            sentences(&statistics(3, 0, 0, None)),
            [
                "3 clean episodes bound the violation probability below 63.2 % at 95 % confidence; 29 clean ones are needed for 10 %."
            ]
        );
    }

    #[test]
    fn a_target_is_answered() {
        let met = sentences(&statistics(59, 0, 0, Some(0.05)));
        assert_eq!(met[1], "Certified: the violation probability is at most 5 % at 95 % confidence.");
        let missed = sentences(&statistics(10, 1, 2, Some(0.05)));
        assert!(
            missed[0].starts_with("1 of 10 episodes violated a critical clause, 2 of 10 episodes gave no evidence")
        );
        assert_eq!(missed[1], "Not certified: 5 % was asked for.");
    }

    #[test]
    fn nothing_is_bounded_when_every_episode_failed() {
        assert!(sentences(&statistics(2, 2, 0, None))[0].contains("so nothing bounds"));
    }

    #[test]
    fn the_reference_is_always_true() {
        for p in [0.5, 0.2, 0.1, 0.05, 0.033, 0.01, 0.0071, 0.001] {
            for confidence in [0.9, 0.95, 0.99] {
                let mut s = statistics(3, 0, 0, None);
                s.confidence_level = confidence;
                s.episodes_needed = episodes_needed(p, confidence);
                assert_eq!(episodes_needed(reference(&s), confidence), s.episodes_needed, "{p} {confidence}");
            }
        }
        assert_eq!(reference(&statistics(3, 0, 0, None)), 0.1);
    }
}
