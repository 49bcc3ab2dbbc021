//! Failures of a service that is not to be believed.

use anyhow::anyhow;

use crate::exit::Failure;

/// Returns the failure for content that is not what the report says.
pub(super) fn wrong(what: &str, problem: &str) -> Failure {
    Failure::Internal(anyhow!("{what} from the service {problem}"))
}
