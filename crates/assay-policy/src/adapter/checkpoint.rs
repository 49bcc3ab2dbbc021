//! A LeRobot checkpoint, as far as it can be checked without LeRobot.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::declaration::{AdapterInput, InputSource, NamedArray, PolicyAdapter};
use super::error::{AdapterError, shown};
use super::files::{PolicyFiles, ReadStart, missing, without_mark};
use super::limits::{MAX_CHUNK, MAX_FEATURES, MAX_JSON_BYTES};
use super::processors::{self, InWords};
use super::safetensors;

const CONFIG: &str = "config.json";
const WEIGHTS: &str = "model.safetensors";
const ACTION: &str = "action";
/// Type of a feature that is an image.
const IMAGE: &str = "VISUAL";
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
        let config: Self = serde_json::from_slice(without_mark(text)).map_err(|error| {
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
            let known = || self.input_features.keys().map(|name| shown(name)).collect::<Vec<_>>().join(", ");
            let feature = self.input_features.get(&input.name).ok_or_else(|| {
                let why = format!("the checkpoint has no such input; it has {}. Correct the input's name", known());
                AdapterError::feature(&input.name, why)
            })?;
            feature.check(input).map_err(|why| AdapterError::feature(&input.name, why))?;
        }
        let is_mapped = |name: &str| adapter.inputs.iter().any(|input| input.name == name);
        if let Some((name, Feature { shape, .. })) = self.input_features.iter().find(|(name, _)| !is_mapped(name)) {
            let why = format!(
                "the checkpoint needs it, with shape {shape:?}; add an input of this name, with its arrays or image"
            );
            return Err(AdapterError::feature(name, why));
        }
        self.check_action(adapter.action.units.len())?;
        match adapter.action.replan_steps {
            Some(steps) if steps > self.n_action_steps => {
                let most = self.n_action_steps;
                let why = format!(
                    "is {steps}, but the checkpoint executes {most} actions (n_action_steps); use at most that"
                );
                Err(AdapterError::key("action.replan_steps", why))
            }
            _ => Ok(()),
        }
    }

    /// Compares the size of an action with the number of declared units.
    fn check_action(&self, units: usize) -> Result<(), AdapterError> {
        let Some(Feature { shape, .. }) = self.output_features.get(ACTION).filter(|_| self.output_features.len() == 1)
        else {
            return Err(AdapterError::feature(ACTION, "it must be the only output of the checkpoint"));
        };
        if shape.len() != 1 || shape[0] as usize != units {
            let why = format!(
                "the checkpoint's has shape {shape:?}, but the declaration has units of shape [{units}]; give the unit of \
                 each number"
            );
            return Err(AdapterError::feature(ACTION, why));
        }
        Ok(())
    }
}

impl Feature {
    /// Compares it with its declaration. Returns the problem and the remedy.
    fn check(&self, input: &AdapterInput) -> Result<(), String> {
        let shape = &self.shape;
        match (&input.source, self.r#type == IMAGE) {
            (InputSource::Arrays(_), true) => {
                Err(format!("it is an image of shape {shape:?}; give image instead of arrays"))
            }
            (InputSource::Image { .. }, false) => {
                Err(format!("it is an array of shape {shape:?}; give arrays instead of image"))
            }
            (InputSource::Arrays(arrays), false) if *shape != [input.size()] => {
                let part = |array: &NamedArray| format!("{} [{}]", shown(&array.name), array.size);
                let parts = arrays.iter().map(part).collect::<Vec<_>>().join(", ");
                Err(format!(
                    "the checkpoint's has shape {shape:?}, but its arrays have shape [{}] together ({parts}); list the \
                     arrays it was trained with, in their order",
                    input.size()
                ))
            }
            (InputSource::Image { shape: declared, .. }, true) => {
                let wanted =
                    declared.map_or_else(|| "[3, height, width]".to_owned(), |declared| format!("{declared:?}"));
                let is_image = matches!(shape[..], [3, height, width] if height > 0 && width > 0);
                if is_image && declared.is_none_or(|declared| *shape == declared) {
                    return Ok(());
                }
                Err(format!(
                    "the checkpoint's has shape {shape:?}, but an image of shape {wanted} is declared; correct or remove \
                     shape"
                ))
            }
            _ => Ok(()),
        }
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
