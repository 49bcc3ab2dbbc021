//! The form part with the URL for the webhook that reports the end of the job.

use assay_model::{AccountId, Secret};

use super::form::UploadForm;
use crate::http::ApiError;
use crate::links;
use crate::state::App;

/// Name of the part.
const PART: &str = "callback_url";

/// Returns the URL, if the form has one. Checks that it is well-formed and that messages to it can be signed.
pub(crate) async fn callback_url(
    app: &App,
    account: &AccountId,
    form: &UploadForm,
) -> Result<Option<Secret>, ApiError> {
    let Some(url) = form.texts.get(PART) else { return Ok(None) };
    if !links::is_address_known() {
        let message = format!(
            "{PART} requires that the service knows its own address, which the messages contain: its operator must set \
             server.public_url"
        );
        return Err(ApiError::invalid(PART, None, message));
    }
    // The error does not repeat the URL, which may contain a token.
    let refused = |message: String| ApiError::invalid(PART, None, message);
    let url = app.webhook_sender.check(url).map_err(|why| refused(format!("{PART} {why}")))?;
    if app.records.webhook_secrets(account).await?.is_none() {
        let message = format!(
            "{PART} requires a webhook secret of your account, which signs the messages: create it with POST \
             /webhooks/secret, then send this request again"
        );
        return Err(refused(message));
    }
    Ok(Some(url))
}
