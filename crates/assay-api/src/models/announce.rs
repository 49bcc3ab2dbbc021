//! The announcement of a model, which reserves a part of its account's quota.

use assay_model::{ModelUploadId, Sha256Digest};
use assay_store::{AnnounceOutcome, ModelQuota, ModelRecord, NewModel};
use jiff::{SignedDuration, Timestamp};

use crate::disk::available_bytes;
use crate::http::{ApiError, Caller, ErrorCode};
use crate::state::App;
use crate::upload_space::full;

/// A model that a client announces.
#[derive(Debug)]
pub(crate) struct Announced {
    pub(crate) sha256: Sha256Digest,
    pub(crate) size_bytes: u64,
    pub(crate) name: Option<String>,
}

/// Creates the upload of a model. Returns it and true, or what the account has under this digest and false.
///
/// # Errors
/// 400: it is too large; 409: the account has this digest with another size; 429: the account's quota is used up; 503:
/// the disk has no space for it.
pub(crate) async fn announce(app: &App, caller: &Caller, model: Announced) -> Result<(ModelRecord, bool), ApiError> {
    let account = &caller.key.account;
    let most = app.settings.models.max_bytes;
    if model.size_bytes > most {
        let message = format!("size_bytes must be at most {most}, the largest size of a model");
        return Err(ApiError::invalid("size_bytes", Some(&model.size_bytes.to_string()), message));
    }
    if let Some(known) = app.records.model(account, model.sha256).await? {
        return known_as(known, model.size_bytes);
    }
    if available_bytes(app)? < model.size_bytes {
        return Err(full());
    }
    let (now, size_bytes) = (app.clock.now(), model.size_bytes);
    let new = NewModel {
        account: account.clone(),
        sha256: model.sha256,
        size_bytes,
        name: model.name,
        upload: ModelUploadId(app.new_id()),
        created_at: now,
        expires_at: expiry(app, now),
    };
    let limits = &app.settings.account;
    let quota = ModelQuota { models: limits.models, bytes: limits.models_mib << 20 };
    match app.records.announce_model(new, quota).await? {
        AnnounceOutcome::New(record) => Ok((record, true)),
        AnnounceOutcome::Known(known) => known_as(known, size_bytes),
    }
}

/// Returns the time at which an upload expires that receives nothing after `now`.
pub(super) fn expiry(app: &App, now: Timestamp) -> Timestamp {
    let age = SignedDuration::try_from(app.settings.models.unfinished_s.get()).unwrap_or(SignedDuration::MAX);
    now.saturating_add(age).unwrap_or(Timestamp::MAX)
}

fn known_as(known: ModelRecord, size_bytes: u64) -> Result<(ModelRecord, bool), ApiError> {
    if known.size_bytes == size_bytes {
        return Ok((known, false));
    }
    let message = format!(
        "your account has announced this digest with {} bytes, not {size_bytes}; a file has one size: delete the other \
         announcement if that was the wrong one",
        known.size_bytes
    );
    Err(ApiError::new(ErrorCode::Conflict, message))
}
