//! Rate limits of operations that forms of pages perform.

use super::caller::Caller;
use super::error::ApiError;
use crate::routes::RateClass;
use crate::state::App;

/// Counts an operation that a form of a page performs like a request to the API of this class.
///
/// # Errors
/// The limit of the key is used up, or the records failed.
pub(crate) async fn count_operation(app: &App, caller: &Caller, class: RateClass) -> Result<(), ApiError> {
    let admission = app.rate.admit(&caller.key.id, class, &app.settings.rate, app.clock.now()).await?;
    admission.refusal().map_or(Ok(()), Err)
}
