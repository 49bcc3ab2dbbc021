//! Seasons and submissions.

use assay_model::{
    ArenaEntry, Artifact, Blame, JobId, JobKind, JobStatus, SHOWCASE_EPISODES, SeasonSecret, Sha256Digest, Verdict,
};
use assay_store::{
    AccountCaps, CancelOutcome, ChooseOutcome, JobDemand, JobFailure, JobFilter, JobQuota, NewJob, NewRerun, NewSeason,
    OpenSeasonOutcome, Records, SeasonPins, SeasonState, ShardKind, ShardRequest, SignedDocument, SubmitOutcome,
};

use super::fixtures::{LEASE, at, episode, fingerprint, job, outcome, signed};

const DAILY: u32 = 2;

pub(super) fn season(secret: u8) -> NewSeason {
    NewSeason {
        scenario: "cartpole_keepin".parse().unwrap(),
        pins: SeasonPins {
            scenario_version: "1.0.0".into(),
            scenario_digest: Sha256Digest::new([0; 32]),
            fingerprint: fingerprint(),
            episodes: 2,
            max_score: 500,
            idle_progress: 0.1,
            max_violation_probability: 0.1,
        },
        secret: SeasonSecret::new([secret; 32]),
        opened_at: at(0),
    }
}

pub(super) fn submission(number: u64, account: &str, season: u32) -> NewJob {
    let mut new = job(number, account, 2, 2);
    new.header.arena = Some(ArenaEntry { season, rerun: false, max_score: 500, description: None });
    new
}

/// Submits a job and runs it to its end.
async fn completed(records: &dyn Records, new: NewJob) {
    assert!(matches!(records.submit(new, 100, at(0)).await.unwrap(), SubmitOutcome::Accepted { .. }));
    complete(records).await;
}

async fn complete(records: &dyn Records) {
    while let Some(claim) = records.claim_shard(&ShardRequest::new("w"), at(1), LEASE).await.unwrap() {
        for index in claim.episodes {
            records.record_episode(claim.fence, episode(index), at(2)).await.unwrap();
        }
    }
    while let Some(claim) = records.claim_conclusion("w", at(3), LEASE).await.unwrap() {
        let found = outcome(&claim.header, &claim.episodes);
        assert_eq!(found.conclusion.statistics.episodes, 2, "the showcase does not count");
        assert!(records.complete_job(claim.fence, found, signed(), at(4)).await.unwrap());
    }
}

/// Opens a season, and runs a submission that `change` has changed to its end, at second 4.
pub(super) async fn ended_in_an_open_season(records: &dyn Records, change: fn(NewJob) -> NewJob) -> JobId {
    records.open_season(season(1)).await.unwrap();
    let new = change(submission(1, "lab", 1));
    let id = new.header.job_id;
    completed(records, new).await;
    id
}

pub(super) async fn seasons_follow_each_other(records: &dyn Records) {
    let scenario = season(1).scenario;
    assert_eq!(records.season(&scenario, None).await.unwrap(), None);
    let OpenSeasonOutcome::New(first) = records.open_season(season(1)).await.unwrap() else { panic!("not opened") };
    assert_eq!((first.number, first.state, &first.pins), (1, SeasonState::Open, &season(1).pins));
    assert_eq!(first.commitment, season(1).secret.commitment());
    assert_eq!(records.open_season(season(2)).await.unwrap(), OpenSeasonOutcome::Already(first.clone()));
    let secrets = records.season_secrets(&scenario, 1).await.unwrap().unwrap();
    assert_eq!((secrets.season, secrets.rerun), (season(1).secret, None));

    let fresh = SeasonSecret::new([9; 32]);
    let closing = records.begin_closing_season(&scenario, 3, fresh.clone(), at(5)).await.unwrap().unwrap();
    assert_eq!(closing.state, SeasonState::Closing { since: at(5), top: 3, reruns_begun: false });
    assert_eq!(records.begin_closing_season(&scenario, 3, fresh.clone(), at(6)).await.unwrap(), None);
    assert!(matches!(records.open_season(season(2)).await.unwrap(), OpenSeasonOutcome::Already(_)));
    assert_eq!(records.season_secrets(&scenario, 1).await.unwrap().unwrap().rerun, Some(fresh));
    assert!(!records.finish_closing_season(&scenario, 1, at(7)).await.unwrap(), "its reruns were not queued yet");
    assert!(records.begin_reruns(&scenario, 1, vec![], at(7)).await.unwrap());
    assert!(records.finish_closing_season(&scenario, 1, at(8)).await.unwrap());
    assert!(!records.finish_closing_season(&scenario, 1, at(9)).await.unwrap(), "once");
    let OpenSeasonOutcome::New(second) = records.open_season(season(2)).await.unwrap() else { panic!("not opened") };
    let numbers: Vec<_> = records.seasons(None).await.unwrap().iter().map(|s| (s.number, s.state)).collect();
    assert_eq!(numbers, [(2, SeasonState::Open), (1, SeasonState::Closed { at: at(8) })]);
    assert_eq!(records.season(&scenario, None).await.unwrap(), Some(second));
}

pub(super) async fn submissions_per_day_are_bounded(records: &dyn Records) {
    assert_eq!(records.submit(submission(1, "lab", 1), DAILY, at(0)).await.unwrap(), SubmitOutcome::NotOpen);
    records.open_season(season(1)).await.unwrap();
    for number in 1..=2 {
        let shards = 1 + SHOWCASE_EPISODES.div_ceil(2);
        let accepted = records.submit(submission(number, "lab", 1), DAILY, at(0)).await.unwrap();
        assert_eq!(accepted, SubmitOutcome::Accepted { shards });
    }
    assert_eq!(records.submit(submission(3, "lab", 1), DAILY, at(0)).await.unwrap(), SubmitOutcome::TooMany);
    let other = records.submit(submission(4, "other", 1), DAILY, at(0)).await.unwrap();
    assert!(matches!(other, SubmitOutcome::Accepted { .. }), "each account has its own");
    let failure = JobFailure { blame: Blame::Platform, message: "the disk is full".into() };
    assert!(records.fail_job(submission(1, "lab", 1).header.job_id, failure, at(1)).await.unwrap());
    let later = |number, second| {
        let mut later = submission(number, "lab", 1);
        later.header.created_at = at(second);
        later
    };
    assert_eq!(
        records.submit(later(5, 14), DAILY, at(0)).await.unwrap(),
        SubmitOutcome::TooMany,
        "the failure is not published yet"
    );
    let again = records.submit(later(5, 15), DAILY, at(0)).await.unwrap();
    assert!(matches!(again, SubmitOutcome::Accepted { .. }), "a failure of the platform is given back");
    records.cancel_job(None, submission(2, "lab", 1).header.job_id, at(1)).await.unwrap();
    assert_eq!(records.submit(submission(6, "lab", 1), DAILY, at(0)).await.unwrap(), SubmitOutcome::TooMany);
    assert!(matches!(
        records.submit(submission(7, "lab", 1), DAILY, at(1)).await.unwrap(),
        SubmitOutcome::Accepted { .. }
    ));
}

pub(super) async fn kinds_are_listed_apart(records: &dyn Records) {
    records.open_season(season(1)).await.unwrap();
    records.create_job(job(1, "lab", 2, 1)).await.unwrap();
    records.submit(submission(2, "lab", 1), DAILY, at(0)).await.unwrap();
    for (kind, number) in [(JobKind::Verify, 1), (JobKind::Submission, 2)] {
        let filter = JobFilter { kind, limit: 10, ..JobFilter::default() };
        let (found, total) = records.jobs(&filter).await.unwrap();
        assert_eq!((found.len(), total), (1, 1), "{kind:?}");
        assert_eq!((found[0].header.kind(), found[0].header.job_id), (kind, job(number, "lab", 2, 1).header.job_id));
    }
}

pub(super) async fn the_latest_counts_or_the_chosen(records: &dyn Records) {
    records.open_season(season(1)).await.unwrap();
    let scenario = season(1).scenario;
    for (number, account) in [(1, "lab"), (2, "lab"), (3, "other")] {
        completed(records, submission(number, account, 1)).await;
    }
    records.submit(submission(4, "lab", 1), 100, at(0)).await.unwrap();
    let standing = async || {
        let found = records.season_standing(&scenario, 1, None).await.unwrap();
        found.into_iter().map(|job| job.header.policy_name).collect::<Vec<_>>()
    };
    assert_eq!(standing().await, ["policy 2", "policy 3"], "the one that has no result yet does not count");
    let id = |number| submission(number, "lab", 1).header.job_id;
    let (lab, other) = ("lab".parse().unwrap(), "other".parse().unwrap());
    assert_eq!(records.choose_submission(Some(&other), id(1)).await.unwrap(), ChooseOutcome::NotFound);
    assert_eq!(records.choose_submission(Some(&lab), id(4)).await.unwrap(), ChooseOutcome::NotCompleted);
    assert_eq!(records.choose_submission(Some(&lab), id(1)).await.unwrap(), ChooseOutcome::Done);
    assert_eq!(standing().await, ["policy 1", "policy 3"]);
    complete(records).await;
    assert_eq!(standing().await, ["policy 1", "policy 3"], "a choice holds");
    assert_eq!(records.choose_submission(Some(&lab), id(4)).await.unwrap(), ChooseOutcome::Done);
    assert_eq!(standing().await, ["policy 3", "policy 4"]);
    records.begin_closing_season(&scenario, 1, SeasonSecret::new([2; 32]), at(9)).await.unwrap();
    assert_eq!(records.choose_submission(Some(&lab), id(1)).await.unwrap(), ChooseOutcome::NotOpen);
    assert_eq!(records.submit(submission(8, "lab", 1), 100, at(0)).await.unwrap(), SubmitOutcome::NotOpen);
}

pub(super) async fn a_season_closes_after_its_last_runs(records: &dyn Records) {
    records.open_season(season(1)).await.unwrap();
    let scenario = season(1).scenario;
    completed(records, submission(1, "lab", 1)).await;
    records.submit(submission(2, "lab", 1), 100, at(0)).await.unwrap();
    records.begin_closing_season(&scenario, 1, SeasonSecret::new([2; 32]), at(5)).await.unwrap();
    assert_eq!(records.unfinished_season_jobs(&scenario, 1).await.unwrap(), 1);
    complete(records).await;
    assert_eq!(records.unfinished_season_jobs(&scenario, 1).await.unwrap(), 0);
    let again = || {
        let mut job = submission(9, "lab", 1);
        job.header.arena = Some(ArenaEntry { season: 1, rerun: true, max_score: 500, description: None });
        vec![NewRerun { of: submission(1, "lab", 1).header.job_id, job }]
    };
    assert!(records.begin_reruns(&scenario, 1, again(), at(6)).await.unwrap());
    assert!(!records.begin_reruns(&scenario, 1, again(), at(6)).await.unwrap(), "once");
    assert!(!records.finish_closing_season(&scenario, 1, at(7)).await.unwrap(), "they have not ended");
    complete(records).await;
    assert!(records.finish_closing_season(&scenario, 1, at(8)).await.unwrap());
    let reruns = records.reruns(&scenario, 1).await.unwrap();
    assert_eq!(reruns.len(), 1);
    assert_eq!((reruns[0].0, reruns[0].1.header.kind()), (submission(1, "lab", 1).header.job_id, JobKind::Rerun));
    assert_eq!(reruns[0].1.episodes_done, 2, "without a showcase");
}

pub(super) async fn what_runs_in_secret_worlds_shows_when_it_is_published(records: &dyn Records) {
    records.open_season(season(1)).await.unwrap();
    let (scenario, lab) = (season(1).scenario, "lab".parse().unwrap());
    let mut new = submission(1, "lab", 1);
    let caps = AccountCaps { jobs_per_day: 99, active_jobs: 99, queued_sim_s: 9999, stored_bytes: u64::MAX };
    new.quota = Some(JobQuota { caps, ask: JobDemand { sim_s: 30, stored_bytes: 1000 } });
    let id = new.header.job_id;
    records.submit(new, DAILY, at(0)).await.unwrap();
    records.create_job(job(2, "lab", 1, 1)).await.unwrap();
    let line = records.queue_snapshot(100, at(1)).await.unwrap();
    assert_eq!(line.shards.iter().map(|shard| shard.job_id).collect::<Vec<_>>(), [job(2, "lab", 1, 1).header.job_id]);
    assert_eq!((line.hidden.len(), line.hidden[0].job_id, line.hidden[0].started_at), (1, id, None));

    assert_eq!(
        records.claim_shard(&ShardRequest::new("w").of_kind(ShardKind::Secret), at(1), LEASE).await.unwrap(),
        None,
        "the showcase comes first"
    );
    let showcase = records.claim_shard(&ShardRequest::new("w"), at(1), LEASE).await.unwrap().unwrap();
    assert!(!showcase.is_secret() && showcase.episodes == [2], "and has a shard of its own: {showcase:?}");
    records.record_episode(showcase.fence, episode(2), at(2)).await.unwrap();
    let secret =
        records.claim_shard(&ShardRequest::new("w").of_kind(ShardKind::Secret), at(2), LEASE).await.unwrap().unwrap();
    assert!(secret.is_secret() && secret.episodes == [0, 1], "{secret:?}");
    assert_eq!(
        records.claim_shard(&ShardRequest::new("w").of_kind(ShardKind::Secret), at(2), LEASE).await.unwrap(),
        None,
        "a verification is next"
    );
    for (index, second) in [(0, 2), (1, 9)] {
        let evidence = vec![Artifact { name: "trace".into(), sha256: Sha256Digest::new([0; 32]), size_bytes: 77 }];
        let result = assay_model::EpisodeResult { evidence, ..episode(index) };
        records.record_episode(secret.fence, result, at(second)).await.unwrap();
    }
    let line = records.queue_snapshot(100, at(10)).await.unwrap();
    assert_eq!((line.episode_durations, line.conclusion_s), (vec![], None), "how long they took is not measured");
    let claim = records.claim_conclusion("w", at(13), LEASE).await.unwrap().unwrap();
    let found = outcome(&claim.header, &claim.episodes);
    assert!(records.complete_job(claim.fence, found, signed(), at(13)).await.unwrap());

    let seen = async |second| {
        let line = records.queue_snapshot(100, at(second)).await.unwrap();
        let usage = records.account_usage(&lab, at(second)).await.unwrap();
        let standing = records.season_standing(&scenario, 1, Some(at(second))).await.unwrap().len();
        (line.hidden.len(), line.conclusion_s, usage.active_jobs, usage.queued_sim_s, usage.stored_bytes, standing)
    };
    // It ended at 13 s, which is published at 15 s.
    assert_eq!(seen(14).await, (1, None, 2, 30, 1000, 0));
    assert_eq!(seen(15).await, (0, None, 1, 0, 1000, 1));
    let paces = async |second| records.queue_snapshot(100, at(second)).await.unwrap().episode_durations;
    assert_eq!(paces(14).await, []);
    assert!((paces(15).await[0].seconds - 0.1).abs() < 1e-9, "the time of the published showcase");
}

pub(super) async fn are_listed_by_what_is_published(records: &dyn Records) {
    records.open_season(season(1)).await.unwrap();
    completed(records, submission(1, "lab", 1)).await;
    let total = async |status: Option<JobStatus>, verdict, published_by| {
        let filter =
            JobFilter { kind: JobKind::Submission, status, verdict, published_by, limit: 10, ..JobFilter::default() };
        let (found, total) = records.jobs(&filter).await.unwrap();
        assert_eq!(found.len() as u64, total);
        total
    };
    let (queued, done) = (Some(JobStatus::Queued), Some(JobStatus::Completed));
    let safe = Some(Verdict::Safe);
    assert_eq!((total(done, safe, None).await, total(queued, None, None).await), (1, 0), "by the actual state");
    // It ended at 4 s, which is published at 15 s.
    for (second, is_published) in [(4, false), (14, false), (15, true)] {
        let by = Some(at(second));
        let (hidden, shown) = (u64::from(!is_published), u64::from(is_published));
        assert_eq!((total(queued, None, by).await, total(done, None, by).await), (hidden, shown), "{second}");
        assert_eq!((total(None, safe, by).await, total(queued, safe, by).await), (shown, 0), "{second}");
        assert_eq!(total(None, Some(Verdict::Unsafe), by).await, 0, "{second}");
    }
    let scenario = season(1).scenario;
    records.begin_closing_season(&scenario, 0, SeasonSecret::new([2; 32]), at(5)).await.unwrap();
    assert_eq!(total(done, safe, Some(at(5))).await, 0, "a season that is closing is not closed");
    records.begin_reruns(&scenario, 1, vec![], at(5)).await.unwrap();
    assert!(records.finish_closing_season(&scenario, 1, at(5)).await.unwrap());
    assert_eq!(total(done, safe, Some(at(5))).await, 1, "everything is published of a closed season");
}

pub(super) async fn an_end_that_is_not_published_can_be_cancelled(records: &dyn Records) {
    records.open_season(season(1)).await.unwrap();
    completed(records, submission(1, "lab", 1)).await;
    let id = submission(1, "lab", 1).header.job_id;
    let status = async |id| records.job(None, id).await.unwrap().unwrap().state.status();
    assert_eq!(records.cancel_job(None, id, at(14)).await.unwrap(), CancelOutcome::Done, "it ended at 4 s");
    assert_eq!(status(id).await, JobStatus::Cancelled);
    assert_eq!(records.signed_document(id, SignedDocument::Statement).await.unwrap(), None);
    assert_eq!(records.cancel_job(None, id, at(14)).await.unwrap(), CancelOutcome::Already(JobStatus::Cancelled));
    assert_eq!(records.season_standing(&season(1).scenario, 1, None).await.unwrap(), []);

    completed(records, submission(2, "lab", 1)).await;
    let id = submission(2, "lab", 1).header.job_id;
    assert_eq!(records.cancel_job(None, id, at(15)).await.unwrap(), CancelOutcome::Already(JobStatus::Completed));

    records.submit(submission(3, "lab", 1), 100, at(0)).await.unwrap();
    let id = submission(3, "lab", 1).header.job_id;
    let failure = JobFailure { blame: Blame::Platform, message: "the disk is full".into() };
    assert!(records.fail_job(id, failure, at(1)).await.unwrap());
    assert_eq!(records.cancel_job(None, id, at(2)).await.unwrap(), CancelOutcome::Done);
    assert_eq!(records.account_usage(&"lab".parse().unwrap(), at(20)).await.unwrap().jobs_today, 3);
    assert_eq!(records.submit(submission(4, "lab", 1), 3, at(0)).await.unwrap(), SubmitOutcome::TooMany, "it counts");
}
