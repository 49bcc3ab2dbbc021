//! The saved processors of a LeRobot checkpoint: they normalise the observation and restore the units of the action.

use serde::Deserialize;

use super::error::AdapterError;
use super::limits::MAX_FEATURES;

/// The file of the processor before the network, and the step that it must have.
pub(super) const BEFORE: (&str, &str) = ("policy_preprocessor.json", "normalizer_processor");
/// The file of the processor after the network, and the step that it must have.
pub(super) const AFTER: (&str, &str) = ("policy_postprocessor.json", "unnormalizer_processor");

#[derive(Deserialize)]
struct Processor {
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    registry_name: Option<String>,
    class: Option<String>,
    state_file: Option<String>,
}

/// Returns the files with the numbers of a processor's steps.
pub(super) fn state_files(file: &str, text: &[u8], needed: &str) -> Result<Vec<String>, AdapterError> {
    let wrong = |why: String| AdapterError::file(file, why);
    let processor: Processor = serde_json::from_slice(text).map_err(|error| {
        wrong(format!("is not a processor of LeRobot ({}); save the checkpoint again", error.classify_in_words()))
    })?;
    if processor.steps.len() > MAX_FEATURES {
        return Err(wrong(format!("has {} steps, but at most {MAX_FEATURES} are allowed", processor.steps.len())));
    }
    if processor.steps.iter().any(|step| step.class.is_some()) {
        let why = "a step names a class to import, which is not allowed; use LeRobot's own steps only";
        return Err(wrong(why.to_owned()));
    }
    if !processor.steps.iter().any(|step| step.registry_name.as_deref() == Some(needed)) {
        let why = format!(
            "has no step {needed}, so the network's numbers would have no units; convert the checkpoint with LeRobot's \
             `migrate_policy_normalization`"
        );
        return Err(wrong(why));
    }
    let files: Vec<String> = processor.steps.into_iter().filter_map(|step| step.state_file).collect();
    match files.iter().find(|name| name.contains('/') || !name.ends_with(".safetensors")) {
        Some(name) => Err(wrong(format!(
            "names the file {:?}; only files .safetensors beside it are read",
            super::error::shown(name)
        ))),
        None => Ok(files),
    }
}

/// Describes an error of JSON without the text that caused it.
pub(super) trait InWords {
    /// Returns the kind of the error and its place.
    fn classify_in_words(&self) -> String;
}

impl InWords for serde_json::Error {
    fn classify_in_words(&self) -> String {
        let kind = match self.classify() {
            serde_json::error::Category::Data => "a field is missing or has another type",
            serde_json::error::Category::Eof => "it ends too early",
            _ => "it is not JSON",
        };
        format!("{kind}, line {} column {}", self.line(), self.column())
    }
}
