//! Intake of policies without code: which archives are one, and what is checked of their files.

#![expect(clippy::unwrap_used, reason = "tests")]

use assay_policy::{AdapterKind, Intake, IntakeError, IntakeLimits, PolicyAdapter, check_archive, intake};
use assay_testkit::archive;

const ONNX: &str = r#"
[adapter]
kind = "onnx"
model = "nets/model.onnx"
[[adapter.inputs]]
name = "state"
arrays = [{ name = "a", size = 4 }]
[adapter.action]
output = "action"
control_mode = "actuator"
units = ["N"]
chunk_size = 8
replan_steps = 4
"#;
const LEROBOT: &str = r#"
[adapter]
kind = "lerobot"
[[adapter.inputs]]
name = "observation.state"
arrays = [{ name = "a", size = 4 }]
[adapter.action]
control_mode = "actuator"
units = ["N"]
"#;
const CONFIG: &[u8] = br#"{"type": "act", "n_action_steps": 10,
    "input_features": {"observation.state": {"type": "STATE", "shape": [4]}},
    "output_features": {"action": {"type": "ACTION", "shape": [1]}}}"#;
const PROCESSOR: &[u8] =
    br#"{"steps": [{"registry_name": "normalizer_processor"}, {"registry_name": "unnormalizer_processor"}]}"#;

/// Takes in an archive of these files. The check without unpacking says the same.
fn take(files: &[(&str, &[u8])]) -> (tempfile::TempDir, Result<Intake, IntakeError>) {
    let folder = tempfile::tempdir().unwrap();
    let zip = folder.path().join("policy.zip");
    std::fs::write(&zip, archive(files)).unwrap();
    let limits = IntakeLimits::default();
    let taken = intake(&zip, &folder.path().join("dest"), &limits);
    let said = |result: &Result<Intake, IntakeError>| result.as_ref().map_err(ToString::to_string).cloned();
    assert_eq!(said(&check_archive(&zip, &limits)), said(&taken));
    (folder, taken)
}

#[track_caller]
fn refused(files: &[(&str, &[u8])], part: &str) {
    let error = take(files).1.unwrap_err();
    assert!(!error.is_internal() && error.to_string().contains(part), "{part} is missing in {error}");
}

#[test]
fn a_declaration_stands_for_code_at_the_root_or_in_the_only_top_folder() {
    for top in ["", "mine/"] {
        let (toml, model) = (format!("{top}policy.toml"), format!("{top}nets/model.onnx"));
        let (folder, taken) = take(&[(&toml, ONNX.as_bytes()), (&model, b"onnx")]);
        let adapter = taken.unwrap().declaration.adapter.unwrap();
        assert_eq!(adapter.kind, AdapterKind::Onnx { model: "nets/model.onnx".to_owned() });
        let again = PolicyAdapter::of_folder(&folder.path().join("dest")).unwrap().unwrap();
        assert_eq!((&again, again.action.replan_steps), (&adapter, Some(4)));
    }
    let code: &[u8] = b"def policy(o):\n    return [0]\n";
    refused(&[("policy.toml", b""), ("model.onnx", b"x")], "there is no policy.py at the root");
    refused(&[("policy.toml", b""), ("mine/policy.py", code)], "it is at 'mine/policy.py'");
    refused(&[("policy.toml", ONNX.as_bytes()), ("policy.py", code), ("nets/model.onnx", b"x")], "remove one of them");
    refused(
        &[("policy.toml", ONNX.as_bytes()), ("model.onnx", b"x")],
        "nets/model.onnx: is not in the policy's folder",
    );
    let (folder, taken) = take(&[("policy.py", code)]);
    assert!(taken.is_ok() && PolicyAdapter::of_folder(&folder.path().join("dest")) == Ok(None));
}

#[test]
fn a_checkpoint_is_checked_in_the_archive() {
    let header = br#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    let whole = [&(header.len() as u64).to_le_bytes()[..], header, &[0; 8]].concat();
    let files = |weights| {
        [
            ("policy.toml", LEROBOT.as_bytes()),
            ("checkpoint/config.json", CONFIG),
            ("checkpoint/policy_preprocessor.json", PROCESSOR),
            ("checkpoint/policy_postprocessor.json", PROCESSOR),
            ("checkpoint/model.safetensors", weights),
        ]
    };
    let (folder, taken) = take(&files(&whole));
    taken.unwrap();
    let adapter = PolicyAdapter::of_folder(&folder.path().join("dest")).unwrap().unwrap();
    assert_eq!(adapter.action.replan_steps, Some(10), "the checkpoint's");
    refused(&files(&whole[..20]), "checkpoint/model.safetensors: has 20 bytes and ends inside its header");
    let pickle = [&files(&whole)[..], &[("checkpoint/optimizer.pt", b"x")]].concat();
    refused(&pickle, "checkpoint/optimizer.pt: is a pickle");
    refused(&files(&whole)[..4], "checkpoint/model.safetensors: is not in the policy's folder");
}
