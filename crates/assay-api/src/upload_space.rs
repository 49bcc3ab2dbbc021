//! The disk space that uploads reserve: each upload its announced size, before its body is read.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_model::AccountId;
use assay_store::{Site, UploadCount, WorkerName};

use crate::ApiSettings;
use crate::http::{ApiError, ErrorCode, OverLimit};

/// Retry delay in seconds when the disk is full: space is freed by the operator, or by the removal of old evidence.
const FULL_RETRY_S: u64 = 60;
/// Retry delay in seconds when other uploads hold the space: about the duration of an upload.
const BODIES_RETRY_S: u64 = 10;
/// `frees_when` of an account at its limit of concurrent uploads.
const UPLOAD_ENDS: &str = "when one of your account's uploads ends";
const MIB: u64 = 1 << 20;

/// The message to clients and orchestrators.
pub(crate) const FULL: &str = "the disk is nearly full; uploads are rejected until space is freed";

/// The account or the worker that an upload counts for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Uploader {
    /// An account.
    Account(AccountId),
    /// A worker on another host. What it sends for an account's jobs must not keep that account from uploading.
    Worker(WorkerName),
}

/// The space reserved for uploads in progress; shared by all its clones.
#[derive(Debug, Clone, Default)]
pub struct UploadSpace {
    ledger: Arc<Mutex<Ledger>>,
    site: Site,
}

#[derive(Debug, Default)]
struct Ledger {
    /// Bytes announced by all uploads and not written yet.
    pending_bytes: u64,
    uploaders: HashMap<Uploader, UploadCount>,
}

/// Space reserved for one upload; released when dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    space: UploadSpace,
    uploader: Uploader,
    announced_bytes: u64,
    /// Not written yet.
    pending_bytes: u64,
}

impl UploadSpace {
    /// Creates the space of a server of the site.
    #[must_use]
    pub fn new(site: Site) -> Self {
        Self { ledger: Arc::default(), site }
    }

    /// Returns the uploads of this server by account, and the bytes that are announced and not written yet.
    pub(crate) fn in_progress(&self) -> (BTreeMap<AccountId, UploadCount>, u64) {
        let ledger = self.lock();
        let of_accounts = ledger.uploaders.iter().filter_map(|(uploader, count)| match uploader {
            Uploader::Account(account) => Some((account.clone(), *count)),
            Uploader::Worker(_) => None,
        });
        (of_accounts.collect(), ledger.pending_bytes)
    }

    /// Reserves space for an upload of `announced_bytes` of `uploader`, out of the `available_bytes` for all uploads.
    ///
    /// # Errors
    /// 429 names the uploader's limit that is reached; 503: the disk has no space for it beside the others.
    pub(crate) fn reserve(
        &self,
        settings: &ApiSettings,
        available_bytes: u64,
        uploader: Uploader,
        announced_bytes: u64,
    ) -> Result<Reservation, ApiError> {
        let (others, mut ledger) = (self.site.others(), self.lock());
        let pending = others.iter().map(|server| server.pending_bytes).fold(ledger.pending_bytes, u64::saturating_add);
        let left = available_bytes.saturating_sub(pending);
        let here = ledger.uploaders.get(&uploader).copied().unwrap_or_default();
        match &uploader {
            Uploader::Account(account) => {
                let own = others.iter().filter_map(|server| server.uploads.get(account)).fold(here, plus);
                admit(own, settings, left, announced_bytes)?;
            }
            Uploader::Worker(_) => admit_evidence(here, left, announced_bytes)?,
        }
        if announced_bytes > left {
            let message = format!(
                "the disk has room for {} MiB of uploads, but this one needs {} MiB; try again later",
                left / MIB,
                announced_bytes.div_ceil(MIB)
            );
            return Err(ApiError::try_again(ErrorCode::Unavailable, &message, FULL_RETRY_S));
        }
        ledger.pending_bytes += announced_bytes;
        let own = ledger.uploaders.entry(uploader.clone()).or_default();
        (own.bodies, own.bytes) = (own.bodies + 1, own.bytes + announced_bytes);
        Ok(Reservation { space: self.clone(), uploader, announced_bytes, pending_bytes: announced_bytes })
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Checks whether another upload of an account with these is within its limits, where `left` bytes of the disk are not
/// reserved. With several uploads, one account never holds more than half of the space that uploads may use.
fn admit(own: UploadCount, settings: &ApiSettings, left: u64, announced_bytes: u64) -> Result<(), ApiError> {
    let limits = &settings.account;
    if own.bodies == 0 {
        return Ok(());
    }
    if own.bodies >= limits.uploads {
        let over = OverLimit::when("uploads", limits.uploads, own.bodies, UPLOAD_ENDS);
        let message = format!("your account has {} of {} uploads in progress", own.bodies, limits.uploads);
        return Err(ApiError::over_limit(&over, message, BODIES_RETRY_S));
    }
    let bytes = own.bytes.saturating_add(announced_bytes);
    let maximum = limits.uploading_mib.saturating_mul(MIB).min(own.bytes.saturating_add(left) / 2);
    if bytes <= maximum {
        return Ok(());
    }
    let (maximum, current) = (maximum / MIB, own.bytes.div_ceil(MIB));
    let over = OverLimit::when("uploading_mib", maximum, current, UPLOAD_ENDS);
    let message = format!(
        "your account has {current} of {maximum} MiB of uploads in progress, and this one needs {} MiB",
        announced_bytes.div_ceil(MIB)
    );
    Err(ApiError::over_limit(&over, message, BODIES_RETRY_S))
}

/// Checks the same for a worker with these uploads, whose lanes each send several files at once.
fn admit_evidence(own: UploadCount, left: u64, announced_bytes: u64) -> Result<(), ApiError> {
    if own.bodies == 0 || own.bytes.saturating_add(announced_bytes) <= own.bytes.saturating_add(left) / 2 {
        return Ok(());
    }
    let message = "the worker's evidence in progress would take half of the space for uploads; send it again later";
    Err(ApiError::try_again(ErrorCode::Unavailable, message, BODIES_RETRY_S))
}

fn plus(sum: UploadCount, more: &UploadCount) -> UploadCount {
    UploadCount { bodies: sum.bodies.saturating_add(more.bodies), bytes: sum.bytes.saturating_add(more.bytes) }
}

impl Reservation {
    /// Uses `bytes` of the reservation for data that is about to be written, where `available_bytes` are left.
    ///
    /// # Errors
    /// 503: the space was used otherwise meanwhile, and writing would use the reserve.
    pub(crate) fn write(&mut self, available_bytes: u64, bytes: u64) -> Result<(), ApiError> {
        if available_bytes < bytes {
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
        if let Some(own) = ledger.uploaders.get_mut(&self.uploader) {
            (own.bodies, own.bytes) = (own.bodies - 1, own.bytes - self.announced_bytes);
            if own.bodies == 0 {
                ledger.uploaders.remove(&self.uploader);
            }
        }
    }
}

/// Returns the error for a request that needs space on a full disk.
pub(crate) fn full() -> ApiError {
    ApiError::try_again(ErrorCode::Unavailable, FULL, FULL_RETRY_S)
}
