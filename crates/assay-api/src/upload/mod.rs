//! Requests that carry a policy: streamed to the disk (`receive`), read (`fields`), checked and kept (`keep`).

mod body_timer;
mod callback;
mod form;
mod policy_archives;
mod policy_server;
mod submission;
mod verification;

pub(crate) use callback::callback;
pub(crate) use form::{SCENARIO_PARTS, SUBMISSION_PARTS, UploadForm, VERIFY_PARTS, receive};
pub(crate) use policy_archives::{POLICIES, POLICIES_IN_USE, StoredPolicy, accept, disk_error, forget, refusal};
pub use policy_archives::{PrepareError, prepare_folders};
pub(crate) use policy_server::PolicyServerRequest;
pub(crate) use submission::SubmissionRequest;
pub(crate) use verification::{VerifyRequest, within_archive_budget};
