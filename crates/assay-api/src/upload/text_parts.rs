//! Parsing of the text parts of a form.

use super::form::UploadForm;
use crate::http::ApiError;

/// Maximum length of a policy name, in characters.
pub(super) const MAX_NAME_CHARS: usize = 100;

/// Parses a whole number from 1 to `max`.
pub(super) fn parse_count(form: &UploadForm, field: &'static str, max: u32) -> Result<Option<u32>, ApiError> {
    parse_part(form, field, &format!("must be a whole number from 1 to {max}"), |text| {
        let digits = text.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten().filter(|n| (1..=max).contains(n))
    })
}

/// Parses a number between 0 and 1, both excluded.
pub(super) fn parse_probability(form: &UploadForm, field: &'static str) -> Result<Option<f64>, ApiError> {
    parse_part(form, field, "must be a number between 0 and 1, both excluded", |text| {
        text.parse().ok().filter(|x| *x > 0.0 && *x < 1.0)
    })
}

/// Parses the text part `field`; `None` if it is absent. An error states the `rule`.
pub(super) fn parse_part<T>(
    form: &UploadForm,
    field: &'static str,
    rule: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, ApiError> {
    let Some(text) = form.texts.get(field) else { return Ok(None) };
    match parse(text) {
        Some(value) => Ok(Some(value)),
        None => Err(ApiError::invalid(field, Some(text), format!("{field} {rule}"))),
    }
}
