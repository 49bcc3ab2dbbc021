//! Requests that carry a policy: streamed to the disk (`receive`), read (`fields`), checked and kept (`keep`).

mod fields;
mod keep;
mod receive;

pub(crate) use fields::VerifyRequest;
pub(crate) use keep::{KeptPolicy, accept};
pub use keep::{PrepareError, prepare_folders};
pub(crate) use receive::receive;
