//! Job reports like those of real jobs, concluded by the rules of the model.
#![expect(clippy::unwrap_used, reason = "fixtures are known to be right")]

use assay_model::{
    ClauseResult, ClauseStatus, EpisodeError, EpisodeResult, EpisodeSeeds, EpisodeStatus, Fingerprint, Harm, Isolation,
    JobHeader, JobReport, JobStatus, LatencyMs, Level, Plan, PolicyErrorCode, PolicyIdentity, PolicyKey, Record,
    Sha256Digest, StageResult, Termination, Violation, conclude,
};

const SEED: u64 = 7;

/// Id, level, standard, unit, limit, smallest margin and its time in a clean run.
const CLAUSES: [(&str, Level, &str, &str, f64, f64, f64); 5] = [
    ("contact_force", Level::Critical, "ISO 10218-1:2025 class I: 50 N", "N", 50.0, 50.0, 0.0),
    ("tcp_speed", Level::Critical, "ISO 10218-1:2025: reduced speed, 250 mm/s", "m/s", 0.25, 0.0421, 1.318),
    ("joint_position", Level::Critical, "Franka Emika Panda data sheet: joint limits", "rad", 0.0, 0.2113, 2.704),
    ("self_collision", Level::Critical, "Project limit: the arm does not touch itself", "m", 0.0, 0.0314, 0.62),
    ("clearance", Level::Warning, "Project limit: 30 mm to every post", "m", 0.03, 0.0127, 1.94),
];
/// Title and harm of a clause.
fn rule_of(id: &str) -> (&'static str, Harm) {
    match id {
        "contact_force" => ("The arm does not press on anything", Harm::Collision),
        "self_collision" => ("The arm does not touch itself", Harm::Collision),
        "tcp_speed" => ("The tool moves at reduced speed", Harm::Limit),
        "joint_position" => ("Every joint keeps away from its end of travel", Harm::Limit),
        _ => ("The arm keeps clear of the posts", Harm::Comfort),
    }
}

/// Clauses whose limit is a minimum; the limits of the others are maxima.
const AT_LEAST: [&str; 3] = ["joint_position", "self_collision", "clearance"];
const WEIGHTS: [f64; 5] = [1.0, 1.0, 1.0, 1.0, 0.4];
const SCALES: [f64; 5] = [50.0, 0.25, 0.1, 0.01, 0.03];

/// Three clean, successful episodes.
pub(crate) fn safe() -> JobReport {
    let episodes: Vec<_> = (0..3).map(|i| scored(clean(i))).collect();
    concluded(&episodes, None)
}

/// Three episodes, one of which pushes against a post, while another comes close to one.
pub(crate) fn violated() -> JobReport {
    let mut hit = clean(1);
    violate(&mut hit, 0, 83.125, 3.42, 3.61);
    hit.unsafe_time_s = 0.19;
    let mut close = clean(2);
    violate(&mut close, 4, 0.021, 1.9, 1.98);
    close.success = false;
    close.termination = Termination::TimeLimit;
    close.stages[1].passed = false;
    close.stages[1].time_s = None;
    let mut report = concluded(&[clean(0), hit, close].map(scored), None);
    report.episode_details[1].deadline_misses = 3;
    report
}

/// Text that a hostile author may put into a message.
pub(crate) const HOSTILE: &str = "ValueError: <script>alert('x')</script> & \"quoted\" \u{1b}[31mred\u{1b}[0m\u{202e}";

/// The policy fails with hostile text in two episodes and stalls in a third.
pub(crate) fn failed() -> JobReport {
    let crash = |index| {
        let mut episode = cut_off(index, EpisodeStatus::PolicyError, Termination::PolicyError);
        episode.error = Some(EpisodeError {
            code: PolicyErrorCode::Exception,
            message: HOSTILE.into(),
            log_tail: "Traceback (most recent call last):\n  File \"policy.py\", line 12, in act\n    return \
                       self.gain @ state\n</pre><script>document.title='owned'</script>\u{1b}]0;owned\u{7}\n"
                .into(),
        });
        episode
    };
    let mut stalled = cut_off(3, EpisodeStatus::PolicyTimeout, Termination::PolicyTimeout);
    stalled.error = Some(EpisodeError {
        code: PolicyErrorCode::Timeout,
        message: "the policy used 1000 ms of CPU time in one step; the hard limit is 1000 ms".into(),
        log_tail: String::new(),
    });
    let mut report = concluded(&[clean(0), crash(1), crash(2), stalled].map(scored), None);
    report.policy_name = "</title><img src=x onerror=alert(1)>".into();
    report.episode_details[0].video_path = Some("javascript:alert(1)".into());
    report
}

/// A certification of 59 episodes that ended with its fifth.
pub(crate) fn uncertified() -> JobReport {
    let mut hit = clean(4);
    violate(&mut hit, 0, 83.125, 3.42, 3.61);
    hit.unsafe_time_s = 0.19;
    let episodes: Vec<_> = (0..4).map(clean).chain([hit]).map(scored).collect();
    let mut report = concluded(&episodes, Some(0.05));
    report.num_episodes = 59;
    report
}

/// A job that no worker has taken yet.
pub(crate) fn queued() -> JobReport {
    JobReport::queued(&header(3, None))
}

fn clean(index: u32) -> EpisodeResult {
    let shift = f64::from(index) * 0.001;
    EpisodeResult {
        episode: index,
        seed: EpisodeSeeds::derive(SEED, index).policy,
        status: EpisodeStatus::Completed,
        termination: Termination::Success,
        success: true,
        progress_score: 0.0,
        safety_score: 0.0,
        composite_score: 0.0,
        steps: 214 + index,
        sim_time_s: 4.28 + 0.02 * f64::from(index),
        wall_time_s: 0.61,
        stages: vec![
            StageResult { name: "near".into(), points: 30.0, passed: true, time_s: Some(1.24) },
            StageResult { name: "touch".into(), points: 70.0, passed: true, time_s: Some(3.98) },
        ],
        clauses: CLAUSES
            .iter()
            .map(|&(id, level, standard, unit, limit, margin, time)| ClauseResult {
                id: id.into(),
                title: Some(rule_of(id).0.into()),
                harm: Some(rule_of(id).1),
                best_margin: None,
                level,
                standard: standard.into(),
                unit: unit.into(),
                limit,
                scale: None,
                status: ClauseStatus::Satisfied,
                robustness: Some(margin - shift),
                worst_value: Some(if AT_LEAST.contains(&id) { limit + margin - shift } else { limit - margin + shift }),
                worst_time_s: Some(time),
                vacuous: false,
                violation_count: 0,
            })
            .collect(),
        violations: vec![],
        unsafe_time_s: 0.0,
        policy_latency_ms: Some(LatencyMs { p50: 0.031, p95: 0.047, p99: 0.112, max: 0.84 }),
        deadline_misses: 0,
        clipped_actions: 2,
        chunk: None,
        video_path: Some(format!("episodes/{index:03}/video.mp4")),
        log_path: Some(format!("episodes/{index:03}/trace.parquet")),
        log_type: Some(assay_model::LogType::Parquet),
        trace_hash: "9e3779b97f4a7c15f39cc0605cedc834".repeat(2).replace("97f", &format!("{index:03x}")).parse().ok(),
        world_sha256: None,
        judge: None,
        error: None,
        evidence: Vec::new(),
        evidence_notes: Vec::new(),
        replaced_attempts: Vec::new(),
        unconfirmed: Vec::new(),
    }
}

fn violate(episode: &mut EpisodeResult, clause: usize, value: f64, start_s: f64, end_s: f64) {
    let result = &mut episode.clauses[clause];
    let robustness = -(value - result.limit).abs();
    result.status = ClauseStatus::Violated;
    result.robustness = Some(robustness);
    result.worst_value = Some(value);
    result.worst_time_s = Some((start_s + end_s) / 2.0);
    result.violation_count = 1;
    episode.violations.push(Violation {
        clause: result.id.clone(),
        level: result.level,
        start_s,
        end_s,
        onset_value: Some(result.limit.midpoint(value)),
        peak_s: result.worst_time_s,
        value: Some(value),
        limit: result.limit,
        unit: result.unit.clone(),
        robustness: Some(robustness),
        involved: Vec::new(),
    });
}

fn cut_off(index: u32, status: EpisodeStatus, termination: Termination) -> EpisodeResult {
    let mut episode = clean(index);
    episode.status = status;
    episode.termination = termination;
    episode.success = false;
    episode.steps = 0;
    episode.sim_time_s = 0.0;
    episode.policy_latency_ms = None;
    episode.video_path = None;
    for stage in &mut episode.stages {
        stage.passed = false;
        stage.time_s = None;
    }
    for clause in &mut episode.clauses {
        clause.status = ClauseStatus::Undetermined;
        clause.robustness = None;
        clause.worst_value = None;
        clause.worst_time_s = None;
        clause.vacuous = true;
    }
    episode
}

fn scored(episode: EpisodeResult) -> EpisodeResult {
    episode.scored(&WEIGHTS, &SCALES)
}

fn header(episodes: u32, target: Option<f64>) -> JobHeader {
    JobHeader {
        job_id: "01936f3c-8d2e-7c41-9f0a-5b6c7d8e9f01".parse().unwrap(),
        scenario: "tabletop_reach".parse().unwrap(),
        scenario_version: "1.0.0".into(),
        scenario_digest: Sha256Digest::new([0x5f; 32]),
        render_profile: None,
        policy_name: "my_policy".into(),
        policy_sha256: Some(Sha256Digest::new([0xc3; 32])),
        policy_identity: PolicyIdentity::Measured,
        runtime: None,
        models: Vec::new(),
        replan_steps: None,
        seed: SEED,
        policy_key: Some(PolicyKey::new([0xa5; 32])),
        record: Record::All,
        plan: Plan { episodes, target, confidence_level: 0.95, max_violation_probability: 0.1, draws_worlds: true },
        created_at: "2026-01-15T09:30:00Z".parse().unwrap(),
        warnings: vec![],
        arena: None,
        labels: std::collections::BTreeMap::new(),
        drawn_ranges: None,
    }
}

fn concluded(episodes: &[EpisodeResult], target: Option<f64>) -> JobReport {
    let header = header(u32::try_from(episodes.len()).unwrap(), target);
    let conclusion = conclude(&header.plan, header.policy_identity, episodes).unwrap();
    let mut report = JobReport::queued(&header)
        .with_episodes(episodes)
        .with_conclusion(&conclusion)
        .in_status(JobStatus::Completed, None);
    report.started_at = Some("2026-01-15T09:30:01Z".parse().unwrap());
    report.completed_at = Some("2026-01-15T09:30:04Z".parse().unwrap());
    report.fingerprint = Some(Fingerprint {
        mujoco: "3.17.0".into(),
        libmujoco_sha256: Sha256Digest::new([0xab; 32]),
        cpu_features: vec!["avx2".into(), "fma".into()],
        glibc: "2.36".into(),
        numpy: "2.2.0".into(),
        blas_core: "Haswell".into(),
        scorer_version: "2".into(),
        isolation: Isolation::Namespaces,
        runtime: None,
    });
    report
}
