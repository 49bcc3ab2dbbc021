//! The transfer of a file in pieces, which continues after interruptions.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::thread;
use std::time::Duration;

use anyhow::anyhow;
use indicatif::ProgressBar;
use serde_json::Value;

use super::bar::{BarReader, bar};
use crate::exit::{Failure, OrFail};
use crate::service_client::ServiceClient;

/// Maximum number of consecutive attempts without progress.
const MAX_ATTEMPTS: u32 = 10;
/// Pause after the first failed attempt; doubled each time.
const PAUSE: Duration = Duration::from_millis(500);
/// Maximum pause, also if the service requests a longer one.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// Statuses after which another attempt may succeed: too slow, another offset, over a limit, overloaded or restarting.
const AGAIN: [u16; 7] = [408, 409, 429, 500, 502, 503, 504];

/// The file to send.
#[derive(Debug)]
pub(super) struct UploadSource {
    pub(super) file: File,
    pub(super) size_bytes: u64,
    /// Size of a piece.
    pub(super) piece_bytes: u64,
}

/// A failed attempt.
enum PieceError {
    /// Another attempt may succeed, after this pause if the service requests one.
    Again(Failure, Option<Duration>),
    Fatal(Failure),
}

/// Sends what the service lacks of the file. `model` is the response to the announcement. Returns the complete model.
pub(super) fn transfer(client: &ServiceClient, mut source: UploadSource, mut model: Value) -> Result<Value, Failure> {
    let bar = bar("uploading", source.size_bytes);
    let (mut attempts, mut pause) = (0, PAUSE);
    while model["state"] != "READY" {
        let offset = offset(&model);
        model = match send(client, &mut source, &model, &bar) {
            Ok(next) => next,
            Err(PieceError::Fatal(failure)) => return Err(failure),
            Err(PieceError::Again(failure, requested)) => {
                attempts += 1;
                if attempts >= MAX_ATTEMPTS {
                    return Err(failure);
                }
                thread::sleep(requested.unwrap_or(pause).min(MAX_PAUSE));
                pause = (pause * 2).min(MAX_PAUSE);
                current(client, model)?
            }
        };
        if self::offset(&model) > offset {
            (attempts, pause) = (0, PAUSE);
        }
    }
    bar.finish_and_clear();
    Ok(model)
}

/// Sends the next piece.
fn send(
    client: &ServiceClient,
    source: &mut UploadSource,
    model: &Value,
    bar: &ProgressBar,
) -> Result<Value, PieceError> {
    let offset = offset(model);
    let length = source.size_bytes.saturating_sub(offset).min(source.piece_bytes);
    let seek = |file: &mut File| -> std::io::Result<u64> {
        file.seek(SeekFrom::Start(offset))?;
        Ok(file.metadata()?.len())
    };
    if seek(&mut source.file).or_usage().map_err(PieceError::Fatal)? != source.size_bytes {
        return Err(PieceError::Fatal(Failure::Usage(anyhow!("the file changed during the upload"))));
    }
    bar.set_position(offset);
    let content = BarReader { source: (&source.file).take(length), bar };
    let sent = client.append(&format!("/models/{}", upload_id(model)), offset, (content, length));
    let response = sent.or_internal().map_err(|failure| PieceError::Again(failure, None))?;
    match response.status {
        200 => Ok(response.body),
        status if AGAIN.contains(&status) => Err(PieceError::Again(response.failure(), response.retry_after)),
        _ => Err(PieceError::Fatal(response.failure())),
    }
}

/// Returns the current state of the upload, or the last known one if the service does not respond.
fn current(client: &ServiceClient, last: Value) -> Result<Value, Failure> {
    match client.get(&format!("/models/{}", upload_id(&last))) {
        Ok(response) if response.status == 200 => Ok(response.body),
        Ok(response) if !AGAIN.contains(&response.status) => Err(response.failure()),
        _ => Ok(last),
    }
}

fn offset(model: &Value) -> u64 {
    model["offset"].as_u64().unwrap_or(0)
}

fn upload_id(model: &Value) -> &str {
    model["upload_id"].as_str().unwrap_or_default()
}
