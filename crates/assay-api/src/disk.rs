//! Free space on the disk of the data folder. Each upload reserves its announced size before its body is read, and free
//! space is checked again with every write, so that uploads never use the space that the records and the evidence of
//! running jobs need (`limits.disk.min_free_mib`), regardless of their number and rate.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_model::AccountId;
use assay_store::is_disk_full;

use crate::ApiSettings;
use crate::http::{ApiError, ErrorCode, OverLimit};
use crate::state::App;

/// Retry delay in seconds when the disk is full: space is freed by the operator, or by the removal of old evidence.
const FULL_RETRY_S: u64 = 60;
/// Retry delay in seconds when other uploads hold the space: about the duration of an upload.
const BODIES_RETRY_S: u64 = 10;
/// `frees_when` of an account at its limit of concurrent uploads.
const UPLOAD_ENDS: &str = "when one of your account's uploads ends";
const MIB: u64 = 1 << 20;

/// The message to clients and orchestrators.
pub(crate) const FULL: &str = "the disk is nearly full; uploads are rejected until space is freed";

/// The space reserved for uploads in progress; shared by all its clones.
#[derive(Debug, Clone, Default)]
pub struct UploadSpace(Arc<Mutex<Ledger>>);

#[derive(Debug, Default)]
struct Ledger {
    /// Bytes announced by all uploads and not written yet.
    pending_bytes: u64,
    accounts: HashMap<AccountId, InFlight>,
}

/// The uploads of an account in progress.
#[derive(Debug, Default)]
struct InFlight {
    bodies: u64,
    /// Bytes announced by them, written or not.
    bytes: u64,
}

/// Space reserved for one upload; released when dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    space: UploadSpace,
    account: AccountId,
    announced_bytes: u64,
    /// Not written yet.
    pending_bytes: u64,
}

/// Checks that the disk has space for uploads at all.
///
/// # Errors
/// 503: less than `limits.disk.min_free_mib` is free.
pub(crate) fn ensure_free_space(app: &App) -> Result<(), ApiError> {
    available(app).map(|_| ())
}

/// Returns the number of bytes that uploads may use.
fn available(app: &App) -> Result<u64, ApiError> {
    let free = app.storage.free_bytes().map_err(|e| ApiError::internal("could not read the free disk space", &e))?;
    free.checked_sub(app.settings.disk.min_free_mib.saturating_mul(MIB)).ok_or_else(full)
}

/// Returns the error for a request that needs space on a full disk.
pub(crate) fn full() -> ApiError {
    ApiError::try_again(ErrorCode::Unavailable, FULL, FULL_RETRY_S)
}

/// Maps an IO error: a full disk is temporary, anything else is an internal error.
pub(crate) fn disk_error(app: &App, error: &std::io::Error) -> ApiError {
    if is_disk_full(error) {
        app.storage.files_failed(&error.to_string());
        return full();
    }
    ApiError::internal("the disk failed", error)
}

impl UploadSpace {
    /// Reserves space for an upload of `announced_bytes` of `account`.
    ///
    /// # Errors
    /// 429 names the account's limit that is reached; 503: the disk has no space for it beside the others.
    pub(crate) fn reserve(
        &self,
        app: &App,
        account: &AccountId,
        announced_bytes: u64,
    ) -> Result<Reservation, ApiError> {
        let available = available(app)?;
        let mut ledger = self.lock();
        let left = available.saturating_sub(ledger.pending_bytes);
        ledger.accounts.get(account).map_or(Ok(()), |own| own.admit(&app.settings, left, announced_bytes))?;
        if announced_bytes > left {
            let message = format!(
                "the disk has room for {} MiB of uploads now, and this one announces {}; try again later",
                left / MIB,
                announced_bytes.div_ceil(MIB)
            );
            return Err(ApiError::try_again(ErrorCode::Unavailable, &message, FULL_RETRY_S));
        }
        ledger.pending_bytes += announced_bytes;
        let own = ledger.accounts.entry(account.clone()).or_default();
        (own.bodies, own.bytes) = (own.bodies + 1, own.bytes + announced_bytes);
        Ok(Reservation {
            space: self.clone(),
            account: account.clone(),
            announced_bytes,
            pending_bytes: announced_bytes,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InFlight {
    /// Checks whether another upload of the account is within its limits, where `left` bytes of the disk are not
    /// reserved. With several uploads, one account never holds more than half of the space that uploads may use.
    fn admit(&self, settings: &ApiSettings, left: u64, announced_bytes: u64) -> Result<(), ApiError> {
        let limits = &settings.account;
        if self.bodies >= limits.uploads {
            let over = OverLimit::when("uploads", limits.uploads, self.bodies, UPLOAD_ENDS);
            let message = format!("your account has {} uploads under way, of {}", self.bodies, limits.uploads);
            return Err(ApiError::over_limit(&over, message, BODIES_RETRY_S));
        }
        let bytes = self.bytes.saturating_add(announced_bytes);
        let maximum = limits.uploading_mib.saturating_mul(MIB).min(self.bytes.saturating_add(left) / 2);
        if bytes <= maximum {
            return Ok(());
        }
        let (maximum, current) = (maximum / MIB, self.bytes.div_ceil(MIB));
        let over = OverLimit::when("uploading_mib", maximum, current, UPLOAD_ENDS);
        let message = format!(
            "your account has uploads of {current} MiB under way, and this one announces {} more, of {maximum}",
            announced_bytes.div_ceil(MIB)
        );
        Err(ApiError::over_limit(&over, message, BODIES_RETRY_S))
    }
}

impl Reservation {
    /// Uses `bytes` of the reservation for data that is about to be written.
    ///
    /// # Errors
    /// 503: the space was used otherwise meanwhile, and writing would use the reserve.
    pub(crate) fn write(&mut self, app: &App, bytes: u64) -> Result<(), ApiError> {
        if available(app)? < bytes {
            return Err(full());
        }
        let written = bytes.min(self.pending_bytes);
        self.pending_bytes -= written;
        self.space.lock().pending_bytes -= written;
        Ok(())
    }

    /// Releases the part of the reservation that was announced but not received: the whole body is on the disk.
    pub(crate) fn settle(&mut self) {
        self.space.lock().pending_bytes -= std::mem::take(&mut self.pending_bytes);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.settle();
        let mut ledger = self.space.lock();
        if let Some(own) = ledger.accounts.get_mut(&self.account) {
            (own.bodies, own.bytes) = (own.bodies - 1, own.bytes - self.announced_bytes);
            if own.bodies == 0 {
                ledger.accounts.remove(&self.account);
            }
        }
    }
}
