//! The statement about a verification: an in-toto Statement v1 whose predicate contains the measured results.

use std::collections::BTreeMap;

use assay_model::{Blame, JobReport, PolicyIdentity, PolicyKey, ReviewReason, Sha256Digest, Verdict, digest_or_none};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Type of the statement.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// Type of the predicate.
pub const PREDICATE_TYPE: &str = "urn:assay:verification:v1";
/// States the limits of the statement.
const NOTE: &str = "Evidence from simulation, never conformity with a standard. The signature says who measured; \
                    only recomputation from the evidence says whether the numbers are right.";
/// Method for the bound and the confidence.
const METHOD: &str = "Clopper-Pearson, one-sided";

/// Digests by algorithm: `sha256`, in hexadecimal.
pub type Digest = BTreeMap<String, String>;

/// An in-toto statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// Type of the statement: [`STATEMENT_TYPE`].
    #[serde(rename = "_type")]
    pub statement_type: String,
    /// The policy's archive; for a policy server, whose program is unknown, the report.
    pub subject: Vec<ResourceDescriptor>,
    /// Type of the predicate: [`PREDICATE_TYPE`].
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    /// Content of the statement.
    pub predicate: VerificationPredicate,
}

/// A named file or archive, and its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceDescriptor {
    /// Name of the file or archive.
    pub name: String,
    /// Digest of the file or archive.
    pub digest: Digest,
}

/// Measured results, with the policy and scenario they are about and their evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of JobReport, described there")]
pub struct VerificationPredicate {
    pub note: String,
    pub job_id: String,
    pub policy_name: String,
    pub policy_identity: PolicyIdentity,
    pub scenario: ScenarioRef,
    pub engine: Option<EngineInfo>,
    /// Runtime that the policy ran in; absent for a policy server, and in statements of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<ResourceDescriptor>,
    pub service: ServiceInfo,
    pub seed: u64,
    #[serde(default)]
    pub policy_key: Option<PolicyKey>,
    pub measured: Measured,
    pub verdict: Option<Verdict>,
    pub blame: Option<Blame>,
    pub reason: Option<String>,
    pub needs_review: bool,
    pub review_reasons: Vec<ReviewReason>,
    pub times: Times,
    /// Files of evidence from which the numbers are derived.
    pub evidence: Vec<Evidence>,
}

/// Scenario of the verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "as in JobReport")]
pub struct ScenarioRef {
    pub id: String,
    pub version: String,
    pub digest: Digest,
}

/// Physics engine of the verification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EngineInfo {
    /// Name of the engine: `MuJoCo`.
    pub name: String,
    /// Version of the engine.
    pub version: String,
    /// Digest of the library file.
    pub digest: Digest,
    /// Duration of a physics step, in seconds; `null` if the signer does not know it (the compiled model in the
    /// evidence contains it).
    pub timestep_s: Option<f64>,
    /// Version of the code that evaluates clauses and scores.
    pub scorer_version: String,
}

/// Program that ran the evaluation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceInfo {
    /// Name of the program: `assay`.
    pub name: String,
    /// Version of the program.
    pub version: String,
}

/// Measured results of a verification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "as in Statistics and JobReport")]
pub struct Measured {
    pub episodes_planned: u32,
    pub episodes: u32,
    pub violations: u32,
    pub without_evidence: u32,
    pub max_violation_probability: f64,
    pub confidence: f64,
    pub method: String,
    pub violation_probability_upper: f64,
    pub confidence_level: f64,
    pub target: Option<f64>,
    pub certified: Option<bool>,
    pub score: Option<f64>,
    pub safety_score: Option<f64>,
    pub progress_score: Option<f64>,
    pub success_rate: Option<f64>,
    // Absent from statements of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample_size: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct_worlds: Option<u32>,
}

/// Times of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "as in JobReport")]
pub struct Times {
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
}

/// A file of evidence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Evidence {
    /// Path of the file relative to the statement's file, with `/` as separator.
    pub name: String,
    /// SHA-256 of the file. `None` if an untrusted statement contains invalid text, which then matches no file.
    #[serde(deserialize_with = "digest_or_none")]
    pub sha256: Option<Sha256Digest>,
}

/// Error for a report that no statement can be made about.
#[derive(Debug, thiserror::Error)]
pub enum StatementError {
    /// The job has no verdict yet.
    #[error("the job has no verdict yet, so there is nothing to attest")]
    Unfinished,
    /// The subject would have no digest.
    #[error("neither the policy nor the report has a digest")]
    NoSubject,
    /// The statement could not be written as JSON.
    #[error("the statement could not be written as JSON")]
    Json(#[source] serde_json::Error),
}

impl Statement {
    /// Creates the statement about a completed job. `evidence` names every file that belongs to it, including the
    /// report.
    ///
    /// # Errors
    /// [`StatementError`] if the report has no verdict, or the subject no digest.
    pub fn of(
        report: &JobReport,
        timestep_s: Option<f64>,
        version: &str,
        mut evidence: Vec<Evidence>,
    ) -> Result<Self, StatementError> {
        evidence.sort();
        Ok(Self {
            statement_type: STATEMENT_TYPE.to_owned(),
            subject: vec![subject(report, &evidence)?],
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate: VerificationPredicate {
                note: NOTE.to_owned(),
                job_id: report.job_id.to_string(),
                policy_name: report.policy_name.clone(),
                policy_identity: report.policy_identity,
                scenario: ScenarioRef {
                    id: report.scenario.to_string(),
                    version: report.scenario_version.clone(),
                    digest: sha256(report.scenario_digest),
                },
                engine: engine(report, timestep_s),
                runtime: runtime(report),
                service: ServiceInfo { name: "assay".to_owned(), version: version.to_owned() },
                seed: report.seed,
                policy_key: report.policy_key.clone(),
                measured: measured(report)?,
                verdict: report.verdict,
                blame: report.blame,
                reason: report.reason.clone(),
                needs_review: report.needs_review,
                review_reasons: report.review_reasons.clone(),
                times: Times {
                    created_at: report.created_at,
                    started_at: report.started_at,
                    completed_at: report.completed_at,
                },
                evidence,
            },
        })
    }

    /// Returns the bytes to sign.
    ///
    /// # Errors
    /// [`StatementError::Json`] if the statement cannot be written as JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>, StatementError> {
        serde_json::to_vec(self).map_err(StatementError::Json)
    }
}

/// Returns the subject: the policy, named by its hash. The program of a policy server is unknown, so its statement is
/// about the report.
fn subject(report: &JobReport, evidence: &[Evidence]) -> Result<ResourceDescriptor, StatementError> {
    if let (PolicyIdentity::Measured, Some(hash)) = (report.policy_identity, report.policy_sha256) {
        return Ok(ResourceDescriptor { name: report.policy_name.clone(), digest: sha256(hash) });
    }
    let file = evidence.iter().find(|file| file.name == "report.json").ok_or(StatementError::NoSubject)?;
    Ok(file.descriptor())
}

impl Evidence {
    /// Creates an entry for a file with this hash.
    #[must_use]
    pub fn new(name: &str, sha256: Sha256Digest) -> Self {
        Self { name: name.to_owned(), sha256: Some(sha256) }
    }

    /// Creates an entry for the subject of a statement.
    #[must_use]
    pub fn of(subject: &ResourceDescriptor) -> Self {
        Self { name: subject.name.clone(), sha256: sha256_in(&subject.digest) }
    }

    pub(super) fn descriptor(&self) -> ResourceDescriptor {
        ResourceDescriptor { name: self.name.clone(), digest: self.sha256.map(sha256).unwrap_or_default() }
    }
}

pub(super) fn sha256(hash: Sha256Digest) -> Digest {
    Digest::from([("sha256".to_owned(), hash.to_string())])
}

/// Returns the SHA-256 among the digests, if there is one.
#[must_use]
pub fn sha256_in(digest: &Digest) -> Option<Sha256Digest> {
    digest.get("sha256")?.parse().ok()
}

fn engine(report: &JobReport, timestep_s: Option<f64>) -> Option<EngineInfo> {
    report.fingerprint.as_ref().map(|print| EngineInfo {
        name: "MuJoCo".to_owned(),
        version: print.mujoco.clone(),
        digest: sha256(print.libmujoco_sha256),
        timestep_s,
        scorer_version: print.scorer_version.clone(),
    })
}

fn runtime(report: &JobReport) -> Option<ResourceDescriptor> {
    let runtime = report.fingerprint.as_ref()?.runtime.as_ref()?;
    Some(ResourceDescriptor { name: runtime.name.to_string(), digest: sha256(runtime.sha256) })
}

fn measured(report: &JobReport) -> Result<Measured, StatementError> {
    let statistics = report.statistics.as_ref().ok_or(StatementError::Unfinished)?;
    Ok(Measured {
        episodes_planned: report.num_episodes,
        episodes: statistics.episodes,
        violations: statistics.violations,
        without_evidence: statistics.without_evidence,
        max_violation_probability: statistics.max_violation_probability,
        confidence: statistics.confidence,
        method: METHOD.to_owned(),
        violation_probability_upper: statistics.violation_probability_upper,
        confidence_level: statistics.confidence_level,
        target: statistics.target,
        certified: statistics.certified,
        score: report.score,
        safety_score: report.safety_score,
        progress_score: report.progress_score,
        success_rate: report.success_rate,
        sample_size: statistics.sample_size,
        distinct_worlds: statistics.distinct_worlds,
    })
}
