//! JSON request bodies and responses.

use assay_model::{plain_complaint, sanitise, unsigned_zero};
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::ser::{CompactFormatter, Formatter};

use super::{ApiError, Caller, ErrorCode, IdempotencyGuard};
use crate::state::App;

/// Maximum length of a request body, in bytes.
const MAX_BODY_BYTES: usize = 16 << 10;

/// Maximum length of a parser message in an error, in bytes.
const MAX_COMPLAINT_BYTES: usize = 300;
/// Initial capacity of a response: most jobs need less, so writing does not reallocate.
const ANSWER_BYTES: usize = 4 << 10;

/// A JSON response.
#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        let mut text = Vec::with_capacity(ANSWER_BYTES);
        let mut serializer = serde_json::Serializer::with_formatter(&mut text, UnsignedZeros);
        match self.0.serialize(&mut serializer) {
            Ok(()) => ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], text).into_response(),
            Err(error) => ApiError::internal("could not serialise a response", &error).into_response(),
        }
    }
}

/// Writes compact JSON without negative zeros, which some languages read as another number than zero.
struct UnsignedZeros;

impl Formatter for UnsignedZeros {
    fn write_f64<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, value: f64) -> std::io::Result<()> {
        CompactFormatter.write_f64(writer, unsigned_zero(value))
    }
}

/// Reads the body, which must be a JSON object with the content type `application/json`.
pub(crate) async fn json_body(app: &App, request: Request) -> Result<Value, ApiError> {
    if !is_json(&request) {
        return Err(not_json());
    }
    let guard = IdempotencyGuard::of(&request);
    let value = parse(&receive_body(app, request).await?)?;
    if let Some(guard) = guard {
        guard.begin(|content| content.add_json(&value)).await?;
    }
    Ok(value)
}

/// Like [`json_body`] for a request whose body is optional; `null` counts as absent.
pub(crate) async fn optional_json_body(app: &App, request: Request) -> Result<Option<Value>, ApiError> {
    let (says_json, is_silent) = (is_json(&request), !request.headers().contains_key(header::CONTENT_TYPE));
    let guard = IdempotencyGuard::of(&request);
    let body = receive_body(app, request).await?;
    let value = match &*body {
        b"" if is_silent => None,
        b"null" if says_json => None,
        _ if says_json => Some(parse(&body)?),
        _ => return Err(not_json()),
    };
    if let Some(guard) = guard {
        guard.begin(|content| value.iter().for_each(|value| content.add_json(value))).await?;
    }
    Ok(value)
}

async fn receive_body(app: &App, request: Request) -> Result<Bytes, ApiError> {
    let caller = request.extensions().get::<Caller>().cloned();
    let body = read(app, request.into_body()).await?;
    if let Some(caller) = caller {
        caller.revalidate(app).await?;
    }
    Ok(body)
}

fn is_json(request: &Request) -> bool {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|k| k.trim().eq_ignore_ascii_case("application/json"))
}

fn not_json() -> ApiError {
    ApiError::new(ErrorCode::UnsupportedMediaType, "send the request as application/json")
}

/// Accepts a request without a body; a body is left unread.
pub(crate) async fn no_body(request: Request) -> Result<(), ApiError> {
    match IdempotencyGuard::of(&request) {
        Some(guard) => guard.begin(|_| ()).await,
        None => Ok(()),
    }
}

async fn read(app: &App, body: Body) -> Result<Bytes, ApiError> {
    let body = tokio::time::timeout(app.settings.uploads.idle_s.get(), to_bytes(body, MAX_BODY_BYTES)).await;
    let body = body.map_err(|_| ApiError::new(ErrorCode::Timeout, "the body was not received in time"))?;
    body.map_err(|_| {
        ApiError::new(
            ErrorCode::PayloadTooLarge,
            format!("the body is incomplete, or longer than {MAX_BODY_BYTES} bytes"),
        )
    })
}

fn parse(body: &Bytes) -> Result<Value, ApiError> {
    let mut value: Value = serde_json::from_slice(body).map_err(|e| {
        ApiError::invalid("body", None, format!("the body is not JSON: {}", plain_complaint(&e.to_string())))
    })?;
    whole_numbers(&mut value);
    // Serde would accept an array for a struct.
    if value.is_object() { Ok(value) } else { Err(ApiError::invalid("body", None, "the body must be a JSON object")) }
}

/// Replaces numbers such as `2.0` with integers: JSON Schema accepts them as integers, serde does not.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            // Below 2^53 the conversion is exact.
            let whole = number.as_f64().filter(|x| x.fract() == 0.0 && x.abs() < 9e15 && !number.is_i64());
            if let Some(whole) = whole.and_then(|x| format!("{x:.0}").parse::<i64>().ok()) {
                *number = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        _ => {}
    }
}

/// Deserialises a body. An error names the field, and its value unless `is_secret`.
pub(crate) fn read_body<T: DeserializeOwned>(body: &Value, is_secret: bool) -> Result<T, ApiError> {
    serde_path_to_error::deserialize(body).map_err(|error| {
        let complaint = sanitise(&error.inner().to_string(), MAX_COMPLAINT_BYTES);
        let path = error.path().to_string();
        // For an error at the top level, the message names the field.
        let field = named_field(&complaint).map_or_else(|| first_name(&path), str::to_owned);
        let value = body.get(&field).filter(|_| !is_secret);
        let value = value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        let plain = plain_complaint(&complaint);
        let message = if named_field(&complaint).is_some() { plain } else { format!("{path}: {plain}") };
        ApiError::invalid(&field, value.as_deref(), message)
    })
}

/// Returns the first name of a path: `scopes` for `scopes[1]`.
fn first_name(path: &str) -> String {
    match path.split(['[', '.']).next() {
        None | Some("") => "body".to_owned(),
        Some(name) => name.to_owned(),
    }
}

/// Returns the field that serde reports as missing or unknown, if the message is of that kind.
fn named_field(complaint: &str) -> Option<&str> {
    let named = ["missing field `", "unknown field `"].into_iter().find_map(|start| complaint.strip_prefix(start));
    named.and_then(|rest| rest.split_once('`')).map(|(name, _)| name)
}
