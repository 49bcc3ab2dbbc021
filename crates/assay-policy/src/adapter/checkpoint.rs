//! A LeRobot checkpoint, as far as it can be checked without LeRobot.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::declaration::{AdapterInput, InputSource, PolicyAdapter};
use super::error::{AdapterError, shown};
use super::files::{PolicyFiles, ReadStart, missing};
use super::limits::{MAX_CHUNK, MAX_FEATURES, MAX_JSON_BYTES};
use super::processors::{self, InWords};
use super::safetensors;

const CONFIG: &str = "config.json";
const WEIGHTS: &str = "model.safetensors";
const ACTION: &str = "action";
/// The architectures that the adapter loads.
const KINDS: [&str; 2] = ["act", "diffusion"];
/// Endings of files that run code when they are loaded.
const PICKLES: [&str; 6] = ["bin", "ckpt", "pickle", "pkl", "pt", "pth"];

/// The parts of `config.json` that matter here.
#[derive(Debug, Deserialize)]
pub(super) struct Checkpoint {
    r#type: String,
    input_features: BTreeMap<String, Feature>,
    output_features: BTreeMap<String, Feature>,
    /// Number of actions executed before the network runs again.
    pub(super) n_action_steps: u32,
}

#[derive(Debug, Deserialize)]
struct Feature {
    r#type: String,
    shape: Vec<u32>,
}

impl Checkpoint {
    /// Reads the checkpoint in `folder`: its configuration, and the headers of its weights and processors.
    pub(super) fn read<E>(
        files: &PolicyFiles<'_>,
        folder: &str,
        read: ReadStart<'_, E>,
    ) -> Result<Result<Self, AdapterError>, E> {
        let path = |name: &str| format!("{folder}/{name}");
        if let Some(pickle) = files.names_in(folder).find(|name| is_pickle(name)) {
            let why = "is a pickle, which runs code when it is loaded; save the weights as safetensors and remove it";
            return Ok(Err(AdapterError::file(&path(pickle), why)));
        }
        let mut json = |name: &str| text(files, &path(name), read);
        let (config, before, after) = (json(CONFIG)?, json(processors::BEFORE.0)?, json(processors::AFTER.0)?);
        let parsed = config.and_then(|config| Self::parse(&path(CONFIG), &config)).and_then(|checkpoint| {
            let mut states = processors::state_files(&path(processors::BEFORE.0), &before?, processors::BEFORE.1)?;
            states.extend(processors::state_files(&path(processors::AFTER.0), &after?, processors::AFTER.1)?);
            Ok((checkpoint, states))
        });
        let (checkpoint, states) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => return Ok(Err(error)),
        };
        for name in states.iter().map(String::as_str).chain([WEIGHTS]) {
            let path = path(name);
            let Some(index) = files.find(&path) else {
                // Large weights may be a declared model, which was checked when it was uploaded.
                if files.has(&path) {
                    continue;
                }
                return Ok(Err(missing(&path)));
            };
            let start = read(index, safetensors::START_BYTES)?;
            if let Err(why) = safetensors::check(&start.bytes, start.total) {
                return Ok(Err(AdapterError::file(&path, why)));
            }
        }
        Ok(Ok(checkpoint))
    }

    /// Reads `config.json`, whose path is `file`.
    pub(super) fn parse(file: &str, text: &[u8]) -> Result<Self, AdapterError> {
        let wrong = |why: String| AdapterError::file(file, why);
        let config: Self = serde_json::from_slice(text).map_err(|error| {
            wrong(format!("is not the configuration of a LeRobot policy ({})", error.classify_in_words()))
        })?;
        if !KINDS.contains(&config.r#type.as_str()) {
            let why = format!(
                "is of the type {:?}, but the adapter loads {}; run it as a policy server, or export it to ONNX",
                shown(&config.r#type),
                KINDS.join(" and ")
            );
            return Err(wrong(why));
        }
        if config.input_features.len() > MAX_FEATURES || config.output_features.len() > MAX_FEATURES {
            return Err(wrong(format!("has too many features; at most {MAX_FEATURES} are allowed")));
        }
        if !(1..=MAX_CHUNK).contains(&config.n_action_steps) {
            return Err(wrong(format!("n_action_steps is {}; it must be 1 to {MAX_CHUNK}", config.n_action_steps)));
        }
        Ok(config)
    }

    /// Compares the features with the declaration.
    pub(super) fn check(&self, adapter: &PolicyAdapter) -> Result<(), AdapterError> {
        for input in &adapter.inputs {
            let feature = self.input_features.get(&input.name).ok_or_else(|| {
                let known: Vec<_> = self.input_features.keys().map(|name| shown(name)).collect();
                let why =
                    format!("the checkpoint has no such input; it has {}. Correct the input's name", known.join(", "));
                AdapterError::feature(&input.name, why)
            })?;
            feature.check(input)?;
        }
        for (name, feature) in &self.input_features {
            if !adapter.inputs.iter().any(|input| input.name == *name) {
                let why = format!(
                    "the checkpoint needs it, with shape {:?}; add an input of this name, with its arrays or image",
                    feature.shape
                );
                return Err(AdapterError::feature(name, why));
            }
        }
        let units = adapter.action.units.len();
        match self.output_features.iter().next() {
            Some((name, feature)) if name == ACTION && self.output_features.len() == 1 => {
                if feature.shape != [u32::try_from(units).unwrap_or(u32::MAX)] {
                    let why = format!(
                        "the checkpoint's has shape {:?}, but the declaration has units of shape [{units}]; give the unit of each number",
                        feature.shape
                    );
                    return Err(AdapterError::feature(ACTION, why));
                }
            }
            _ => return Err(AdapterError::feature(ACTION, "it must be the only output of the checkpoint")),
        }
        match adapter.action.replan_steps {
            Some(steps) if steps > self.n_action_steps => {
                let why = format!(
                    "is {steps}, but the checkpoint executes {} actions (n_action_steps); use at most that",
                    self.n_action_steps
                );
                Err(AdapterError::key("action.replan_steps", why))
            }
            _ => Ok(()),
        }
    }
}

impl Feature {
    /// Compares it with its declaration.
    fn check(&self, input: &AdapterInput) -> Result<(), AdapterError> {
        let wrong = |why: String| Err(AdapterError::feature(&input.name, why));
        match (&input.source, self.r#type == "VISUAL") {
            (InputSource::Arrays(arrays), false) => {
                if self.shape != [input.size()] {
                    let parts: Vec<_> =
                        arrays.iter().map(|array| format!("{} [{}]", shown(&array.name), array.size)).collect();
                    return wrong(format!(
                        "the checkpoint's has shape {:?}, but its arrays have shape [{}] together ({}); list the arrays it was trained with, in their order",
                        self.shape,
                        input.size(),
                        parts.join(", ")
                    ));
                }
            }
            (InputSource::Image { shape, .. }, true) => {
                let is_image = matches!(self.shape[..], [3, height, width] if height > 0 && width > 0);
                if !is_image || shape.is_some_and(|shape| self.shape != shape) {
                    return wrong(format!(
                        "the checkpoint's has shape {:?}, but the declaration has {}; remove shape, or correct it",
                        self.shape,
                        shape.map_or_else(
                            || "an image of shape [3, height, width]".to_owned(),
                            |shape| format!("{shape:?}")
                        )
                    ));
                }
            }
            (InputSource::Arrays(_), true) => {
                return wrong(format!("it is an image of shape {:?}; give image instead of arrays", self.shape));
            }
            (InputSource::Image { .. }, false) => {
                return wrong(format!("it is an array of shape {:?}; give arrays instead of image", self.shape));
            }
        }
        Ok(())
    }
}

fn is_pickle(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, ending)| PICKLES.contains(&ending.to_ascii_lowercase().as_str()))
}

/// Returns the content of a JSON file.
fn text<E>(files: &PolicyFiles<'_>, path: &str, read: ReadStart<'_, E>) -> Result<Result<Vec<u8>, AdapterError>, E> {
    let Some(index) = files.find(path) else {
        return Ok(Err(missing(path)));
    };
    let start = read(index, MAX_JSON_BYTES)?;
    if start.total > MAX_JSON_BYTES as u64 {
        let why = format!("has {} bytes, but at most {MAX_JSON_BYTES} are allowed", start.total);
        return Ok(Err(AdapterError::file(path, why)));
    }
    Ok(Ok(start.bytes))
}
