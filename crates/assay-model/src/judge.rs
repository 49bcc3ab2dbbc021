//! A vision model's opinions on episodes. An opinion never changes a measurement; it can only recommend a manual
//! review.

use crate::{Artifact, EpisodeResult, Judgement, Opinion};

impl Opinion {
    /// Returns whether the opinion agrees with the physics of `episode` on critical violations and, if it states it, on
    /// success.
    #[must_use]
    pub fn agrees_with(&self, episode: &EpisodeResult) -> bool {
        self.safe != episode.has_critical_violation() && self.success.is_none_or(|success| success == episode.success)
    }
}

impl EpisodeResult {
    /// Adds the judge's answer, and the frames that it saw as evidence. Measurements are unchanged.
    pub fn add_judgement(&mut self, judgement: Judgement, frames: Vec<Artifact>) {
        self.judge = Some(judgement);
        self.evidence.extend(frames);
        self.evidence.sort_by(|a, b| a.name.cmp(&b.name));
    }
}

/// Returns `false` if the judge disagrees in any judged episode, `true` if it has an opinion on at least one episode
/// and agrees in all of them, and `None` otherwise.
#[must_use]
pub fn agreement(episodes: &[EpisodeResult]) -> Option<bool> {
    let agrees = |episode: &EpisodeResult| episode.judge.as_ref().and_then(|judgement| judgement.agrees);
    episodes.iter().filter_map(agrees).reduce(|all, agrees| all && agrees)
}

/// Returns the indices in `episodes` of at most `most` episodes for a judge: those with the smallest margin of a
/// critical clause, relative to its scale, including violations. Episodes without a recording are skipped.
#[must_use]
pub fn worth_judging(episodes: &[EpisodeResult], most: usize) -> Vec<usize> {
    let recorded =
        |episode: &EpisodeResult| episode.steps > 0 && (episode.is_measured() || episode.has_critical_violation());
    let mut found: Vec<_> = (0..episodes.len()).filter(|i| recorded(&episodes[*i])).collect();
    found.sort_by(|a, b| margin(&episodes[*a]).total_cmp(&margin(&episodes[*b])));
    found.truncate(most);
    found.sort_unstable();
    found
}

/// Returns the smallest robustness of a critical clause, as a share of its scale.
fn margin(episode: &EpisodeResult) -> f64 {
    let critical = episode.clauses.iter().filter(|clause| clause.level == crate::Level::Critical);
    critical.filter_map(|clause| clause.margin()).fold(f64::INFINITY, f64::min)
}

/// Returns at most `most` times of frames for a judge, ascending, between 0 and the episode's end: around the smallest
/// margin, at the end, at the start, and then in the widest gaps.
#[must_use]
pub fn moments(episode: &EpisodeResult, most: usize) -> Vec<f64> {
    /// Distance of the frames before and after the smallest margin, in seconds.
    const AROUND_S: f64 = 0.2;
    /// Gap at or below which no further frame is inserted, in seconds.
    const LEAST_GAP_S: f64 = 0.02;
    let end = episode.sim_time_s.max(0.0);
    let critical = episode.clauses.iter().filter(|clause| clause.level == crate::Level::Critical);
    let worst = critical
        .filter_map(|clause| Some((clause.margin()?, clause.worst_time_s?)))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, time)| time);
    let around = worst.into_iter().flat_map(|time| [time, time - AROUND_S, time + AROUND_S]);
    let mut times: Vec<f64> = Vec::new();
    for time in around.chain([end, 0.0]).map(|time| time.clamp(0.0, end)) {
        if times.len() < most && !times.contains(&time) {
            times.push(time);
        }
    }
    times.sort_by(f64::total_cmp);
    while times.len() < most {
        let gap = |i: &usize| times[i + 1] - times[*i];
        let widest = (0..times.len().saturating_sub(1)).max_by(|a, b| gap(a).total_cmp(&gap(b)));
        let Some(at) = widest.filter(|at| gap(at) > LEAST_GAP_S) else { break };
        times.insert(at + 1, f64::midpoint(times[at], times[at + 1]));
    }
    times
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::conclusion::tests::{clause, episode};
    use crate::{ClauseStatus, EpisodeStatus, Level, Plan, PolicyIdentity, ReviewReason, Verdict, conclude};

    fn with(index: u32, robustness: f64) -> EpisodeResult {
        let status = if robustness < 0.0 { ClauseStatus::Violated } else { ClauseStatus::Satisfied };
        episode(index, EpisodeStatus::Completed, clause(Level::Critical, status, robustness))
    }

    fn judged(index: u32, robustness: f64, safe: bool, success: Option<bool>) -> EpisodeResult {
        let mut episode = with(index, robustness);
        let opinion = Opinion { safe, success, confidence: 0.9, explanation: "seen".into() };
        let agrees = Some(opinion.agrees_with(&episode));
        let (model, frames_s) = ("m".to_owned(), vec![0.0]);
        episode.judge = Some(Judgement { model, frames_s, opinion: Some(opinion), agrees, error: None, tokens: 7 });
        episode
    }

    #[test]
    fn disagreement_only_recommends_a_review() {
        let plan = Plan {
            episodes: 2,
            target: None,
            confidence_level: 0.95,
            max_violation_probability: 0.1,
            draws_worlds: true,
        };
        let of = |episodes: &[EpisodeResult]| conclude(&plan, PolicyIdentity::Measured, episodes).unwrap();
        let plain = of(&[with(0, 20.0), with(1, 20.0)]);
        assert_eq!((plain.vlm_agreement, plain.needs_review), (None, false));
        let agreed = of(&[judged(0, 20.0, true, Some(true)), with(1, 20.0)]);
        assert_eq!((agreed.vlm_agreement, agreed.needs_review), (Some(true), false));
        let doubted = of(&[judged(0, 20.0, false, None), judged(1, 20.0, true, None)]);
        assert_eq!((doubted.vlm_agreement, doubted.verdict), (Some(false), Verdict::Safe));
        assert_eq!(doubted.review_reasons, [ReviewReason::JudgeDisagrees]);
        assert_eq!(doubted.score, plain.score);
        // An opinion cannot excuse a violation either.
        let excused = of(&[judged(0, -5.0, true, None), with(1, 20.0)]);
        assert_eq!((excused.vlm_agreement, excused.verdict), (Some(false), Verdict::Unsafe));
    }

    #[test]
    fn success_counts_if_the_judge_states_it() {
        assert_eq!(judged(0, 20.0, true, Some(false)).judge.unwrap().agrees, Some(false));
        assert_eq!(judged(0, 20.0, true, None).judge.unwrap().agrees, Some(true));
    }

    #[test]
    fn the_tightest_episodes_are_judged() {
        let mut episodes = vec![with(0, 20.0), with(1, 1.0), with(2, -5.0), with(3, 2.0)];
        assert_eq!(worth_judging(&episodes, 2), [1, 2]);
        assert_eq!(worth_judging(&episodes, 9), [0, 1, 2, 3]);
        episodes[2].steps = 0;
        assert_eq!(worth_judging(&episodes, 2), [1, 3], "nothing was recorded of it");
    }

    #[test]
    fn moments_cover_the_worst_time_and_the_whole_episode() {
        let mut episode = with(0, 20.0);
        episode.sim_time_s = 4.0;
        assert_eq!(moments(&episode, 6), [0.0, 0.8, 1.0, 1.2, 2.6, 4.0]);
        assert_eq!(moments(&episode, 1), [1.0]);
        assert!(moments(&episode, 0).is_empty());
        episode.clauses[0].worst_time_s = Some(3.95);
        assert_eq!(moments(&episode, 3), [3.75, 3.95, 4.0], "never after the end");
        episode.clauses[0].worst_time_s = None;
        assert_eq!(moments(&episode, 3), [0.0, 2.0, 4.0]);
        episode.sim_time_s = 0.0;
        assert_eq!(moments(&episode, 3), [0.0]);
    }
}
