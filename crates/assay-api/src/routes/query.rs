//! Strict parsing of query strings: a parameter that is repeated, empty or out of range is rejected by name. Parameters
//! that are not read are ignored.

use std::str::FromStr;

use crate::http::ApiError;

pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(raw: Option<&str>) -> Self {
        Self(form_urlencoded::parse(raw.unwrap_or_default().as_bytes()).into_owned().collect())
    }

    /// Returns the value of `name`, or `None` if it is absent.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>, ApiError> {
        let mut values = self.0.iter().filter(|(n, _)| n == name).map(|(_, v)| v.as_str());
        match (values.next(), values.next()) {
            (None, _) => Ok(None),
            (Some(""), None) => Err(ApiError::invalid(name, Some(""), format!("{name} is empty"))),
            (Some(value), None) => Ok(Some(value)),
            (Some(_), Some(second)) => Err(ApiError::invalid(name, Some(second), format!("{name} is given twice"))),
        }
    }

    /// Returns the integer value of `name`, from `low` to `high`, or `default` if it is absent.
    pub(crate) fn number(&self, name: &str, default: u32, low: u32, high: u32) -> Result<u32, ApiError> {
        let Some(text) = self.text(name)? else { return Ok(default) };
        let digits = text.bytes().all(|b| b.is_ascii_digit());
        let value = digits.then(|| u32::from_str(text).ok()).flatten().filter(|n| (low..=high).contains(n));
        let message = || format!("{name} must be a whole number from {low} to {high}");
        value.ok_or_else(|| ApiError::invalid(name, Some(text), message()))
    }
}
