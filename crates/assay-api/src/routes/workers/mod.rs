//! Workers on other hosts: `/workers`, for operators. Workers themselves speak `/worker/v1`.

pub(in crate::routes) mod create;
pub(in crate::routes) mod drain;
pub(in crate::routes) mod list;
pub(in crate::routes) mod revoke;

use assay_store::WorkerName;

use crate::http::ApiError;

/// Parses the name of an existing worker.
pub(crate) fn existing(name: &str) -> Result<WorkerName, ApiError> {
    WorkerName::parse(name).ok_or_else(|| ApiError::not_found("worker"))
}
