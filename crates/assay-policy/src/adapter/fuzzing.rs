//! The fuzz target of the readers of a checkpoint's files.

use std::convert::Infallible;
use std::path::PathBuf;

use super::check::check;
use super::files::FileStart;
use super::{AdapterError, checkpoint::Checkpoint, processors, safetensors};
use crate::PolicyDeclaration;

const MAP: &str = r#"
[adapter]
kind = "lerobot"
[[adapter.inputs]]
name = "observation.state"
arrays = [{ name = "a", size = 4 }]
[adapter.action]
control_mode = "actuator"
units = ["N"]
"#;
const PREPROCESSOR: &[u8] =
    br#"{"steps": [{"registry_name": "normalizer_processor"}, {"registry_name": "unnormalizer_processor"}]}"#;

/// Reads the input as each file of a LeRobot checkpoint, and as a configuration with complete files beside it. Asserts
/// that an accepted safetensors file is refused when its last byte is missing.
///
/// # Panics
/// Panics if the input reveals a bug.
pub fn checkpoint(bytes: &[u8]) {
    let total = bytes.len() as u64;
    let start = &bytes[..bytes.len().min(safetensors::START_BYTES)];
    if safetensors::check(start, total).is_ok() {
        let cut = &start[..start.len().min(bytes.len() - 1)];
        assert!(safetensors::check(cut, total - 1).is_err(), "a truncated file was accepted");
    }
    drop(Checkpoint::parse("config.json", bytes));
    drop(processors::state_files("policy_preprocessor.json", bytes, processors::BEFORE.1));
    drop(whole(bytes));
}

/// Checks a checkpoint with this configuration.
fn whole(config: &[u8]) -> Option<Result<(), AdapterError>> {
    let adapter = PolicyDeclaration::read(None, Some(MAP.as_bytes())).ok()?.adapter?;
    let empty = [&2_u64.to_le_bytes()[..], b"{}"].concat();
    let files = [
        ("checkpoint/config.json", config),
        ("checkpoint/policy_preprocessor.json", PREPROCESSOR),
        ("checkpoint/policy_postprocessor.json", PREPROCESSOR),
        ("checkpoint/model.safetensors", &empty),
    ];
    let names = files.map(|(name, _)| PathBuf::from(name));
    let read = |index: usize, limit: usize| {
        let bytes: &[u8] = files[index].1;
        let start = bytes[..bytes.len().min(limit)].to_vec();
        Ok::<_, Infallible>(FileStart { bytes: start, total: bytes.len() as u64 })
    };
    check(&adapter, &names, &[], read).ok()
}
