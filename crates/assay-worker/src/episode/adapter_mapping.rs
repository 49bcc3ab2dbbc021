//! Compares a policy's adapter with a scenario: every array, image, unit and mode that it declares must be the
//! scenario's.

use assay_model::{PolicyErrorCode, sanitise};
use assay_policy::{AdapterAction, AdapterKind, InputSource, NamedArray, PolicyAdapter, PolicyFailure};
use assay_scenario::{Array, Scenario, Spec};

/// Numbers that every observation has besides the scenario's arrays.
const CLOCKS: [&str; 2] = ["time", "time_remaining"];
/// Entry of an observation that is a text.
const INSTRUCTION: &str = "instruction";
/// Data types of arrays of numbers and of images.
const NUMBERS: &str = "float64";
const PIXELS: &str = "uint8";
/// Maximum number of entries in a list of what a scenario offers.
const MAX_LISTED: usize = 40;

/// Returns the failure of a policy whose adapter does not fit the scenario: its message names the feature, both shapes,
/// and the remedy.
#[must_use]
pub fn adapter_mismatch(adapter: &PolicyAdapter, scenario: &Scenario) -> Option<PolicyFailure> {
    check(adapter, &scenario.spec()).err().map(|message| mismatch(&message))
}

/// Returns the failure of a policy that fits no episode.
pub(crate) fn mismatch(message: &str) -> PolicyFailure {
    PolicyFailure {
        code: PolicyErrorCode::Mismatch,
        message: sanitise(message, assay_policy::MESSAGE_BYTES),
        traceback: String::new(),
        log_tail: String::new(),
    }
}

fn check(adapter: &PolicyAdapter, spec: &Spec) -> Result<(), String> {
    for input in &adapter.inputs {
        match &input.source {
            InputSource::Arrays(arrays) => {
                arrays.iter().try_for_each(|array| check_array(&input.name, array, spec))?;
            }
            InputSource::Image { name, shape } => {
                // The adapter of checkpoints resizes images, as their training did.
                let shape = shape.filter(|_| matches!(adapter.kind, AdapterKind::Onnx { .. }));
                check_image(&input.name, (name, shape), spec)?;
            }
        }
    }
    check_action(&adapter.action, spec)
}

fn check_array(input: &str, array: &NamedArray, spec: &Spec) -> Result<(), String> {
    let NamedArray { name, size } = array;
    let shape = match find(name, spec) {
        Some(found) if found.dtype == PIXELS => {
            return Err(format!(
                "the input {input:?} lists the image {name:?} among its arrays; give it as `image` of an input of its own"
            ));
        }
        Some(found) => &found.shape[..],
        None if CLOCKS.contains(&name.as_str()) => &[1],
        None => return Err(unknown(input, ("array", name), spec, NUMBERS)),
    };
    if shape.iter().copied().fold(1, u32::saturating_mul) != *size {
        return Err(format!(
            "the input {input:?} declares {name:?} with shape [{size}], but {} sends it with shape {shape:?}; correct its \
             size, and use a network that was trained with this shape",
            spec.id
        ));
    }
    Ok(())
}

fn check_image(input: &str, (name, shape): (&str, Option<[u32; 3]>), spec: &Spec) -> Result<(), String> {
    let found = find(name, spec).filter(|found| found.dtype == PIXELS);
    let found = found.ok_or_else(|| unknown(input, ("image", name), spec, PIXELS))?;
    match shape {
        Some([channels, height, width]) if found.shape != [height, width, channels] => Err(format!(
            "the input {input:?} takes images of shape [{channels}, {height}, {width}] (channels, height, width), but {} sends \
             {name:?} with shape {:?} (height, width, channels); put a Resize into the network, and declare the shape that \
             the scenario sends",
            spec.id, found.shape
        )),
        _ => Ok(()),
    }
}

fn check_action(action: &AdapterAction, spec: &Spec) -> Result<(), String> {
    let AdapterAction { control_mode, units, .. } = action;
    let id = &spec.id;
    if control_mode != spec.control_mode {
        return Err(format!(
            "the network's control mode is {control_mode:?} (adapter.action.control_mode), but {id} has {:?}; a network that \
             was trained for another mode can't be used there",
            spec.control_mode
        ));
    }
    if units.len() != spec.action_dim {
        return Err(format!(
            "the network's action has shape [{}] (adapter.action.units), but an action of {id} has shape [{}] ({}); use a \
             network that was trained for these numbers",
            units.len(),
            spec.action_dim,
            listed(spec.action.iter().map(|number| format!("{} in {}", number.name, number.unit)))
        ));
    }
    let mut numbers = units.iter().zip(&spec.action).enumerate();
    match numbers.find(|(_, (unit, number))| **unit != number.unit) {
        Some((index, (unit, number))) => Err(format!(
            "adapter.action.units[{index}] is {unit:?}, but {:?} in an action of {id} is in {:?}; convert it by mean and std of \
             the action, and declare {:?}",
            number.name, number.unit, number.unit
        )),
        None => Ok(()),
    }
}

fn find<'a>(name: &str, spec: &'a Spec) -> Option<&'a Array> {
    spec.observation.iter().find(|array| array.name == name)
}

fn unknown(input: &str, (kind, name): (&str, &str), spec: &Spec, dtype: &str) -> String {
    if name == INSTRUCTION {
        return format!(
            "the input {input:?} takes the {kind} {name:?}, which is a text, and a network without code gets numbers only: write a \
             policy.py that encodes it"
        );
    }
    let offered = spec.observation.iter().filter(|array| array.dtype == dtype);
    let offered = listed(offered.map(|array| format!("{} {:?}", array.name, array.shape)));
    let offered = if offered.is_empty() { "none".to_owned() } else { offered };
    format!(
        "the input {input:?} takes the {kind} {name:?}, which {} does not send; it sends {offered}. Correct the name, or choose \
         another scenario",
        spec.id
    )
}

/// Joins the entries of a list that may be long.
fn listed(entries: impl Iterator<Item = String>) -> String {
    let mut entries: Vec<String> = entries.take(MAX_LISTED + 1).collect();
    if entries.len() > MAX_LISTED {
        entries[MAX_LISTED] = "...".to_owned();
    }
    entries.join(", ")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::path::Path;

    use assay_policy::PolicyDeclaration;

    use super::*;

    const FITS: &str = r#"
        [adapter]
        kind = "onnx"
        model = "model.onnx"
        [[adapter.inputs]]
        name = "state"
        arrays = [{ name = "time", size = 1 }, { name = "tcp_position", size = 3 }]
        [[adapter.inputs]]
        name = "view"
        image = "images/overview"
        shape = [3, 224, 224]
        [adapter.action]
        output = "action"
        control_mode = "ee_velocity"
        units = ["m/s", "m/s", "m/s", "rad/s", "rad/s", "rad/s", "1"]
    "#;

    #[test]
    fn every_mismatch_names_the_feature_both_shapes_and_the_remedy() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let scenario = Scenario::load(&root.join("scenarios/tidy_by_sight"), &root.join("robots")).unwrap();
        let image = scenario.spec().observation.into_iter().find(|array| array.dtype == PIXELS).unwrap().name;
        let fits = FITS.replace("images/overview", &image);
        let of = |toml: &str| {
            let declaration = PolicyDeclaration::read(None, Some(toml.as_bytes())).unwrap();
            adapter_mismatch(&declaration.adapter.unwrap(), &scenario).map(|failure| failure.message)
        };
        assert_eq!(of(&fits), None);
        for (from, to, parts) in [
            ("tcp_position", "tool", &["\"state\"", "\"tool\"", "tcp_position [3]", "Correct the name"][..]),
            ("tcp_position", "instruction", &["\"instruction\", which is a text", "write a policy.py"]),
            ("size = 3", "size = 4", &["\"state\"", "\"tcp_position\"", "shape [4]", "shape [3]", "correct its size"]),
            ("tcp_position", image.as_str(), &["\"state\"", "`image` of an input of its own"]),
            (image.as_str(), "tcp_position", &["\"view\"", "the image \"tcp_position\"", "[224, 224, 3]"]),
            ("[3, 224, 224]", "[3, 96, 128]", &["\"view\"", "[3, 96, 128]", "[224, 224, 3]", "put a Resize"]),
            ("ee_velocity", "joint_position", &["\"joint_position\"", "\"ee_velocity\"", "another mode"]),
            ("\"rad/s\", \"1\"]", "\"1\"]", &["shape [6]", "shape [7]", "vx in m/s"]),
            ("\"rad/s\", \"1\"]", "\"deg/s\", \"1\"]", &["units[5] is \"deg/s\"", "\"wz\"", "\"rad/s\"", "convert it"]),
        ] {
            let message = of(&fits.replacen(from, to, 1)).unwrap_or_else(|| panic!("{from}"));
            for part in parts {
                assert!(message.contains(part), "{from}: {part} is missing in {message}");
            }
        }
    }
}
