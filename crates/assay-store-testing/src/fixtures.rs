//! Small values for tests.

use std::num::NonZeroU32;

use assay_model::{
    EpisodeResult, EpisodeStatus, Fingerprint, Isolation, JobHeader, JobId, Plan, PolicyIdentity, PolicyKey, Record,
    Scopes, Sha256Digest, Termination, conclude,
};
use assay_store::{JobDemands, JobOutcome, KeyId, KeyRecord, NewJob, SignedDocuments};
use jiff::{SignedDuration, Timestamp};

/// The lease of all tests.
pub(super) const LEASE: SignedDuration = SignedDuration::from_secs(10);

/// Returns the time `seconds` after an arbitrary moment.
#[must_use]
pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_750_000_000 + seconds).unwrap()
}

/// Returns job number `number` of `account`, in shards of `shard` episodes. Higher numbers are younger.
#[must_use]
pub fn job(number: u64, account: &str, episodes: u32, shard: u32) -> NewJob {
    let id = uuid::Builder::from_unix_timestamp_millis(1_750_000_000_000 + number, &[7; 10]).into_uuid();
    NewJob {
        account: account.parse().unwrap(),
        header: JobHeader {
            job_id: JobId(id),
            scenario: "cartpole_keepin".parse().unwrap(),
            scenario_version: "1.0.0".into(),
            scenario_digest: Sha256Digest::new([0; 32]),
            render_profile: None,
            policy_name: format!("policy {number}"),
            policy_sha256: Some(Sha256Digest::new([0x11; 32])),
            policy_identity: PolicyIdentity::Measured,
            runtime: None,
            models: Vec::new(),
            replan_steps: Some(4),
            seed: u64::MAX - number,
            policy_key: Some(PolicyKey::new([3; 32])),
            record: Record::Violations,
            plan: Plan {
                episodes,
                target: None,
                confidence_level: 0.95,
                max_violation_probability: 0.1,
                draws_worlds: true,
            },
            created_at: at(0),
            warnings: vec!["a warning".into()],
            arena: None,
            labels: std::collections::BTreeMap::new(),
            drawn_ranges: None,
        },
        policy_path: Some(format!("policies/{number}.zip")),
        shard_episodes: NonZeroU32::new(shard).unwrap(),
        quota: None,
        callback_url: None,
        demands: JobDemands::default(),
    }
}

/// Returns a result of episode `index`.
#[must_use]
pub fn episode(index: u32) -> EpisodeResult {
    EpisodeResult {
        episode: index,
        seed: u64::MAX - u64::from(index),
        status: EpisodeStatus::Completed,
        termination: Termination::Success,
        success: true,
        progress_score: 1.0,
        safety_score: 1.0 / 3.0,
        composite_score: 2.0 / 3.0,
        steps: 100,
        sim_time_s: 2.0,
        wall_time_s: 0.1,
        stages: vec![],
        clauses: vec![],
        violations: vec![],
        unsafe_time_s: 0.0,
        policy_latency_ms: None,
        deadline_misses: 0,
        clipped_actions: 0,
        chunk: None,
        video_path: None,
        log_path: None,
        log_type: None,
        trace_hash: format!("{index:064x}").parse().ok(),
        world_sha256: None,
        judge: None,
        error: None,
        evidence: Vec::new(),
        evidence_notes: Vec::new(),
        replaced_attempts: Vec::new(),
        unconfirmed: Vec::new(),
    }
}

/// Returns the outcome of a job with these results.
#[must_use]
pub fn outcome(header: &JobHeader, episodes: &[EpisodeResult]) -> JobOutcome {
    JobOutcome {
        conclusion: conclude(&header.plan, header.policy_identity, episodes).unwrap(),
        fingerprint: fingerprint(),
    }
}

/// Returns signed documents.
#[must_use]
pub fn signed() -> SignedDocuments {
    SignedDocuments { report: b"{ \"signed\": true }".to_vec(), statement: b"{ \"payload\": 1 }".to_vec() }
}

/// Returns the fingerprint of the results of these tests.
#[must_use]
pub fn fingerprint() -> Fingerprint {
    Fingerprint {
        mujoco: "3.17.0".into(),
        libmujoco_sha256: Sha256Digest::new([0x22; 32]),
        cpu_features: vec!["avx2".into()],
        glibc: "2.36".into(),
        numpy: "2.2.0".into(),
        blas_core: "HASWELL".into(),
        scorer_version: "2".into(),
        isolation: Isolation::Namespaces,
        runtime: None,
    }
}

/// Returns a key with this id.
#[must_use]
pub fn key(id: &str, account: &str) -> KeyRecord {
    KeyRecord {
        id: KeyId::parse(id).unwrap(),
        account: account.parse().unwrap(),
        name: "a key".into(),
        scopes: Scopes::all(),
        secret_hash: [9; 32],
        created_at: at(0),
        expires_at: Some(at(1000)),
        revoked_at: None,
        last_used_at: None,
    }
}
