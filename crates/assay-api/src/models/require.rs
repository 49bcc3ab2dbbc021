//! The models that a policy requires: its account must have uploaded them.

use assay_model::{AccountId, DeclaredModel};
use assay_store::ModelRecord;

use crate::http::{ApiError, ErrorCode};
use crate::state::App;

/// Checks that `account` has the models. The transaction that accepts a job checks it again.
///
/// # Errors
/// 422 names the first model that the account lacks, or whose size differs from the declared one.
pub(crate) async fn require(app: &App, account: &AccountId, models: &[DeclaredModel]) -> Result<(), ApiError> {
    for model in models {
        let found = app.records.model(account, model.sha256).await?.filter(ModelRecord::is_ready);
        let found = found.ok_or_else(|| ApiError::missing_model(model.sha256))?;
        if let Some(declared) = model.size_bytes.filter(|declared| *declared != found.size_bytes) {
            let message = format!(
                "the policy declares {declared} bytes for {}, but your model with the SHA-256 {} has {}",
                assay_model::sanitise(&model.path, 200),
                model.sha256,
                found.size_bytes
            );
            return Err(ApiError::new(ErrorCode::Unprocessable, message));
        }
    }
    Ok(())
}
