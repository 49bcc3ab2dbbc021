//! Requests with a policy: streamed to the disk (`form`), parsed (`verification`, `submission`), checked and stored
//! (`stored_policy`).

mod body_timer;
mod callback;
mod folders;
mod form;
mod labels;
mod policy_archives;
mod policy_server;
mod stored_policy;
mod submission;
mod text_parts;
mod verification;

pub(crate) use body_timer::BodyTimer;
pub(crate) use callback::callback_url;
pub use folders::{PrepareError, prepare_folders, remove_partial_uploads};
pub(crate) use form::{
    ARENA_PAGE_PARTS, PAGE_PARTS, SCENARIO_PAGE_PARTS, SCENARIO_PARTS, SUBMISSION_PARTS, UploadForm, VERIFY_PARTS,
    receive,
};
pub use policy_archives::PolicyArchives;
pub(crate) use policy_server::PolicyServerRequest;
pub(crate) use stored_policy::{ArchiveRemovalError, StoredPolicy, accept, discard, intake_error, remove_archive};
pub(crate) use submission::SubmissionRequest;
pub(crate) use verification::{VerifyRequest, within_archive_budget};
