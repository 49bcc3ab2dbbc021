//! Rendering after the verdict.

use assay_model::lane::{RenderPart, files};
use assay_model::{
    Artifact, EpisodeResult, JobHeader, JobId, JobStage, JobStatus, Level, Plan, Record, Sha256Digest, Violation,
};
use assay_store::{
    CancelOutcome, EraseOutcome, Lease, MAX_LAPSES, MAX_RENDER_RETRIES, NewJob, NewWorker, Records, RenderChoice,
    RenderClaim, RenderCounts, RenderRequest, RenderRequestOutcome, RenderReturnOutcome, ShardRequest, SignedDocument,
    WorkerName,
};

use super::arena;
use super::fixtures::{LEASE, at, episode, job, outcome, signed};
use super::workers::registration;

fn file(episode: u32, name: &str) -> Artifact {
    Artifact { name: format!("episodes/{episode:03}/{name}"), sha256: Sha256Digest::new([0xab; 32]), size_bytes: 100 }
}

/// Returns a result with a recording, with or without a violation.
fn recorded(index: u32, violated: bool) -> EpisodeResult {
    let violation = Violation {
        clause: "speed".into(),
        level: Level::Critical,
        start_s: 0.1,
        end_s: 0.2,
        onset_value: None,
        peak_s: None,
        value: None,
        limit: 1.0,
        unit: "m/s".into(),
        robustness: Some(-0.5),
        involved: Vec::new(),
    };
    let violations = if violated { vec![violation] } else { Vec::new() };
    EpisodeResult { violations, evidence: vec![file(index, files::TRACE)], ..episode(index) }
}

/// Creates job `number` with these results, whose conclusion is not written yet.
async fn judging(records: &dyn Records, number: u64, record: Record, results: &[EpisodeResult]) -> JobId {
    let episodes = u32::try_from(results.len()).unwrap();
    let new = job(number, "lab", episodes, episodes);
    let id = new.header.job_id;
    records.create_job(NewJob { header: JobHeader { record, ..new.header }, ..new }).await.unwrap();
    let claim = records.claim_shard(&ShardRequest::new("worker"), at(1), LEASE).await.unwrap().unwrap();
    for result in results {
        records.record_episode(claim.fence, result.clone(), at(2)).await.unwrap();
    }
    id
}

async fn complete(records: &dyn Records) {
    let claim = records.claim_conclusion("worker", at(3), LEASE).await.unwrap().unwrap();
    let found = outcome(&claim.header, &claim.episodes);
    assert!(records.complete_job(claim.fence, found, signed(), at(4)).await.unwrap());
}

async fn completed(records: &dyn Records, number: u64, record: Record, results: &[EpisodeResult]) -> JobId {
    let id = judging(records, number, record, results).await;
    complete(records).await;
    id
}

async fn take(records: &dyn Records, seconds: i64) -> Option<RenderClaim> {
    records.claim_render(RenderRequest::new("renderer"), at(seconds), LEASE).await.unwrap()
}

fn place(claim: &RenderClaim) -> (JobId, u32, RenderPart) {
    (claim.fence.job_id, claim.fence.episode, claim.part)
}

async fn counts(records: &dyn Records, id: JobId) -> (u32, u32) {
    let RenderCounts { total, open, .. } = records.job(None, id).await.unwrap().unwrap().renders;
    (total, open)
}

pub(super) async fn follow_the_verdict(records: &dyn Records) {
    let results = [recorded(0, false), recorded(1, false), recorded(2, true), episode(3)];
    let first = judging(records, 1, Record::Violations, &results).await;
    assert_eq!(take(records, 3).await, None, "not before the verdict");
    complete(records).await;
    let second = completed(records, 2, Record::All, &[recorded(0, true)]).await;
    assert_eq!(completed(records, 3, Record::None, &[recorded(0, true)]).await, job(3, "lab", 1, 1).header.job_id);
    assert_eq!((counts(records, first).await, counts(records, second).await), ((2, 2), (1, 1)));
    let report = records.job(None, first).await.unwrap().unwrap().report(&[]);
    assert_eq!((report.status, report.progress.stage), (JobStatus::Completed, JobStage::Rendering));
    let statement = records.signed_document(first, SignedDocument::Statement).await.unwrap();

    let mut order = Vec::new();
    while let Some(claim) = take(records, 5).await {
        order.push(place(&claim));
        assert_eq!(claim.result.episode, claim.fence.episode);
        let name = if claim.part == RenderPart::Log { files::LOG } else { files::VIDEO };
        assert_eq!(claim.drawn.len(), usize::from(claim.part == RenderPart::Video), "the log");
        let (files, notes) = (vec![file(claim.fence.episode, name)], vec![format!("{name} has a note")]);
        assert!(records.record_render(claim.fence, files.clone(), notes.clone()).await.unwrap());
        assert!(!records.record_render(claim.fence, files, notes).await.unwrap(), "once");
    }
    let all = |part| [(first, 2, part), (second, 0, part), (first, 0, part)];
    assert_eq!(order, [all(RenderPart::Log), all(RenderPart::Video)].concat());
    assert_eq!((counts(records, first).await, counts(records, second).await), ((2, 0), (1, 0)));
    let drawn = records.renders(first).await.unwrap();
    assert_eq!(drawn.iter().map(|drawn| (drawn.episode, drawn.done)).collect::<Vec<_>>(), [(0, true), (2, true)]);
    assert_eq!(drawn[1].files, [file(2, files::LOG), file(2, files::VIDEO)]);
    assert_eq!(drawn[1].notes, ["log.mcap has a note", "video.mp4 has a note"]);
    let report = records.job(None, first).await.unwrap().unwrap().report(&[]);
    assert_eq!((report.progress.stage, report.progress.videos_done), (JobStage::Done, 2));
    assert_eq!(records.episodes(first, 2, 1).await.unwrap(), [recorded(2, true)], "the result is what it was");
    assert_eq!(records.signed_document(first, SignedDocument::Statement).await.unwrap(), statement);
}

/// Runs a submission whose episodes are recorded to its end.
async fn rendered_in_the_arena(records: &dyn Records) -> JobId {
    records.open_season(arena::season(1)).await.unwrap();
    let new = arena::submission(1, "lab", 1);
    let id = new.header.job_id;
    let new = NewJob { header: JobHeader { record: Record::All, ..new.header }, ..new };
    records.submit(new, 100, at(0)).await.unwrap();
    while let Some(claim) = records.claim_shard(&ShardRequest::new("worker"), at(1), LEASE).await.unwrap() {
        for index in claim.episodes {
            records.record_episode(claim.fence, recorded(index, false), at(2)).await.unwrap();
        }
    }
    complete(records).await;
    id
}

/// Renderings on other hosts: a worker is given a few, of some jobs, and loses them when it leaves.
pub(super) async fn are_given_to_workers_on_other_hosts(records: &dyn Records) {
    let arena = rendered_in_the_arena(records).await;
    let id = completed(records, 7, Record::All, &[recorded(0, false), recorded(1, false)]).await;
    assert!(records.has_renders().await.unwrap());
    let name = WorkerName::parse("gpu-07").unwrap();
    let token_hash = Sha256Digest::new([9; 32]);
    let new = NewWorker { name: name.clone(), token_hash, trusted: false, created_at: at(0), expires_at: None };
    records.create_worker(new).await.unwrap();
    let (generation, _) = records.register_worker(&name, registration(), at(1)).await.unwrap().unwrap();
    let holder = name.lease_holder();
    let request = RenderRequest::new(&holder).of(RenderChoice::Verifications).holding_at_most(1);
    let claim = async |request, seconds| records.claim_render(request, at(seconds), LEASE).await.unwrap();

    let secret = claim(request.of(RenderChoice::Arena), 5).await.unwrap();
    assert_eq!(secret.fence.job_id, arena);
    records.return_render(secret.fence, None).await.unwrap();
    let held = claim(request, 5).await.unwrap();
    assert_eq!((held.fence.job_id, held.account.as_str()), (id, "lab"));
    assert_eq!(records.leased_render(held.fence).await.unwrap().as_ref(), Some(&held));
    assert_eq!(claim(request, 5).await, None, "it holds one already");
    let second = claim(request.holding_at_most(2), 5).await.unwrap();
    assert_ne!(second.fence.episode, held.fence.episode);

    records.leave_worker(&name, generation, at(6)).await.unwrap();
    assert_eq!(records.leased_render(held.fence).await.unwrap(), None, "its leases are void");
    assert_eq!(records.heartbeat_render(held.fence, at(6), LEASE).await.unwrap(), Lease::Lost);
    let again = records.claim_render(RenderRequest::new("w").of(RenderChoice::Job(id)), at(6), LEASE).await;
    let again = again.unwrap().unwrap();
    assert_eq!((again.fence.episode, again.fence.attempt), (held.fence.episode, 2));
    records.return_render(again.fence, None).await.unwrap();
    let held = claim(request, 7).await.unwrap();
    records.revoke_worker(&name, at(8)).await.unwrap();
    assert_eq!(records.leased_render(held.fence).await.unwrap(), None, "revoked");
}

pub(super) async fn a_dead_renderer_is_replaced(records: &dyn Records) {
    let id = completed(records, 1, Record::All, &[recorded(0, false)]).await;
    let stale = take(records, 10).await.unwrap();
    assert_eq!(take(records, 10).await, None, "taken");
    assert_eq!(records.heartbeat_render(stale.fence, at(12), LEASE).await.unwrap(), Lease::Held);
    assert_eq!(records.reconcile(at(21)).await.unwrap().next_expiry, Some(at(22)));
    assert_eq!(take(records, 21).await, None, "the lease still holds");
    records.reconcile(at(22)).await.unwrap();
    let fresh = take(records, 22).await.unwrap();
    assert_eq!((fresh.fence.attempt, place(&fresh)), (2, place(&stale)));
    assert_eq!(records.heartbeat_render(stale.fence, at(22), LEASE).await.unwrap(), Lease::Lost);
    assert!(!records.record_render(stale.fence, vec![file(0, files::LOG)], Vec::new()).await.unwrap());
    assert_eq!(records.return_render(stale.fence, Some("late")).await.unwrap(), RenderReturnOutcome::Fenced);
    assert_eq!(records.renders(id).await.unwrap()[0].files, []);
    // A stopping worker may return it any number of times.
    let mut held = fresh;
    for _ in 0..=MAX_RENDER_RETRIES {
        assert_eq!(records.return_render(held.fence, None).await.unwrap(), RenderReturnOutcome::Requeued);
        held = take(records, 23).await.unwrap();
    }
    // A renderer that kills its worker each time.
    let mut now = 100;
    for _ in 0..2 * MAX_LAPSES {
        records.reconcile(at(now)).await.unwrap();
        now += 100;
        if take(records, now - 50).await.is_none() {
            break;
        }
    }
    while counts(records, id).await.1 > 0 {
        records.reconcile(at(now)).await.unwrap();
        now += 100;
        let _ = take(records, now - 50).await;
        assert!(now < 100_000, "it never ends");
    }
    assert!(records.renders(id).await.unwrap()[0].notes.iter().all(|note| note.contains("disappeared")));
}

pub(super) async fn failing_too_often_leaves_a_note(records: &dyn Records) {
    let id = completed(records, 1, Record::All, &[recorded(0, false), recorded(1, false)]).await;
    let good = |claim: &RenderClaim| claim.fence.episode == 1;
    let mut tries = [0, 0];
    while let Some(claim) = take(records, 5).await {
        if good(&claim) {
            let name = if claim.part == RenderPart::Log { files::LOG } else { files::VIDEO };
            assert!(records.record_render(claim.fence, vec![file(1, name)], Vec::new()).await.unwrap());
            continue;
        }
        let nth = &mut tries[usize::from(claim.part == RenderPart::Video)];
        *nth += 1;
        let expected =
            if *nth > MAX_RENDER_RETRIES { RenderReturnOutcome::GivenUp } else { RenderReturnOutcome::Requeued };
        assert_eq!(records.return_render(claim.fence, Some("no OpenGL")).await.unwrap(), expected);
        assert!(*nth <= MAX_RENDER_RETRIES + 1, "bounded");
    }
    assert_eq!(tries, [MAX_RENDER_RETRIES + 1; 2]);
    let drawn = records.renders(id).await.unwrap();
    assert_eq!(
        (drawn[0].done, drawn[0].notes.as_slice()),
        (true, &["no OpenGL".to_owned(), "no OpenGL".to_owned()][..])
    );
    assert!(
        drawn[1].done && drawn[1].notes.is_empty() && drawn[1].files.len() == 2,
        "other renderings are not delayed"
    );
    let job = records.job(None, id).await.unwrap().unwrap();
    assert_eq!(
        (job.state.status(), job.renders),
        (JobStatus::Completed, RenderCounts { total: 2, open: 0, without_log: 0 })
    );
}

pub(super) async fn go_with_their_job(records: &dyn Records) {
    // Cancelled before its verdict.
    let id = judging(records, 1, Record::All, &[recorded(0, true)]).await;
    assert_eq!(records.cancel_job(None, id, at(3)).await.unwrap(), CancelOutcome::Done);
    assert_eq!((take(records, 4).await, counts(records, id).await), (None, (0, 0)));
    records.finish_removal(id, at(40)).await.unwrap();
    // When its evidence is removed by age or size, the rendered files stay listed.
    let id = completed(records, 2, Record::All, &[recorded(0, true), recorded(1, true)]).await;
    assert_eq!(records.pending_removals(10).await.unwrap(), [], "its files are about to be recorded");
    for _ in [RenderPart::Log, RenderPart::Log, RenderPart::Video] {
        let claim = take(records, 5).await.unwrap();
        let name = if claim.part == RenderPart::Log { files::LOG } else { files::VIDEO };
        assert!(records.record_render(claim.fence, vec![file(claim.fence.episode, name)], Vec::new()).await.unwrap());
    }
    let held = take(records, 5).await.unwrap();
    assert!(records.drop_evidence(id, at(6)).await.unwrap());
    assert_eq!(records.heartbeat_render(held.fence, at(6), LEASE).await.unwrap(), Lease::Lost);
    assert!(!records.record_render(held.fence, vec![file(1, files::VIDEO)], Vec::new()).await.unwrap());
    assert_eq!((take(records, 7).await, counts(records, id).await), (None, (1, 0)));
    assert_eq!(records.request_renders(id, Record::All).await.unwrap(), RenderRequestOutcome::NoEvidence);
    records.finish_removal(id, at(7)).await.unwrap();
    assert_eq!(records.pending_removals(10).await.unwrap().len(), 1, "a renderer may not know yet");
    // Erased: nothing is left.
    let id = completed(records, 3, Record::All, &[recorded(0, true)]).await;
    let held = take(records, 8).await.unwrap();
    assert_eq!(records.erase_job(None, id, at(9)).await.unwrap(), EraseOutcome::Done);
    assert_eq!(records.heartbeat_render(held.fence, at(9), LEASE).await.unwrap(), Lease::Lost);
    assert_eq!(records.return_render(held.fence, Some("gone")).await.unwrap(), RenderReturnOutcome::Fenced);
    assert_eq!((take(records, 9).await, records.renders(id).await.unwrap()), (None, Vec::new()));
}

pub(super) async fn end_with_a_certification(records: &dyn Records) {
    let new = job(1, "lab", 3, 3);
    let plan = Plan { target: Some(0.5), ..new.header.plan };
    let id = new.header.job_id;
    let header = JobHeader { record: Record::All, plan, ..new.header };
    records.create_job(NewJob { header, ..new }).await.unwrap();
    let claim = records.claim_shard(&ShardRequest::new("worker"), at(1), LEASE).await.unwrap().unwrap();
    let failed = EpisodeResult { status: assay_model::EpisodeStatus::PolicyError, ..recorded(1, false) };
    for result in [recorded(2, false), recorded(0, false), failed] {
        records.record_episode(claim.fence, result, at(2)).await.unwrap();
    }
    complete(records).await;
    let episodes: Vec<_> = records.renders(id).await.unwrap().iter().map(|drawn| drawn.episode).collect();
    assert_eq!(episodes, [0, 1], "episodes after its end are not rendered");
}

pub(super) async fn can_be_asked_for(records: &dyn Records) {
    let open = judging(records, 1, Record::None, &[recorded(0, true), recorded(1, false), recorded(2, true)]).await;
    assert_eq!(records.request_renders(open, Record::All).await.unwrap(), RenderRequestOutcome::NotCompleted);
    complete(records).await;
    let unknown = job(9, "lab", 1, 1).header.job_id;
    assert_eq!(records.request_renders(unknown, Record::All).await.unwrap(), RenderRequestOutcome::NotFound);
    assert_eq!(take(records, 5).await, None);
    assert_eq!(records.request_renders(open, Record::Violations).await.unwrap(), RenderRequestOutcome::Queued(2));
    assert_eq!(records.request_renders(open, Record::All).await.unwrap(), RenderRequestOutcome::Queued(1), "one more");
    let other = completed(records, 2, Record::All, &[recorded(0, false)]).await;
    let mut last = None;
    while let Some(claim) =
        records.claim_render(RenderRequest::new("renderer").of(RenderChoice::Job(open)), at(6), LEASE).await.unwrap()
    {
        // All logs can be drawn, and only the first video.
        let is_log = claim.part == RenderPart::Log;
        if is_log || claim.fence.episode == 0 {
            let name = if is_log { files::LOG } else { files::VIDEO };
            let files = vec![file(claim.fence.episode, name)];
            assert!(records.record_render(claim.fence, files, Vec::new()).await.unwrap());
        } else {
            last = Some(records.return_render(claim.fence, Some("no OpenGL")).await.unwrap());
        }
    }
    assert_eq!((last, counts(records, open).await), (Some(RenderReturnOutcome::GivenUp), (3, 0)));
    assert_eq!(counts(records, other).await, (1, 1), "of the job that was named");
    assert_eq!(records.request_renders(open, Record::All).await.unwrap(), RenderRequestOutcome::Queued(2));
    let claim = records
        .claim_render(RenderRequest::new("renderer").of(RenderChoice::Job(open)), at(7), LEASE)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((claim.part, claim.drawn.len()), (RenderPart::Video, 1), "its log is there");
}
