//! Conformance suites for the backends of `assay-store`, and small values for tests of the crates that use it. For
//! tests only.
//!
//! Where to begin: a backend's tests run [`records`], [`shared_store`] and [`queue`].
#![expect(clippy::unwrap_used, reason = "a suite of tests")]

mod accesses;
mod arena;
mod attempts;
mod certifications;
mod community;
mod conclusions;
mod events;
mod fixtures;
mod idempotency;
mod jobs;
mod keys;
mod leases;
mod models;
mod queue;
mod queue_snapshot;
mod quotas;
mod removals;
mod renders;
mod reviews;
mod sessions;
mod shards;
mod shared_store;
mod webhooks;
mod worker_conduct;
mod workers;

pub use fixtures::{at, episode, fingerprint, job, key, outcome, signed};
pub use queue::queue;

use std::sync::Arc;

use assay_store::Records;

/// Runs every case against a fresh store that `make` returns.
///
/// # Panics
/// Panics if the backend does not conform.
pub async fn records<R: Records, M: AsyncFn() -> R>(make: M) {
    macro_rules! run {
        ($($case:path),* $(,)?) => { $( $case(&make().await).await; )* };
    }
    run![
        keys::come_back_as_they_were,
        keys::are_unique,
        keys::end_by_revocation,
        keys::the_last_admin_stays,
        keys::are_rotated_in_one_step,
        keys::first_key_is_first_once,
        jobs::come_back_as_they_were,
        jobs::are_unique,
        jobs::belong_to_their_account,
        jobs::are_listed_newest_first,
        jobs::can_be_cancelled,
        jobs::can_be_failed_once,
        shards::cover_each_episode_once,
        shards::run_a_job_to_judging,
        shards::are_fair_between_accounts,
        shards::refuse_foreign_episodes,
        shards::released_ones_count_no_failure,
        shards::failing_too_often_fails_the_job,
        shards::progress_forgives_failures,
        shards::parallel_claims_never_meet,
        shards::of_policy_servers_are_claimed_apart,
        certifications::end_at_their_first_failure,
        certifications::fence_whoever_is_further,
        leases::a_stale_worker_is_fenced,
        leases::a_repeated_answer_is_a_duplicate,
        leases::a_heartbeat_keeps_the_shard,
        leases::lapses_are_bounded,
        leases::an_ended_job_loses_its_workers,
        attempts::a_violation_outlives_the_worker_that_saw_it,
        attempts::notes_are_bounded_and_violations_are_always_kept,
        attempts::a_postponed_shard_waits_and_counts_no_failure,
        attempts::shards_of_other_accounts_can_be_asked_for,
        attempts::a_claim_takes_no_excluded_shard,
        conclusions::are_drawn_once,
        conclusions::a_dead_worker_is_replaced,
        conclusions::a_judgement_only_adds,
        conclusions::failing_too_often_fails_the_job,
        conclusions::lapses_are_bounded,
        events::tell_of_every_change,
        events::tell_why_a_job_failed,
        events::are_not_told_twice,
        events::of_several_jobs_are_read_together,
        queue_snapshot::tells_who_waits_and_who_works,
        queue_snapshot::tells_how_long_things_take,
        sessions::come_back_as_they_were,
        sessions::are_bounded,
        accesses::come_back_newest_first,
        accesses::are_recorded_once_a_minute,
        quotas::of_a_day_come_again,
        quotas::of_jobs_that_have_not_ended_are_given_back,
        quotas::of_the_disk_count_an_archive_once,
        quotas::admit_exactly_as_many_as_fit,
        quotas::leave_no_answer_behind,
        shards::take_turns_on_a_single_lane,
        reviews::stand_beside_the_result,
        reviews::are_bounded,
        removals::erase_all_but_the_record,
        removals::erase_what_was_signed,
        removals::go_by_age,
        renders::follow_the_verdict,
        renders::a_dead_renderer_is_replaced,
        renders::are_given_to_workers_on_other_hosts,
        renders::failing_too_often_leaves_a_note,
        renders::go_with_their_job,
        renders::end_with_a_certification,
        renders::can_be_asked_for,
        idempotency::are_given_again,
        idempotency::come_with_their_job,
        idempotency::block_nobody_for_ever,
        idempotency::are_forgotten,
        arena::seasons_follow_each_other,
        arena::submissions_per_day_are_bounded,
        arena::kinds_are_listed_apart,
        arena::the_latest_counts_or_the_chosen,
        arena::a_season_closes_after_its_last_runs,
        arena::what_runs_in_secret_worlds_shows_when_it_is_published,
        arena::are_listed_by_what_is_published,
        arena::an_end_that_is_not_published_can_be_cancelled,
        community::versions_stay_what_they_are,
        community::the_highest_version_counts,
        community::deleted_names_are_not_given_again,
        community::are_counted_by_the_day,
        community::failures_are_counted_by_the_day,
        community::are_found,
        webhooks::secrets_overlap,
        webhooks::are_due_when_their_job_has_ended,
        webhooks::of_busy_accounts_wait,
        webhooks::are_listed_and_bounded,
        webhooks::wait_until_an_end_is_published,
        models::come_back_as_they_were,
        models::count_against_a_quota_from_the_announcement,
        models::are_needed_by_their_jobs,
        models::expire,
        models::go_when_they_are_not_used,
        workers::come_back_as_they_were,
        workers::claim_what_they_can_run,
        workers::of_one_machine_run_all_of_a_job,
        workers::lose_their_leases_when_they_start_again_or_are_revoked,
        workers::that_lie_are_quarantined,
        worker_conduct::claims_without_a_result_are_counted,
        worker_conduct::a_shard_is_left_to_others_once,
        worker_conduct::evidence_and_failed_audits_are_counted,
        worker_conduct::is_forgotten_when_the_job_ends,
    ];
}

/// Runs every case of two handles on one store, which `make` returns: two processes' if the backend allows them.
/// Needs a runtime with several threads.
///
/// # Panics
/// Panics if the backend does not conform.
pub async fn shared_store<R: Records + 'static, M: AsyncFn() -> [R; 2]>(make: M) {
    macro_rules! run {
        ($($case:path),* $(,)?) => { $(
            let [first, second] = make().await;
            $case(&[Arc::new(first) as Arc<dyn Records>, Arc::new(second)]).await;
        )* };
    }
    run![
        shared_store::claims_never_meet,
        shared_store::claims_are_fair,
        shared_store::results_are_written_once,
        shared_store::results_meet_cancellations_and_ends,
        shared_store::followers_skip_no_event,
        shared_store::caps_are_exact,
        shared_store::a_job_is_accepted_once,
        shared_store::an_idempotency_key_is_claimed_once,
        shared_store::conclusions_are_drawn_once,
        shared_store::expired_leases_are_taken_once,
        shared_store::a_key_revoked_elsewhere_is_refused,
        worker_conduct::is_counted_over_processes,
    ];
}
