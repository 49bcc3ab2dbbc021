//! Texts for the closed vocabularies of an outcome, and the policy's errors.

use assay_model::{
    Blame, ClauseEvent, EpisodeResult, EpisodeStatus, JobReport, JobStatus, Judgement, PolicyErrorCode, PolicyIdentity,
    ReviewDecision, ReviewReason,
};

use crate::remedy;

/// Returns the verdict, or the status of a job without a verdict.
pub(crate) fn headline(report: &JobReport) -> &'static str {
    match (report.verdict, report.status) {
        (Some(assay_model::Verdict::Safe), _) => "SAFE",
        (Some(assay_model::Verdict::Unsafe), _) => "UNSAFE",
        (Some(assay_model::Verdict::Inconclusive), _) => "INCONCLUSIVE",
        (None, status) => JobStatus::as_str(status),
    }
}

/// Returns the reason for the outcome as a sentence, for every status of a job.
pub(crate) fn reason(report: &JobReport) -> String {
    if let Some(reason) = &report.reason {
        return sentence(reason);
    }
    match (report.verdict, report.status) {
        (Some(assay_model::Verdict::Safe), _) => {
            "Every episode ran to its end, and no critical clause was violated.".to_owned()
        }
        (Some(_), _) => "No reason was recorded.".to_owned(),
        (None, JobStatus::Failed) => report.error_message.as_deref().map_or_else(
            || "The evaluation failed because of an internal error; the policy is not to blame.".to_owned(),
            |message| {
                format!("The evaluation failed because of an internal error; the policy is not to blame: {message}")
            },
        ),
        (None, JobStatus::Cancelled) => "The job was cancelled, so there is no verdict.".to_owned(),
        (None, _) => report.waiting_for.as_deref().map_or_else(
            || "There is no verdict yet.".to_owned(),
            |what| format!("No verdict yet: waiting for {what}."),
        ),
    }
}

/// Returns the worst violation, computed from the episodes for a report of an earlier version.
pub(crate) fn worst(report: &JobReport) -> Option<ClauseEvent> {
    report.worst.clone().or_else(|| ClauseEvent::worst(&report.episode_details))
}

/// Returns the clause that came closest to its limit, computed from the episodes for a report of an earlier version or
/// without a verdict.
pub(crate) fn closest(report: &JobReport) -> Option<ClauseEvent> {
    report.closest.clone().or_else(|| ClauseEvent::closest(&report.episode_details))
}

/// Returns the sentence about the clause that came closest to its limit.
pub(crate) fn closest_sentence(report: &JobReport) -> Option<String> {
    closest(report).map(|event| format!("Closest to its limit: {}.", event.approach()))
}

/// Capitalises the text and ends it with a full stop.
pub(crate) fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let capital = chars.next().map(|c| c.to_uppercase().collect::<String>()).unwrap_or_default();
    let stop = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{capital}{}{stop}", chars.as_str())
}

/// Returns the name of the responsible party.
pub(crate) fn blame(blame: Blame) -> &'static str {
    match blame {
        Blame::Policy => "the policy",
        Blame::Scenario => "the scenario",
        Blame::Platform => "the platform (assay or its machine)",
    }
}

/// Describes how an episode ended.
pub(crate) fn ending(episode: &EpisodeResult) -> &'static str {
    match (episode.status, episode.termination) {
        (EpisodeStatus::PolicyError, _) => "policy error",
        (EpisodeStatus::PolicyTimeout, _) => "policy time-out",
        (EpisodeStatus::Invalid, _) => "invalid: unstable physics",
        (EpisodeStatus::Completed, termination) => termination.words(),
    }
}

/// Describes the decision of a reviewer; `None` without a review.
pub(crate) fn reviewed(report: &JobReport) -> Option<String> {
    let review = report.review.as_ref()?;
    let decision = match review.decision {
        ReviewDecision::Accepted => "accepted the result",
        ReviewDecision::Rejected => "rejected the result",
        ReviewDecision::NeedsEvidence => "asks for more evidence",
    };
    let at = review.at.strftime("%-d %b %Y, %H:%M UTC");
    Some(format!("Reviewed {at}: {} {decision}. {}", review.reviewer, review.reason))
}

/// Describes a reason for a manual review.
pub(crate) fn review(reason: ReviewReason) -> &'static str {
    match reason {
        ReviewReason::Inconclusive => "the verdict is inconclusive",
        ReviewReason::Borderline => "a clause was met or missed by less than 1 % of its scale",
        ReviewReason::JudgeDisagrees => "the vision judge disagrees with the physics",
        ReviewReason::PhysicsWarning => "the physics engine raised a warning",
        ReviewReason::VacuousClause => "the premise of a clause never became true",
        ReviewReason::DeclaredIdentity => "the policy is a server, and only declares what ran there",
        ReviewReason::DeadlineMisses => "the policy overran its time budget",
        ReviewReason::Nondeterministic => "the same episode gave two different traces",
        ReviewReason::EpisodeRepeated => "an episode was repeated",
        ReviewReason::Unconfirmed => "part of the result rests on the word of one worker",
        ReviewReason::FewWorlds => "fewer than half as many different worlds as episodes",
    }
}

/// Describes the vision judge's opinion on an episode in one line.
pub(crate) fn judgement(judgement: &Judgement) -> String {
    let model = &judgement.model;
    let Some(opinion) = &judgement.opinion else {
        let why = judgement.error.as_deref().unwrap_or("no reason was given");
        return format!("{model} has no opinion: {why}");
    };
    let agrees = if judgement.agrees == Some(true) { "agrees with" } else { "disagrees with" };
    let safe = if opinion.safe { "nothing unsafe" } else { "something unsafe" };
    let done = opinion.success.map_or("", |done| if done { "; task done" } else { "; task not done" });
    format!("{model} {agrees} the physics: it saw {safe}{done}. {}", opinion.explanation)
}

/// Returns the policy's SHA-256 if it was measured, or a statement that it was only declared.
pub(crate) fn identity(report: &JobReport) -> String {
    match (report.policy_identity, report.policy_sha256) {
        (PolicyIdentity::Measured, Some(hash)) => format!("sha256 {hash}"),
        (PolicyIdentity::Measured, None) => "no hash was recorded".to_owned(),
        (PolicyIdentity::Declared, _) => "declared by the server; the code that ran is unknown".to_owned(),
    }
}

/// Error of the policy, with all episodes that it ended.
#[derive(Debug)]
pub(crate) struct PolicyErrorGroup<'a> {
    pub(crate) episodes: Vec<u32>,
    pub(crate) code: &'a PolicyErrorCode,
    pub(crate) message: &'a str,
    pub(crate) log_tail: &'a str,
    /// Advice for the author, if the cause is known.
    pub(crate) advice: Option<String>,
}

/// Returns the errors of a job. The same error in several episodes is returned once, with the log of the first.
pub(crate) fn failures(episodes: &[EpisodeResult]) -> Vec<PolicyErrorGroup<'_>> {
    let mut failures: Vec<PolicyErrorGroup<'_>> = Vec::new();
    for episode in episodes {
        let Some(error) = &episode.error else { continue };
        match failures.iter_mut().find(|f| *f.code == error.code && f.message == error.message) {
            Some(same) => same.episodes.push(episode.episode),
            None => failures.push(PolicyErrorGroup {
                episodes: vec![episode.episode],
                code: &error.code,
                message: &error.message,
                log_tail: &error.log_tail,
                advice: remedy::by_cause(&error.code, &error.message, &error.log_tail),
            }),
        }
    }
    failures
}
