//! Multipart forms: the file is streamed to the disk, the other parts are short texts.

use std::collections::BTreeMap;
use std::future::Future;
use std::io::Write;
use std::path::PathBuf;

use assay_model::{Secret, Sha256Digest, Sha256Writer};
use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::{HeaderMap, StatusCode, header};
use http_body::Body as _;
use tempfile::NamedTempFile;

use super::body_timer::BodyTimer;
use super::folders::UPLOADS;
use crate::disk::{available_bytes, disk_error};
use crate::http::{ApiError, Caller, ErrorCode, IdempotencyGuard};
use crate::signed_urls::ContentHasher;
use crate::state::App;
use crate::upload_space::{Reservation, Uploader};

/// Maximum size of a text part, in bytes.
const MAX_TEXT_BYTES: usize = 4096;

/// Number of bytes of a file that are buffered before they are written.
const BUFFER_BYTES: usize = 64 * 1024;

/// The part with a secret: stored apart from the other texts, never shown.
const API_KEY: &str = "policy_api_key";

/// The text parts of `POST /verify`, besides `policy`.
const VERIFY_TEXTS: &[&str] = &[
    "policy_url",
    "connect",
    API_KEY,
    "policy_concurrency",
    "replan_steps",
    "scenario",
    "scenario_id",
    "num_episodes",
    "seed",
    "policy_key",
    "max_violation_probability",
    "confidence_level",
    "record",
    "policy_name",
    "callback_url",
    "labels",
];

/// The error for a submission with the URL of a policy server.
const NO_SERVERS: &str = "a submission is an archive: a policy server would see every secret episode of the season; send \
                          the zip in policy, or evaluate the server with POST /verify";

/// The error for a submission whose policy would connect.
const NO_CONNECTIONS: &str = "a submission is an archive: a policy that connects would see every secret episode of the \
                              season; send the zip in policy, or evaluate the policy with POST /verify";

/// The parts of a form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FormParts {
    /// Name of the archive's part.
    file: &'static str,
    texts: &'static [&'static str],
    /// Maximum size of the archive in bytes.
    max_bytes: fn(&App) -> u64,
}

/// The parts of `POST /verify`.
pub(crate) const VERIFY_PARTS: FormParts =
    FormParts { file: "policy", texts: VERIFY_TEXTS, max_bytes: |app| app.settings.uploads.max_bytes };

/// The parts of the page for submitting.
pub(crate) const PAGE_PARTS: FormParts = FormParts {
    texts: &[
        "csrf",
        "check",
        "scenario",
        "policy_url",
        API_KEY,
        "num_episodes",
        "max_violation_probability",
        "policy_name",
    ],
    ..VERIFY_PARTS
};

/// The parts of `POST /submissions`.
pub(crate) const SUBMISSION_PARTS: FormParts =
    FormParts { texts: &["scenario_id", "scenario", "name", "description", "callback_url"], ..VERIFY_PARTS };

/// The parts of the page for submitting to the arena.
pub(crate) const ARENA_PAGE_PARTS: FormParts =
    FormParts { texts: &["csrf", "scenario_id", "name", "description"], ..VERIFY_PARTS };

/// The parts of `POST /community/scenarios`.
pub(crate) const SCENARIO_PARTS: FormParts =
    FormParts { file: "scenario", texts: &["tags"], max_bytes: |app| app.settings.uploads.max_scenario_bytes };

/// The parts of the page for publishing a scenario.
pub(crate) const SCENARIO_PAGE_PARTS: FormParts = FormParts { texts: &["csrf", "tags"], ..SCENARIO_PARTS };

/// A completely received form. Its file is deleted with it, unless it is stored.
#[derive(Debug, Default)]
pub(crate) struct UploadForm {
    /// The archive: a policy or a scenario.
    pub(super) policy: Option<UploadedFile>,
    pub(super) texts: BTreeMap<&'static str, String>,
    /// The API key of the policy server.
    pub(super) api_key: Option<Secret>,
    /// The disk space of its file.
    space: Option<Reservation>,
}

impl UploadForm {
    /// Returns the path of the archive, valid as long as the form exists.
    pub(crate) fn archive(&self) -> Option<PathBuf> {
        self.policy.as_ref().map(|upload| upload.file.path().to_owned())
    }

    /// Claims the request's idempotency key for these parts.
    async fn begin(&self, guard: &IdempotencyGuard) -> Result<(), ApiError> {
        let parts = |content: &mut ContentHasher| {
            for (name, value) in &self.texts {
                content.add(name.as_bytes());
                content.add(value.as_bytes());
            }
            if let Some(key) = &self.api_key {
                content.add(API_KEY.as_bytes());
                content.add(key.reveal().as_bytes());
            }
            if let Some(policy) = &self.policy {
                content.add(b"file");
                content.add(policy.sha256.as_bytes());
            }
        };
        guard.begin(parts).await
    }

    /// Removes empty text parts: a browser sends every field.
    #[must_use]
    pub(crate) fn without_blanks(mut self) -> Self {
        self.texts.retain(|_, text| !text.trim().is_empty());
        self.api_key = self.api_key.filter(|key| !key.reveal().trim().is_empty());
        self
    }

    /// Returns a text part.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }
}

#[derive(Debug)]
pub(super) struct UploadedFile {
    /// SHA-256 of the file.
    sha256: Sha256Digest,
    pub(super) size_bytes: u64,
    pub(super) file: NamedTempFile,
    /// The file name that the client sent, unchecked.
    pub(super) name: Option<String>,
}

impl UploadedFile {
    /// Returns whether this is what a browser sends for a file field when none was chosen: no name and no content.
    fn is_unchosen(&self) -> bool {
        self.size_bytes == 0 && self.name.as_deref().is_some_and(str::is_empty)
    }
}

/// Receives the whole form. Disk space for all of it is reserved before its first byte is read, and held as long as the
/// form exists. An error names the invalid part.
pub(crate) async fn receive(
    app: &App,
    caller: &Caller,
    request: Request,
    parts: FormParts,
) -> Result<UploadForm, ApiError> {
    let parts = &parts;
    check_headers(app, request.headers(), parts)?;
    let announced = request.body().size_hint().exact();
    let reserved = announced.unwrap_or_else(|| max_form_bytes(app, parts));
    let uploader = Uploader::Account(caller.key.account.clone());
    let space = app.upload_space.reserve(&app.settings, available_bytes(app)?, uploader, reserved)?;
    let (timer, request) = with_timer(app, announced, request);
    let limit = app.settings.uploads.total_s;
    let form = tokio::time::timeout(limit.get(), read(FormReader { app, parts, timer, space }, request)).await;
    let late = |_| ApiError::new(ErrorCode::Timeout, format!("the request was not received within {limit} s"));
    let form = form.map_err(late)??;
    caller.revalidate(app).await?;
    Ok(form)
}

fn with_timer(app: &App, announced: Option<u64>, request: Request) -> (BodyTimer, Request) {
    let (head, body) = request.into_parts();
    let (timer, body) = BodyTimer::of(body, announced, &app.settings.uploads);
    (timer, Request::from_parts(head, body))
}

/// The reader of a form.
struct FormReader<'a> {
    app: &'a App,
    parts: &'a FormParts,
    timer: BodyTimer,
    space: Reservation,
}

async fn read(mut reader: FormReader<'_>, request: Request) -> Result<UploadForm, ApiError> {
    let parts = reader.parts;
    let guard = IdempotencyGuard::of(&request);
    let multipart = Multipart::from_request(request, &()).await;
    let mut multipart = multipart.map_err(|e| ApiError::invalid("body", None, e.body_text()))?;
    let mut form = UploadForm::default();
    while let Some(field) = reader.next_piece(multipart.next_field()).await? {
        let name = field.name().map(str::to_owned).unwrap_or_default();
        if name == parts.file {
            if form.policy.is_some() {
                return Err(ApiError::invalid(parts.file, None, format!("{name} is given twice")));
            }
            form.policy = Some(reader.file(field).await?).filter(|file| !file.is_unchosen());
        } else if let Some(known) = parts.texts.iter().copied().find(|known| *known == name) {
            let text = reader.text(known, field).await?;
            let is_second = match known {
                API_KEY => form.api_key.replace(Secret::new(text)).is_some(),
                _ => form.texts.insert(known, text).is_some(),
            };
            if is_second {
                return Err(ApiError::invalid(known, None, format!("{known} is given twice")));
            }
        } else {
            let shown = assay_model::sanitise(&name, 64);
            let message = match name.as_str() {
                "policy_url" if parts.file == VERIFY_PARTS.file => NO_SERVERS.to_owned(),
                "connect" if parts.file == VERIFY_PARTS.file => NO_CONNECTIONS.to_owned(),
                _ => format!("there is no part {shown:?}: use {}, {}", parts.file, parts.texts.join(", ")),
            };
            return Err(ApiError::invalid(if shown.is_empty() { "body" } else { &shown }, None, message));
        }
    }
    reader.space.settle();
    form.space = Some(reader.space);
    if let Some(guard) = guard {
        form.begin(&guard).await?;
    }
    Ok(form)
}

/// Returns the maximum size in bytes of a form with these parts.
fn max_form_bytes(app: &App, parts: &FormParts) -> u64 {
    let texts = (parts.texts.len() as u64 + 1) * (MAX_TEXT_BYTES as u64 + 1024);
    (parts.max_bytes)(app).saturating_add(texts)
}

fn check_headers(app: &App, headers: &HeaderMap, parts: &FormParts) -> Result<(), ApiError> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if !kind.split(';').next().is_some_and(|k| k.trim().eq_ignore_ascii_case("multipart/form-data")) {
        return Err(ApiError::new(ErrorCode::UnsupportedMediaType, "send the request as multipart/form-data"));
    }
    let length = headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|n| n > max_form_bytes(app, parts)) {
        return Err(too_large(app, parts));
    }
    Ok(())
}

fn too_large(app: &App, parts: &FormParts) -> ApiError {
    let limit = (parts.max_bytes)(app);
    ApiError::new(ErrorCode::PayloadTooLarge, format!("the {} archive may have at most {limit} bytes", parts.file))
}

impl FormReader<'_> {
    async fn file(&mut self, mut field: Field<'_>) -> Result<UploadedFile, ApiError> {
        let name = field.file_name().map(str::to_owned);
        let mut sink = FileSink { folder: self.app.data.join(UPLOADS), file: None, buffer: Vec::new() };
        let (mut size, mut hash) = (0_u64, Sha256Writer::default());
        while let Some(chunk) = self.next_piece(field.chunk()).await? {
            size = size.saturating_add(chunk.len() as u64);
            if size > (self.parts.max_bytes)(self.app) {
                return Err(too_large(self.app, self.parts));
            }
            hash.update(&chunk);
            sink.buffer.extend_from_slice(&chunk);
            if sink.buffer.len() >= BUFFER_BYTES {
                sink.file = Some(self.flush(&mut sink).await?);
            }
        }
        Ok(UploadedFile { file: self.flush(&mut sink).await?, name, sha256: hash.finish(), size_bytes: size })
    }

    async fn flush(&mut self, sink: &mut FileSink) -> Result<NamedTempFile, ApiError> {
        self.space.write(available_bytes(self.app)?, sink.buffer.len() as u64)?;
        sink.flush(self.app).await
    }

    async fn text(&self, name: &'static str, mut field: Field<'_>) -> Result<String, ApiError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = self.next_piece(field.chunk()).await? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MAX_TEXT_BYTES {
                return Err(ApiError::invalid(name, None, format!("{name} is longer than {MAX_TEXT_BYTES} bytes")));
            }
        }
        String::from_utf8(bytes).map_err(|_| ApiError::invalid(name, None, format!("{name} is not UTF-8 text")))
    }

    /// Waits for the next piece, within the limits of the body's timer.
    async fn next_piece<T>(&self, next: impl Future<Output = Result<T, MultipartError>>) -> Result<T, ApiError> {
        match self.timer.next(next).await? {
            Ok(value) => Ok(value),
            Err(e) if e.status() == StatusCode::PAYLOAD_TOO_LARGE => Err(too_large(self.app, self.parts)),
            Err(e) => {
                Err(ApiError::invalid("body", None, format!("the form is malformed or incomplete: {}", e.body_text())))
            }
        }
    }
}

/// A file that is being received. Data is buffered, so that a small file is written at once.
struct FileSink {
    folder: PathBuf,
    file: Option<NamedTempFile>,
    buffer: Vec<u8>,
}

impl FileSink {
    /// Writes the buffer to the file, which is created if needed, and returns it.
    async fn flush(&mut self, app: &App) -> Result<NamedTempFile, ApiError> {
        let (folder, file, buffer) = (self.folder.clone(), self.file.take(), std::mem::take(&mut self.buffer));
        let written = tokio::task::spawn_blocking(move || {
            let mut file = file.map_or_else(|| NamedTempFile::with_suffix_in(".zip", &folder), Ok)?;
            file.write_all(&buffer).map(|()| file)
        });
        let written = written.await.map_err(|e| ApiError::internal("writing an upload panicked", &e))?;
        written.map_err(|e| disk_error(app, &e))
    }
}
