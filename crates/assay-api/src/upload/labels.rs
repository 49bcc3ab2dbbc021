//! The labels that a job demands of its workers.

use std::collections::BTreeMap;

use super::form::UploadForm;
use crate::http::ApiError;

/// The part with the labels.
const PART: &str = "labels";
/// Maximum number of labels.
const MAX_LABELS: usize = 8;
/// Maximum length of a name or a value, in bytes, as for those of workers.
const MAX_LABEL_BYTES: usize = 64;

/// Parses `NAME=VALUE,NAME=VALUE`.
///
/// # Errors
/// 400: it is not such a list.
pub(super) fn read(form: &UploadForm) -> Result<BTreeMap<String, String>, ApiError> {
    let Some(text) = form.texts.get(PART) else { return Ok(BTreeMap::new()) };
    let is_part =
        |part: &str| (1..=MAX_LABEL_BYTES).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_graphic());
    let label = |label: &str| {
        let (name, value) = label.split_once('=')?;
        (is_part(name) && is_part(value)).then(|| (name.to_owned(), value.to_owned()))
    };
    let labels: Option<BTreeMap<_, _>> = text.split(',').map(label).collect();
    labels.filter(|labels| labels.len() <= MAX_LABELS && labels.len() == text.split(',').count()).ok_or_else(|| {
        let message = format!(
            "write NAME=VALUE,NAME=VALUE: at most {MAX_LABELS} labels with different names, each part of 1 to \
             {MAX_LABEL_BYTES} printable ASCII characters without spaces"
        );
        ApiError::invalid(PART, Some(text), message)
    })
}
