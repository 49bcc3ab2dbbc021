//! The table `[adapter]` of `policy.toml`, and its checks.

use serde::Deserialize;

use super::declaration::{AdapterAction, AdapterInput, AdapterKind, InputSource, NamedArray, PolicyAdapter};
use super::error::AdapterError;
use super::limits::{
    MAX_ACTION_SIZE, MAX_ARRAY_SIZE, MAX_ARRAYS, MAX_CHUNK, MAX_IMAGE_SIDE, MAX_INPUTS, MAX_NAME_BYTES,
};
use super::numbers::{StatisticsKeys, StatisticsTable, check_range};

/// The only version of both adapters, and the default.
const VERSION: u32 = 1;
/// The default folder of a checkpoint.
const CHECKPOINT: &str = "checkpoint";

/// The table `[adapter]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdapterTable {
    kind: String,
    version: Option<u32>,
    model: Option<String>,
    checkpoint: Option<String>,
    #[serde(default)]
    inputs: Vec<InputTable>,
    action: ActionTable,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct InputTable {
    name: String,
    arrays: Option<Vec<ArrayTable>>,
    image: Option<String>,
    shape: Option<[u32; 3]>,
    mean: Option<Vec<f64>>,
    std: Option<Vec<f64>>,
    statistics: Option<StatisticsTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ArrayTable {
    name: String,
    size: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ActionTable {
    output: Option<String>,
    control_mode: String,
    units: Vec<String>,
    chunk_size: Option<u32>,
    replan_steps: Option<u32>,
    mean: Option<Vec<f64>>,
    std: Option<Vec<f64>>,
    statistics: Option<StatisticsTable>,
    low: Option<Vec<f64>>,
    high: Option<Vec<f64>>,
}

impl AdapterTable {
    /// Checks the table by itself, without the policy's files and the scenario.
    pub(crate) fn check(self) -> Result<PolicyAdapter, AdapterError> {
        let version = self.version.unwrap_or(VERSION);
        if version != VERSION {
            return Err(AdapterError::key("version", format!("is {version}, but only version {VERSION} exists here")));
        }
        let kind = kind(&self.kind, self.model, self.checkpoint)?;
        if self.inputs.is_empty() || self.inputs.len() > MAX_INPUTS {
            let why = format!("has {} entries; list 1 to {MAX_INPUTS} inputs of the network", self.inputs.len());
            return Err(AdapterError::key("inputs", why));
        }
        let is_onnx = matches!(kind, AdapterKind::Onnx { .. });
        let mut inputs: Vec<AdapterInput> = Vec::new();
        for (index, table) in self.inputs.into_iter().enumerate() {
            let input = input(&format!("inputs[{index}]"), table, is_onnx)?;
            if inputs.iter().any(|other| other.name == input.name) {
                return Err(AdapterError::key(format!("inputs[{index}].name"), "is that of another input"));
            }
            inputs.push(input);
        }
        Ok(PolicyAdapter { kind, version, inputs, action: action(self.action, is_onnx)? })
    }
}

fn kind(kind: &str, model: Option<String>, checkpoint: Option<String>) -> Result<AdapterKind, AdapterError> {
    match (kind, model, checkpoint) {
        ("onnx", Some(model), None) if model.ends_with(".onnx") => Ok(AdapterKind::Onnx { model }),
        ("onnx", Some(_), None) => Err(AdapterError::key("model", "must be the path of a file .onnx")),
        ("onnx", None, None) => {
            Err(AdapterError::key("model", "is missing; give the path of the file .onnx in the policy's folder"))
        }
        ("onnx", _, Some(_)) => Err(AdapterError::key("checkpoint", "is a key of the adapter lerobot; use model")),
        ("lerobot", None, checkpoint) => {
            Ok(AdapterKind::Lerobot { checkpoint: checkpoint.unwrap_or_else(|| CHECKPOINT.to_owned()) })
        }
        ("lerobot", Some(_), _) => Err(AdapterError::key("model", "is a key of the adapter onnx; use checkpoint")),
        _ => Err(AdapterError::key("kind", "must be \"onnx\" or \"lerobot\"")),
    }
}

fn input(at: &str, table: InputTable, is_onnx: bool) -> Result<AdapterInput, AdapterError> {
    let key = |name: &str| format!("{at}.{name}");
    check_name(&table.name, &key("name"))?;
    let source = match (table.arrays, table.image) {
        (Some(arrays), None) => {
            if table.shape.is_some() {
                return Err(AdapterError::key(key("shape"), "is that of an image; arrays have a size each"));
            }
            InputSource::Arrays(check_arrays(arrays, &key("arrays"))?)
        }
        (None, Some(name)) => {
            check_name(&name, &key("image"))?;
            check_shape(table.shape, &key("shape"), is_onnx)?;
            InputSource::Image { name, shape: table.shape }
        }
        _ => return Err(AdapterError::key(at, "needs either arrays or image: the parts of the observation it gets")),
    };
    let input = AdapterInput { name: table.name, source, statistics: None };
    let keys = StatisticsKeys { mean: table.mean, std: table.std, statistics: table.statistics };
    let size = match &input.source {
        InputSource::Arrays(_) => input.size() as usize,
        InputSource::Image { .. } => 3,
    };
    let statistics = keys.check(at, size)?;
    if !is_onnx && statistics.is_some() {
        return Err(AdapterError::key(at, "has a mean or std, but a checkpoint's saved processors normalise it"));
    }
    Ok(AdapterInput { statistics, ..input })
}

fn check_arrays(tables: Vec<ArrayTable>, key: &str) -> Result<Vec<NamedArray>, AdapterError> {
    if tables.is_empty() || tables.len() > MAX_ARRAYS {
        let why = format!("has {} entries; list 1 to {MAX_ARRAYS} arrays of the observation", tables.len());
        return Err(AdapterError::key(key, why));
    }
    for (index, table) in tables.iter().enumerate() {
        check_name(&table.name, &format!("{key}[{index}].name"))?;
        if !(1..=MAX_ARRAY_SIZE).contains(&table.size) {
            let why = format!("is {}; an array has 1 to {MAX_ARRAY_SIZE} numbers", table.size);
            return Err(AdapterError::key(format!("{key}[{index}].size"), why));
        }
    }
    Ok(tables.into_iter().map(|ArrayTable { name, size }| NamedArray { name, size }).collect())
}

fn check_shape(shape: Option<[u32; 3]>, key: &str, is_onnx: bool) -> Result<(), AdapterError> {
    const EXAMPLE: &str = "give channels (3), height and width, such as [3, 224, 224]";
    match shape {
        None if !is_onnx => Ok(()),
        None => Err(AdapterError::key(key, format!("is missing; {EXAMPLE}"))),
        Some([3, height, width]) if [height, width].iter().all(|side| (1..=MAX_IMAGE_SIDE).contains(side)) => Ok(()),
        Some(shape) => {
            let why = format!("is {shape:?}; {EXAMPLE}, with at most {MAX_IMAGE_SIDE} pixels a side");
            Err(AdapterError::key(key, why))
        }
    }
}

fn action(table: ActionTable, is_onnx: bool) -> Result<AdapterAction, AdapterError> {
    check_name(&table.control_mode, "action.control_mode")?;
    let size = table.units.len();
    if size == 0 || size > MAX_ACTION_SIZE {
        let why =
            format!("has {size} entries; give the unit of each of the 1 to {MAX_ACTION_SIZE} numbers of an action");
        return Err(AdapterError::key("action.units", why));
    }
    for (index, unit) in table.units.iter().enumerate() {
        check_name(unit, &format!("action.units[{index}]"))?;
    }
    check_range(table.low.as_deref(), table.high.as_deref(), size)?;
    let keys = StatisticsKeys { mean: table.mean, std: table.std, statistics: table.statistics };
    let statistics = keys.check("action", size)?;
    let replan_steps = match (is_onnx, table.output) {
        (true, Some(output)) => {
            check_name(&output, "action.output")?;
            Some(replan_steps(table.chunk_size.unwrap_or(1), table.replan_steps)?)
        }
        (true, None) => {
            return Err(AdapterError::key("action.output", "is missing; give the name of the model's output"));
        }
        (false, None) if table.chunk_size.is_none() && statistics.is_none() => {
            table.replan_steps.map(|steps| replan_steps(MAX_CHUNK, Some(steps))).transpose()?
        }
        (false, _) => {
            let why = "has a key output, chunk_size, mean, std or statistics, but a checkpoint says these itself";
            return Err(AdapterError::key("action", why));
        }
    };
    Ok(AdapterAction { control_mode: table.control_mode, units: table.units, statistics, replan_steps })
}

/// Returns the number of actions of a chunk that are executed: all of them unless fewer are declared.
fn replan_steps(chunk_size: u32, replan_steps: Option<u32>) -> Result<u32, AdapterError> {
    if !(1..=MAX_CHUNK).contains(&chunk_size) {
        let why = format!("is {chunk_size}; an output has 1 to {MAX_CHUNK} actions");
        return Err(AdapterError::key("action.chunk_size", why));
    }
    let steps = replan_steps.unwrap_or(chunk_size);
    if !(1..=chunk_size).contains(&steps) {
        let why = format!(
            "is {steps}, but an output has {chunk_size} actions (chunk_size); execute 1 to {chunk_size} of them"
        );
        return Err(AdapterError::key("action.replan_steps", why));
    }
    Ok(steps)
}

fn check_name(name: &str, key: &str) -> Result<(), AdapterError> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES || name.chars().any(char::is_control) {
        let why = format!("must be text of 1 to {MAX_NAME_BYTES} bytes without control characters");
        return Err(AdapterError::key(key, why));
    }
    Ok(())
}
