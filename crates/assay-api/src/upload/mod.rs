//! Requests that carry a policy: streamed to the disk (`receive`), read (`fields`), checked and kept (`keep`).

mod fields;
mod keep;
mod receive;
mod server;

pub(crate) use fields::VerifyRequest;
pub(crate) use keep::{KeptPolicy, accept, disk_error, refusal};
pub use keep::{PrepareError, prepare_folders};
pub(crate) use receive::receive;
pub(crate) use server::ServerWish;
