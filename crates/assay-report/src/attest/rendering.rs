//! Statement about files rendered from an episode after the verdict. It accompanies the job's own statement and names
//! it; the job's statement is unchanged.

use assay_model::{JobId, Sha256Digest};
use serde::{Deserialize, Serialize};

use super::statement::{Digest, sha256};
use super::{
    AttestError, Evidence, KnownKey, PublishedKeys, ResourceDescriptor, STATEMENT_TYPE, ServiceInfo, StatementError,
    verify,
};

/// Type of the predicate.
pub const RENDERING_PREDICATE_TYPE: &str = "urn:assay:rendering:v1";
/// File name of the job's statement, next to the report.
const JOB_STATEMENT: &str = "report.intoto.json";
/// States the limits of the statement.
const NOTE: &str = "Rendered from the recording after the verdict, which does not depend on it. The recording and the \
                    job's statement are the evidence.";

/// An in-toto statement about rendered files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RenderingStatement {
    /// Type of the statement: [`STATEMENT_TYPE`].
    #[serde(rename = "_type")]
    pub statement_type: String,
    /// The rendered files, by their names relative to the statement.
    pub subject: Vec<ResourceDescriptor>,
    /// Type of the predicate: [`RENDERING_PREDICATE_TYPE`].
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    /// Content of the statement.
    pub predicate: RenderingPredicate,
}

/// The rendered files, and the recording that they show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RenderingPredicate {
    /// Note for readers about the limits of the statement.
    pub note: String,
    /// Id of the job.
    pub job_id: String,
    /// Index of the episode in the job.
    pub episode: u32,
    /// SHA-256 of the recording from which the files were rendered.
    pub recording: Digest,
    /// The job's own statement.
    pub statement: ResourceDescriptor,
    /// The renderer. The statement contains no time, so that rendering again after a crash signs the same bytes.
    pub service: ServiceInfo,
    /// The worker on another host that rendered the files, which alone vouches for them; absent if the service rendered
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
}

impl RenderingStatement {
    /// Creates the statement about `files`, rendered by this `version` from the recording of an episode; `statement` is
    /// the SHA-256 of the job's own statement.
    #[must_use]
    pub fn of(
        (job, episode): (JobId, u32),
        files: &[Evidence],
        (recording, statement): (Sha256Digest, Sha256Digest),
        version: &str,
    ) -> Self {
        Self {
            statement_type: STATEMENT_TYPE.to_owned(),
            subject: files.iter().map(Evidence::descriptor).collect(),
            predicate_type: RENDERING_PREDICATE_TYPE.to_owned(),
            predicate: RenderingPredicate {
                note: NOTE.to_owned(),
                job_id: job.to_string(),
                episode,
                recording: sha256(recording),
                statement: ResourceDescriptor { name: JOB_STATEMENT.to_owned(), digest: sha256(statement) },
                service: ServiceInfo { name: "assay".to_owned(), version: version.to_owned() },
                worker: None,
            },
        }
    }

    /// Names the worker on another host that rendered the files.
    #[must_use]
    pub fn by(mut self, worker: Option<&str>) -> Self {
        self.predicate.worker = worker.map(str::to_owned);
        self
    }

    /// Returns the bytes to sign.
    ///
    /// # Errors
    /// [`StatementError::Json`] if the statement cannot be written as JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>, StatementError> {
        serde_json::to_vec(self).map_err(StatementError::Json)
    }
}

/// Checks the envelope in `file` like [`super::check`]; its payload must be a statement about rendered files.
///
/// # Errors
/// [`AttestError`] with the check that failed.
pub fn check_rendering(
    file: &[u8],
    keys: &PublishedKeys,
    keyid: Option<&str>,
) -> Result<(RenderingStatement, KnownKey), AttestError> {
    let (payload, key) = verify::signed(file, keys, keyid)?;
    let statement: RenderingStatement = serde_json::from_slice(&payload).map_err(|_| AttestError::Payload)?;
    let ours = statement.statement_type == STATEMENT_TYPE && statement.predicate_type == RENDERING_PREDICATE_TYPE;
    if ours { Ok((statement, key)) } else { Err(AttestError::Payload) }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::super::{Envelope, SigningKey, check};
    use super::*;

    #[test]
    fn statements_about_a_video_cannot_be_forged_or_taken_for_those_of_a_job() {
        let key = SigningKey::from_secret([7; 32]);
        let mut keys = PublishedKeys::default();
        let at = jiff::Timestamp::from_second(1_750_000_000).unwrap();
        keys.promote(&key.public(), at).unwrap();
        let files = [Evidence::new("video.mp4", Sha256Digest::new([0xaa; 32]))];
        let job: JobId = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
        let made = RenderingStatement::of(
            (job, 3),
            &files,
            (Sha256Digest::new([0xbb; 32]), Sha256Digest::new([0xcc; 32])),
            "1",
        );
        let envelope = Envelope::sign(&made.to_bytes().unwrap(), &key).unwrap();
        let text = serde_json::to_vec(&envelope).unwrap();
        let (read, by) = check_rendering(&text, &keys, None).unwrap();
        assert_eq!((read, by.keyid), (made, key.public().keyid().unwrap()));
        assert!(matches!(check(&text, &keys, None), Err(AttestError::Payload)), "it says nothing of a verdict");
        let other = SigningKey::from_secret([8; 32]);
        let mut others = PublishedKeys::default();
        others.promote(&other.public(), at).unwrap();
        assert!(matches!(check_rendering(&text, &others, None), Err(AttestError::UnknownSigner { .. })));
    }
}
