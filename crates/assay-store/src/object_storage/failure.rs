//! The classification of failed requests.

use std::error::Error;

use object_store::client::{HttpError, HttpErrorKind};

use super::{ObjectStorageError, ObjectStorageProblem};

/// Maximum length of an error code, in bytes.
const MAX_CODE: usize = 64;
/// Maximum length of a detail, in bytes.
const MAX_DETAIL: usize = 200;
/// Address of the service that gives credentials to machines in a cloud.
const METADATA: &str = "http://169.254.169.254";
/// Error codes of S3 (Amazon S3 API Reference, "List of error codes"), and of compatible stores.
const CODES: [(&str, ObjectStorageProblem); 23] = [
    ("NoSuchKey", ObjectStorageProblem::Missing),
    ("NoSuchBucket", ObjectStorageProblem::Bucket),
    ("InvalidBucketName", ObjectStorageProblem::Bucket),
    ("InvalidAccessKeyId", ObjectStorageProblem::Credentials),
    ("SignatureDoesNotMatch", ObjectStorageProblem::Credentials),
    ("InvalidToken", ObjectStorageProblem::Credentials),
    ("ExpiredToken", ObjectStorageProblem::Credentials),
    ("InvalidSecurity", ObjectStorageProblem::Credentials),
    ("TokenRefreshRequired", ObjectStorageProblem::Credentials),
    ("NotSignedUp", ObjectStorageProblem::Credentials),
    ("RequestTimeTooSkewed", ObjectStorageProblem::Clock),
    ("RequestExpired", ObjectStorageProblem::Clock),
    ("AuthorizationHeaderMalformed", ObjectStorageProblem::Region),
    ("PermanentRedirect", ObjectStorageProblem::Region),
    ("TemporaryRedirect", ObjectStorageProblem::Region),
    ("IllegalLocationConstraintException", ObjectStorageProblem::Region),
    ("AccessDenied", ObjectStorageProblem::Permission),
    ("AllAccessDisabled", ObjectStorageProblem::Permission),
    ("AccountProblem", ObjectStorageProblem::Permission),
    ("SlowDown", ObjectStorageProblem::Failing),
    ("ServiceUnavailable", ObjectStorageProblem::Failing),
    ("InternalError", ObjectStorageProblem::Failing),
    ("RequestTimeout", ObjectStorageProblem::Slow),
];

/// Classifies an error of the client library. Its text is read where it has no types: the status and the body of an
/// answer are part of it.
pub(super) fn classify(request: &'static str, error: &object_store::Error) -> ObjectStorageError {
    let text = chain(error);
    if let Some(http) = transport(error) {
        let (problem, detail) = match http.kind() {
            // The library asks the machine for credentials if it was given none.
            _ if text.contains(METADATA) => (ObjectStorageProblem::Credentials, "there is none".to_owned()),
            HttpErrorKind::Timeout => (ObjectStorageProblem::Slow, shortened(&innermost(http))),
            _ => (ObjectStorageProblem::Unreachable, shortened(&innermost(http))),
        };
        return ObjectStorageError { request, problem, detail };
    }
    let (code, status) = (code(&text), status(&text));
    let known = code.and_then(|code| CODES.iter().find(|(known, _)| *known == code)).map(|(_, problem)| *problem);
    let problem = known.unwrap_or_else(|| of_status(error, status, &text));
    let detail = match (status, code) {
        (Some(status), Some(code)) => format!("status {status}, {code}"),
        (Some(status), None) => format!("status {status}"),
        (None, Some(code)) => code.to_owned(),
        (None, None) => "no error code".to_owned(),
    };
    ObjectStorageError { request, problem, detail }
}

/// Returns the problem of an answer without a known error code.
fn of_status(error: &object_store::Error, status: Option<u16>, text: &str) -> ObjectStorageProblem {
    match (error, status) {
        (object_store::Error::NotFound { .. }, _) => ObjectStorageProblem::Missing,
        (object_store::Error::Unauthenticated { .. }, _) => ObjectStorageProblem::Credentials,
        (object_store::Error::PermissionDenied { .. }, _) => ObjectStorageProblem::Permission,
        (_, Some(429 | 500..=599)) => ObjectStorageProblem::Failing,
        (_, Some(300..=399)) => ObjectStorageProblem::Region,
        (_, None) if text.contains("redirect without LOCATION") => ObjectStorageProblem::Region,
        _ => ObjectStorageProblem::Other,
    }
}

/// Returns the error of the connection that is the cause.
fn transport(error: &object_store::Error) -> Option<&HttpError> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref::<HttpError>() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}

/// Returns the text of the innermost cause, which is that of the system.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

fn chain(error: &(dyn Error + 'static)) -> String {
    assay_model::ErrorChain(error).to_string()
}

/// Returns the error code in the body of an answer, or of an object in the answer to a deletion of several.
fn code(text: &str) -> Option<&str> {
    let of_answer = || text.split_once("<Code>")?.1.split_once("</Code>");
    let of_object = || text.split_once("(code: ")?.1.split_once(')');
    let (code, _) = of_answer().or_else(of_object)?;
    (code.len() <= MAX_CODE && code.chars().all(|c| c.is_ascii_alphanumeric())).then_some(code)
}

/// Returns the status of an answer.
fn status(text: &str) -> Option<u16> {
    text.split_once("status code: ")?.1.get(..3)?.parse().ok()
}

fn shortened(text: &str) -> String {
    assay_model::sanitise(text, MAX_DETAIL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generic(text: &str) -> object_store::Error {
        object_store::Error::Generic { store: "S3", source: text.into() }
    }

    fn answer(status: &str, code: &str) -> String {
        let body = format!("<Error><Code>{code}</Code><AWSAccessKeyId>AKIA-1</AWSAccessKeyId></Error>");
        format!("Error performing PUT https://x in 1 s - Server returned non-2xx status code: {status}: {body}")
    }

    #[test]
    fn the_code_of_an_answer_decides() {
        for (text, problem) in [
            (answer("403 Forbidden", "SignatureDoesNotMatch"), ObjectStorageProblem::Credentials),
            (answer("403 Forbidden", "RequestTimeTooSkewed"), ObjectStorageProblem::Clock),
            (answer("404 Not Found", "NoSuchBucket"), ObjectStorageProblem::Bucket),
            (answer("404 Not Found", "NoSuchKey"), ObjectStorageProblem::Missing),
            (answer("400 Bad Request", "AuthorizationHeaderMalformed"), ObjectStorageProblem::Region),
            (answer("503 Service Unavailable", "SlowDown"), ObjectStorageProblem::Failing),
            (answer("502 Bad Gateway", "Unheard"), ObjectStorageProblem::Failing),
            (answer("418 I'm a teapot", "Unheard"), ObjectStorageProblem::Other),
            (
                "DeleteObjects request failed for key x: no (code: AccessDenied)".into(),
                ObjectStorageProblem::Permission,
            ),
            ("Received redirect without LOCATION, this".to_owned(), ObjectStorageProblem::Region),
            ("anything".to_owned(), ObjectStorageProblem::Other),
        ] {
            let error = classify("upload", &generic(&text));
            assert_eq!(error.problem, problem, "{text}");
            assert!(!error.to_string().contains("AKIA-1"), "{error}");
        }
    }

    #[test]
    fn without_a_code_the_kind_of_the_error_decides() {
        let source = || "status code: 404 Not Found: ".into();
        let missing = object_store::Error::NotFound { path: "x".into(), source: source() };
        assert_eq!(classify("download", &missing).problem, ObjectStorageProblem::Missing);
        let denied = object_store::Error::PermissionDenied { path: "x".into(), source: source() };
        assert_eq!(classify("download", &denied).problem, ObjectStorageProblem::Permission);
    }

    #[test]
    fn the_message_names_the_next_step() {
        let error = classify("upload", &generic(&answer("404 Not Found", "NoSuchBucket")));
        let expected = "the object store has no such bucket (upload: status 404, NoSuchBucket); create the bucket, or \
                        change blobs.url";
        assert_eq!(error.to_string(), expected);
    }
}
