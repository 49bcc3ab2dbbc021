//! Offline verification of a statement: the signature, the policy, and whether the numbers follow from the report's
//! episodes.

use assay_model::{
    JobReport, Plan, PolicyIdentity, Scorer, Sha256Digest, Statistics, Verdict, conclude_by, earlier_unsafe_reason,
    sanitise,
};

use super::{Envelope, EnvelopeError, KnownKey, PREDICATE_TYPE, PublishedKeys, STATEMENT_TYPE, Statement};

/// Maximum number of signers that are named, and maximum length of their ids, in bytes.
const SHOWN_SIGNERS: usize = 3;
const SHOWN_ID_BYTES: usize = 64;
/// Scores in a report are rounded to 4 decimals, so a mean of them may differ by this much.
const ROUNDING: f64 = 1.0e-4 + 1e-9;

/// Error for a statement that could not be verified.
#[derive(Debug, thiserror::Error)]
pub enum AttestError {
    /// The file is not an envelope.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// The envelope names other keys than those that are accepted.
    #[error("it was signed by {signers}, {why}")]
    UnknownSigner {
        /// The keys that the envelope names, which is not verified.
        signers: String,
        /// The reason why they are not accepted.
        why: &'static str,
    },
    /// The envelope names a known key, which did not make the signature.
    #[error("the signature by {0} is not valid: the statement was changed, or another key made it")]
    Signature(String),
    /// A published key is invalid.
    #[error("the published key {0} is not valid, or has another id")]
    Key(String),
    /// The signed payload is not a statement of assay.
    #[error("the signed payload is not a statement of assay")]
    Payload,
    /// The statement is about another policy.
    #[error("the statement is about another policy: sha256 {stated}, not {given}")]
    Policy {
        /// SHA-256 in the statement.
        stated: String,
        /// SHA-256 of the given policy.
        given: Sha256Digest,
    },
    /// The statement is about a policy server, whose program is unknown.
    #[error("the statement is about a policy server, which is identified only by its address, not by an archive")]
    Declared,
    /// A number does not follow from the episodes.
    #[error("{0} does not follow from the report's episodes")]
    Number(&'static str),
}

/// A statement whose signature was verified.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedStatement {
    /// The signed statement.
    pub statement: Statement,
    /// The key that made the signature.
    pub key: KnownKey,
}

/// Verifies the envelope in `file` with `keys`; if `keyid` is given, only that key is accepted.
///
/// # Errors
/// [`AttestError`] with the check that failed.
pub fn check(file: &[u8], keys: &PublishedKeys, keyid: Option<&str>) -> Result<VerifiedStatement, AttestError> {
    let (payload, key) = signed(file, keys, keyid)?;
    Ok(VerifiedStatement { statement: parse(&payload)?, key })
}

/// Returns the payload of the envelope in `file`, and the known key that signed it.
pub(super) fn signed(
    file: &[u8],
    keys: &PublishedKeys,
    keyid: Option<&str>,
) -> Result<(Vec<u8>, KnownKey), AttestError> {
    let envelope = Envelope::parse(file)?;
    let wanted = |key: &&KnownKey| keyid.is_none_or(|keyid| key.keyid == keyid);
    for known in keys.keys.iter().filter(wanted) {
        let key = known.key().map_err(|_| AttestError::Key(known.keyid.clone()))?;
        if envelope.signed_by(&key)? {
            return Ok((envelope.payload()?, known.clone()));
        }
    }
    Err(refused(&envelope, keys, keyid))
}

/// Returns the reason why no accepted key made a signature, which names the keys that the envelope claims.
fn refused(envelope: &Envelope, keys: &PublishedKeys, keyid: Option<&str>) -> AttestError {
    let named: Vec<&str> = envelope.signatures.iter().map(|signature| signature.keyid.as_str()).collect();
    let accepted = |id: &&str| keys.find(id).is_some() && keyid.is_none_or(|wanted| wanted == *id);
    if let Some(id) = named.iter().copied().find(accepted) {
        return AttestError::Signature(shown(id));
    }
    let mut signers: Vec<String> = named.iter().take(SHOWN_SIGNERS).map(|id| shown(id)).collect();
    if named.len() > SHOWN_SIGNERS {
        signers.push("others".to_owned());
    }
    if signers.is_empty() {
        signers.push("nobody".to_owned());
    }
    let is_wanted = keyid.is_none_or(|wanted| named.iter().any(|id| *id == wanted || id.is_empty()));
    let why = if is_wanted { "which is not among the known keys" } else { "not by the key that was asked for" };
    AttestError::UnknownSigner { signers: signers.join(", "), why }
}

/// Returns the id of a key as text; the envelope may hold anything.
fn shown(id: &str) -> String {
    match id {
        "" => "a key without an id".to_owned(),
        id => format!("key {}", sanitise(id, SHOWN_ID_BYTES).replace(['\n', '\t'], " ")),
    }
}

fn parse(payload: &[u8]) -> Result<Statement, AttestError> {
    let statement: Statement = serde_json::from_slice(payload).map_err(|_| AttestError::Payload)?;
    let ours = statement.statement_type == STATEMENT_TYPE && statement.predicate_type == PREDICATE_TYPE;
    if ours { Ok(statement) } else { Err(AttestError::Payload) }
}

/// Checks that the statement is about the policy with this SHA-256.
///
/// # Errors
/// [`AttestError::Policy`] or [`AttestError::Declared`] if it is not.
pub fn check_policy(statement: &Statement, sha256: Sha256Digest) -> Result<(), AttestError> {
    if statement.predicate.policy_identity == PolicyIdentity::Declared {
        return Err(AttestError::Declared);
    }
    let stated = statement.subject.first().and_then(|subject| subject.digest.get("sha256"));
    match stated {
        Some(stated) if stated.parse() == Ok(sha256) => Ok(()),
        stated => Err(AttestError::Policy { stated: stated.cloned().unwrap_or_default(), given: sha256 }),
    }
}

/// Recomputes the report's conclusion from its own episodes, and compares all numbers.
///
/// # Errors
/// [`AttestError::Number`] with the first number that differs.
pub fn recompute(report: &JobReport) -> Result<(), AttestError> {
    let statistics = report.statistics.ok_or(AttestError::Number("the statistics"))?;
    let plan = Plan {
        episodes: report.num_episodes,
        target: statistics.target,
        confidence_level: statistics.confidence_level,
        max_violation_probability: statistics.max_violation_probability,
        draws_worlds: statistics.sample_size.is_none_or(|size| size >= statistics.episodes),
    };
    let version = report.fingerprint.as_ref().map(|print| print.scorer_version.as_str());
    let scorer = version.and_then(Scorer::of_version).ok_or(AttestError::Number("the scorer's version"))?;
    let again = conclude_by(scorer, &plan, report.policy_identity, &report.episode_details)
        .ok_or(AttestError::Number("the verdict"))?;
    let same = |what, holds: bool| if holds { Ok(()) } else { Err(AttestError::Number(what)) };
    let close = |a: Option<f64>, b: f64| a.is_some_and(|a| (a - b).abs() <= ROUNDING);
    same("the verdict", report.verdict == Some(again.verdict) && report.blame == again.blame)?;
    let counted = plan.counted(&report.episode_details);
    let reason = match report.worst {
        // As versions without `worst` wrote it.
        None if again.verdict == Verdict::Unsafe => Some(earlier_unsafe_reason(&again.statistics, counted)),
        _ => again.reason,
    };
    same("the reason", report.reason == reason)?;
    same("the worst violation", report.worst.is_none() || report.worst == again.worst)?;
    same("the closest clause", report.closest.is_none() || report.closest == again.closest)?;
    // Absent from reports of earlier versions.
    let again_sizes = (again.statistics.sample_size, again.statistics.distinct_worlds);
    let (sample_size, distinct_worlds) = statistics.sample_size.map_or((None, None), |_| again_sizes);
    same("the statistics", statistics == Statistics { sample_size, distinct_worlds, ..again.statistics })?;
    same("progress_score", close(report.progress_score, again.progress_score))?;
    same("safety_score", close(report.safety_score, again.safety_score))?;
    same("composite_score", close(report.composite_score, again.composite_score))?;
    // The consistency may differ by twice the rounding error, the score by less than that.
    same("consistency", report.consistency.is_some_and(|c| (c - again.consistency).abs() <= 2.0 * ROUNDING))?;
    same("success_rate", close(report.success_rate, again.success_rate))?;
    same("score", report.score.is_some_and(|score| (score - again.score).abs() <= 2.0 * ROUNDING))?;
    same("unsafe_success_share", close(report.unsafe_success_share, again.unsafe_success_share))?;
    same("violation_severity", close(report.violation_severity, again.violation_severity))?;
    same("unsafe_time_s", close(report.unsafe_time_s, again.unsafe_time_s))?;
    same("quadrants", report.quadrants == Some(again.quadrants))?;
    same("sensitivity", report.sensitivity == again.sensitivity)
}
