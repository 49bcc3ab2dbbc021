//! Reviews, which leave measurements unchanged.

use assay_model::{AccountId, JobStatus, Review, ReviewDecision};
use assay_store::{MAX_REVIEWS, Records, ReviewOutcome};

use super::conclusions::{judging, take};
use super::fixtures::{at, key, outcome, signed};

fn review(decision: ReviewDecision, second: i64) -> Review {
    Review { decision, reason: "I looked at the video.".into(), reviewer: "safety".into(), at: at(second) }
}

pub(super) async fn stand_beside_the_result(records: &dyn Records) {
    let id = judging(records).await;
    let key = key("k1", "safety").id;
    let accepted = review(ReviewDecision::Accepted, 5);
    let early = records.review_job(None, id, &key, accepted.clone()).await.unwrap();
    assert_eq!(early, ReviewOutcome::Not(JobStatus::Judging), "nothing to review yet");
    let taken = take(records, 3).await;
    let found = outcome(&taken.header, &taken.episodes);
    assert!(records.complete_job(taken.fence, found, signed(), at(4)).await.unwrap());
    let before = records.job(None, id).await.unwrap().unwrap();
    assert_eq!(before.review, None);

    let stranger: AccountId = "other".parse().unwrap();
    assert_eq!(records.review_job(Some(&stranger), id, &key, accepted.clone()).await.unwrap(), ReviewOutcome::NotFound);
    assert_eq!(records.review_job(None, id, &key, accepted).await.unwrap(), ReviewOutcome::Done);
    let rejected = review(ReviewDecision::Rejected, 6);
    assert_eq!(
        records.review_job(Some(&before.account), id, &key, rejected.clone()).await.unwrap(),
        ReviewOutcome::Done
    );
    let after = records.job(None, id).await.unwrap().unwrap();
    assert_eq!(after.review, Some(rejected.clone()), "the last one is shown");
    assert_eq!(after.state, before.state, "the measurements are unchanged");
    let (page, _) = records.jobs(&assay_store::JobFilter { limit: 1, ..Default::default() }).await.unwrap();
    assert_eq!(page[0].report(&[]).review, Some(rejected));
}

pub(super) async fn are_bounded(records: &dyn Records) {
    let id = judging(records).await;
    let taken = take(records, 3).await;
    let found = outcome(&taken.header, &taken.episodes);
    assert!(records.complete_job(taken.fence, found, signed(), at(4)).await.unwrap());
    let key = key("k1", "safety").id;
    for number in 0..=MAX_REVIEWS {
        let done = records.review_job(None, id, &key, review(ReviewDecision::NeedsEvidence, 5)).await.unwrap();
        assert_eq!(done, if number < MAX_REVIEWS { ReviewOutcome::Done } else { ReviewOutcome::TooMany });
    }
}
