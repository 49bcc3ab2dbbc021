//! The part of a path that names a model.

use assay_model::{ModelUploadId, Sha256Digest};
use assay_store::ModelRecord;

use crate::http::{ApiError, Caller};
use crate::state::App;

/// The digest of a model, or the id of its upload.
#[derive(Debug, Clone, Copy)]
enum ModelId {
    Digest(Sha256Digest),
    Upload(ModelUploadId),
}

/// Returns the model of the caller's account that `id` names, complete or not.
///
/// # Errors
/// 404: the account has none, whatever other accounts have.
pub(crate) async fn find(app: &App, caller: &Caller, id: &str) -> Result<ModelRecord, ApiError> {
    let account = &caller.key.account;
    let found = match parse(id) {
        Some(ModelId::Digest(sha256)) => app.records.model(account, sha256).await?,
        Some(ModelId::Upload(upload)) => app.records.model_upload(account, upload).await?,
        None => None,
    };
    found.ok_or_else(|| ApiError::not_found("model"))
}

fn parse(id: &str) -> Option<ModelId> {
    let digest = id.parse().map(ModelId::Digest);
    digest.ok().or_else(|| id.parse().ok().map(ModelId::Upload))
}
