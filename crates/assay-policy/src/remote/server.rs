//! Policy server of a job.

use assay_model::Secret;

use super::endpoint::ServerEndpoint;

/// A policy server, as specified by a job.
#[derive(Debug, Clone)]
pub struct PolicyServer {
    /// Its address.
    pub endpoint: ServerEndpoint,
    /// The key that it requires.
    pub api_key: Option<Secret>,
    /// Actions of an answer that are executed before the next request; all of them if absent.
    pub replan_steps: Option<u32>,
}
