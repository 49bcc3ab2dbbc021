//! Requests that carry a policy: streamed to the disk (`receive`), read (`fields`), checked and kept (`keep`).

mod callback;
mod fields;
mod keep;
mod pace;
mod receive;
mod server;
mod submission;

pub(crate) use callback::callback;
pub(crate) use fields::{VerifyRequest, within_archive_budget};
pub(crate) use keep::{KeptPolicy, POLICIES, POLICIES_IN_USE, accept, disk_error, forget, refusal};
pub use keep::{PrepareError, prepare_folders};
pub(crate) use receive::{Form, SCENARIO_PARTS, SUBMISSION_PARTS, VERIFY_PARTS, receive};
pub(crate) use server::ServerWish;
pub(crate) use submission::SubmissionRequest;
