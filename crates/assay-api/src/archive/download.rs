//! Sends an archive. A task reads the entries and waits for the client, so that a slot is given back on time even if
//! the client stops reading: within the time that the archive takes at [`MIN_BYTES_PER_S`].

use std::io;
use std::pin::Pin;
use std::time::Duration;

use assay_store::JobRecord;
use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::contents::{ArchiveParts, Entry, Source, entries};
use super::zip_stream::ZipStream;
use crate::account_slots::AccountSlot;
use crate::http::{ApiError, Caller};
use crate::routes::erased;
use crate::state::App;

/// Number of pieces that wait for the client.
const PIECES: usize = 4;
/// Number of bytes read from a file at once.
const CHUNK_BYTES: usize = 64 << 10;
/// Minimum average rate of a download in bytes per second; slower ones are interrupted.
const MIN_BYTES_PER_S: u64 = 64 << 10;
/// Time that every download may take in addition.
const GRACE: Duration = Duration::from_secs(60);

/// The pieces of a file's content.
type FilePieces = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// Responds with the archive of a completed job.
///
/// # Errors
/// GONE: the evidence was removed. RATE_LIMITED or UNAVAILABLE: the account, or others, have downloads in progress.
pub(crate) async fn send(
    app: &App,
    caller: &Caller,
    record: &JobRecord,
    parts: ArchiveParts,
) -> Result<Response, ApiError> {
    if let Some(at) = record.removed.evidence_at.filter(|_| parts.evidence) {
        return Err(erased::gone("the job's evidence, except for its report, was removed", at));
    }
    let slot = app.download_slots.acquire(&caller.key.account)?;
    let entries = entries(app, record, parts).await?;
    let length = ZipStream::length(entries.iter().map(|entry| (entry.name.as_str(), entry.size)));
    let deadline = Instant::now() + GRACE + Duration::from_secs(length / MIN_BYTES_PER_S);
    let (pieces, receiver) = mpsc::channel(PIECES);
    let (app, job) = (app.clone(), record.header.job_id);
    tokio::spawn(async move {
        let sender = PieceSender { pieces, deadline };
        match write(&app, entries, &sender).await {
            Ok(()) | Err(ArchiveInterruption::Client) => {}
            Err(ArchiveInterruption::Source(error)) => {
                tracing::warn!(job.id = %job, %error, "an archive could not be sent completely");
                // The client notices that the archive is too short.
                drop(timeout_at(deadline, sender.pieces.send(Err(error))).await);
            }
        }
        drop::<AccountSlot>(slot);
    });
    let next =
        |mut receiver: mpsc::Receiver<io::Result<Bytes>>| async move { Some((receiver.recv().await?, receiver)) };
    let body = Body::from_stream(stream::unfold(receiver, next));
    let name = format!("attachment; filename=\"assay-{job}.zip\"");
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/zip")),
        (header::CONTENT_LENGTH, HeaderValue::from(length)),
        (header::ACCEPT_RANGES, HeaderValue::from_static("none")),
        (header::CONTENT_DISPOSITION, HeaderValue::from_str(&name).unwrap_or(HeaderValue::from_static("attachment"))),
    ];
    Ok((headers, body).into_response())
}

/// The reason why an archive was not sent completely.
enum ArchiveInterruption {
    /// The client left, or is too slow.
    Client,
    /// A file could not be read.
    Source(io::Error),
}

/// Passes pieces to the response.
struct PieceSender {
    pieces: mpsc::Sender<io::Result<Bytes>>,
    deadline: Instant,
}

impl PieceSender {
    async fn send(&self, piece: Bytes) -> Result<(), ArchiveInterruption> {
        match timeout_at(self.deadline, self.pieces.send(Ok(piece))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(ArchiveInterruption::Client),
        }
    }
}

async fn write(app: &App, entries: Vec<Entry>, to: &PieceSender) -> Result<(), ArchiveInterruption> {
    let mut zip = ZipStream::default();
    for entry in entries {
        to.send(zip.begin(&entry.name, entry.size)).await?;
        let (mut pieces, mut left) = (pieces(app, &entry).await.map_err(ArchiveInterruption::Source)?, entry.size);
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(ArchiveInterruption::Source)?;
            left = left.checked_sub(piece.len() as u64).ok_or_else(|| changed(&entry.name))?;
            zip.content(&piece);
            to.send(piece).await?;
        }
        if left > 0 {
            return Err(changed(&entry.name));
        }
        to.send(zip.end()).await?;
    }
    to.send(zip.finish()).await
}

fn changed(name: &str) -> ArchiveInterruption {
    ArchiveInterruption::Source(io::Error::other(format!("{name} does not have its recorded size")))
}

async fn pieces(app: &App, entry: &Entry) -> io::Result<FilePieces> {
    let path = match &entry.source {
        Source::Bytes(bytes) => {
            let bytes = bytes.clone();
            return Ok(Box::pin(stream::once(async move { Ok(bytes) })));
        }
        Source::Evidence(..) if entry.size == 0 => return Ok(Box::pin(stream::empty())),
        Source::Evidence(job, sha256) => {
            let found = app.blobs.read(*job, *sha256, 0..entry.size).await.map_err(io::Error::other)?;
            return Ok(Box::pin(found.map(|piece| piece.map_err(io::Error::other))));
        }
        Source::File(path) => path.as_path(),
        Source::Policy(file) => file.path(),
    };
    let file = tokio::fs::File::open(path).await?;
    let next = |mut file: tokio::fs::File| async move {
        let mut chunk = BytesMut::with_capacity(CHUNK_BYTES);
        let read = file.read_buf(&mut chunk).await?;
        Ok::<_, io::Error>((read > 0).then(|| (chunk.freeze(), file)))
    };
    Ok(Box::pin(stream::try_unfold(file, next)))
}
