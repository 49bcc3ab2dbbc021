//! Checkpoints of LeRobot, as far as they are checked without it: every problem is named before a runtime is needed.

use std::fs;
use std::path::Path;

use assay_testkit::{Assay, Run, home};

use crate::verify::{CARTPOLE, assay, hashes, report};

/// Environment variable with a folder in which there is a runtime with LeRobot (see `tools/test-long`).
const RUNTIMES: &str = "ASSAY_LEROBOT_RUNTIMES";
const KEY: &str = "5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f";

const MAP: &str = r#"
[adapter]
kind = "lerobot"

[[adapter.inputs]]
name = "observation.state"
arrays = [{ name = "joint_position", size = 2 }, { name = "joint_velocity", size = 2 }]

[adapter.action]
control_mode = "actuator"
units = ["N"]
"#;

const CONFIG: &str = r#"{
    "type": "act",
    "n_obs_steps": 1,
    "input_features": {"observation.state": {"type": "STATE", "shape": [4]}},
    "output_features": {"action": {"type": "ACTION", "shape": [1]}},
    "chunk_size": 20,
    "n_action_steps": 10
}"#;

fn processor(step: &str, file: &str) -> String {
    format!(r#"{{"name": "p", "steps": [{{"registry_name": "{step}", "config": {{}}, "state_file": "{file}"}}]}}"#)
}

/// A safetensors file with one tensor of two numbers.
fn safetensors() -> Vec<u8> {
    let header = br#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    [&(header.len() as u64).to_le_bytes()[..], header, &[0; 8]].concat()
}

/// Writes a checkpoint that has everything but a network.
fn checkpoint(folder: &Path) {
    drop(fs::remove_dir_all(folder));
    fs::create_dir(folder).unwrap();
    let write = |name: &str, content: &[u8]| fs::write(folder.join(name), content).unwrap();
    write("config.json", CONFIG.as_bytes());
    write("policy_preprocessor.json", processor("normalizer_processor", "before.safetensors").as_bytes());
    write("policy_postprocessor.json", processor("unnormalizer_processor", "after.safetensors").as_bytes());
    for name in ["model.safetensors", "before.safetensors", "after.safetensors"] {
        write(name, &safetensors());
    }
}

fn verify(assay: &Assay, map: &str) -> Run {
    let map = assay.write("map.toml", map);
    let folder = assay.path("pretrained_model");
    let arguments = ["--adapter", "lerobot", "--map", map.to_str().unwrap(), "--episodes", "1", "--record", "none"];
    assay.run(&[&["verify", folder.to_str().unwrap(), "--scenario", CARTPOLE], &arguments[..]].concat())
}

#[track_caller]
fn assert_refused(run: &Run, parts: &[&str]) {
    let message = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(run.code, 2, "{message}");
    for part in parts {
        assert!(message.contains(part), "{part} is missing in {message}");
    }
}

#[test]
fn a_checkpoint_is_copied_up_to_the_limit_of_policies() {
    let assay = assay();
    let folder = assay.path("pretrained_model");
    checkpoint(&folder);
    // Takes no space here; a copy of all of it would fill any disk.
    fs::File::create(folder.join("model.safetensors")).unwrap().set_len(1 << 40).unwrap();
    assert_refused(&verify(&assay, MAP), &["with model.safetensors it has more than 512 MiB"]);
}

#[test]
fn a_checkpoint_that_fits_only_lacks_its_runtime() {
    let assay = assay();
    checkpoint(&assay.path("pretrained_model"));
    assert_refused(&verify(&assay, MAP), &["no runtime here has lerobot", "offered are base", "policy server"]);
    let folder = assay.path("pretrained_model");
    let words =
        ["check", folder.to_str().unwrap(), "--scenario", CARTPOLE, "--adapter", "lerobot", "--map", "map.toml"];
    assert_refused(&assay.run(&words), &["no runtime here has lerobot"]);
    assay.assert_clean();
}

/// The checkpoint of `examples/learned/tabletop_reach`, in a runtime with LeRobot where the variable names its folder;
/// without one, everything that needs none is checked.
#[test]
fn an_act_of_ours_reaches_the_target() {
    let runtimes = std::env::var(RUNTIMES).ok();
    let assay = match &runtimes {
        Some(folder) => assay().with_variable("ASSAY_RUNTIMES", folder),
        None => assay(),
    };
    let example = home().join("examples/learned/tabletop_reach");
    let (folder, map) = (example.join("act"), example.join("act.toml"));
    let run = |episodes: &str, lanes: &str| {
        let words = ["verify", folder.to_str().unwrap(), "--adapter", "lerobot", "--map", map.to_str().unwrap()];
        let more = ["--scenario", "tabletop_reach", "--seed", "3", "--record", "none", "--json"];
        let these = ["--policy-key", KEY, "--episodes", episodes, "--lanes", lanes];
        assay.run(&[&words[..], &more, &these].concat())
    };
    let run_20 = run("20", "2");
    if runtimes.is_none() {
        return assert_refused(&run_20, &["no runtime here has lerobot"]);
    }
    let (twenty, four) = (report(&run_20), report(&run("4", "1")));
    assert!(twenty.success_rate.unwrap() >= 0.8, "{:?} {:?}", twenty.success_rate, twenty.error_message);
    assert_eq!(hashes(&twenty)[..4], hashes(&four)[..]);
    assay.assert_clean();
}

/// A Diffusion policy, trained for minutes: it loads, runs and repeats, and its success is told, whatever it is.
#[test]
fn a_diffusion_policy_of_ours_runs() {
    let runtimes = std::env::var(RUNTIMES).ok();
    let assay = match &runtimes {
        Some(folder) => assay().with_variable("ASSAY_RUNTIMES", folder),
        None => assay(),
    };
    let example = home().join("examples/learned/tabletop_reach");
    let (original, map) = (example.join("diffusion"), example.join("act.toml"));
    // Beside the checkpoint: Python for modules that libraries look for and do without. None of it is imported.
    let folder = assay.path("diffusion");
    fs::create_dir(&folder).unwrap();
    for file in fs::read_dir(&original).unwrap().map(|entry| entry.unwrap().path()) {
        fs::copy(&file, folder.join(file.file_name().unwrap())).unwrap();
    }
    for module in ["brotli", "chardet", "triton", "nt"] {
        fs::write(folder.join(format!("{module}.py")), "import os\n\nos._exit(1)\n").unwrap();
    }
    let run = |lanes: &str| {
        let words = ["verify", folder.to_str().unwrap(), "--adapter", "lerobot", "--map", map.to_str().unwrap()];
        let more = ["--scenario", "tabletop_reach", "--seed", "3", "--record", "none", "--json"];
        let these = ["--policy-key", KEY, "--episodes", "2", "--lanes", lanes];
        assay.run(&[&words[..], &more, &these].concat())
    };
    let first = run("2");
    if runtimes.is_none() {
        return assert_refused(&first, &["no runtime here has lerobot"]);
    }
    let (first, again) = (report(&first), report(&run("1")));
    assert!(first.episode_details.iter().all(|episode| episode.error.is_none()), "{:?}", first.error_message);
    assert!(first.success_rate.is_some() && first.verdict.is_some());
    assert_eq!(hashes(&first), hashes(&again));
    assay.assert_clean();
}

#[test]
fn a_map_that_does_not_fit_names_the_feature_both_shapes_and_the_remedy() {
    let assay = assay();
    checkpoint(&assay.path("pretrained_model"));
    let image = "[[adapter.inputs]]\nname = \"observation.images.top\"\nimage = \"images/top\"\n[adapter.action]";
    for (from, to, parts) in [
        (
            "velocity\", size = 2",
            "velocity\", size = 3",
            &["\"observation.state\"", "shape [4]", "shape [5]", "in their order"][..],
        ),
        (
            "name = \"joint_velocity\"",
            "name = \"speed\"",
            &["the array \"speed\"", "joint_velocity [2]", "Correct the name"],
        ),
        ("observation.state", "observation.pose", &["\"observation.pose\"", "no such input", "observation.state"]),
        ("[adapter.action]", image, &["\"observation.images.top\"", "no such input"]),
        ("[\"N\"]", "[\"N\", \"N\"]", &["\"action\"", "shape [1]", "shape [2]", "unit of each number"]),
        ("[\"N\"]", "[\"lbf\"]", &["units[0] is \"lbf\"", "\"N\"", "convert it"]),
        ("units = [\"N\"]", "", &["map.toml", "units is missing"]),
        ("control_mode = \"actuator\"", "", &["control_mode is missing"]),
        ("\"actuator\"", "\"thrust\"", &["\"thrust\"", "\"actuator\""]),
        ("units =", "replan_steps = 11\nunits =", &["replan_steps is 11", "executes 10 actions"]),
        ("units =", "mean = [0.0]\nstd = [1.0]\nunits =", &["a checkpoint says these itself"]),
        ("units =", "chunk_size = 2\nunits =", &["a checkpoint says these itself"]),
        ("kind = \"lerobot\"", "kind = \"onnx\"\nmodel = \"m.onnx\"", &["adapter.action.output is missing"]),
        ("[adapter]", "", &["it has no table [adapter]"]),
        ("kind = \"lerobot\"", "kind = \"lerobot\"\ncheckpoint = \"../up\"", &["use the name of a folder"]),
    ] {
        let map = match from {
            "[adapter]" => "[tool.assay]\nruntime = \"base\"\n".to_owned(),
            _ => MAP.replacen(from, to, 1),
        };
        assert_refused(&verify(&assay, &map), parts);
    }
    assay.assert_clean();
}

/// The network of `examples/learned/tabletop_reach` in PyTorch gets the verdict of the same network in numpy, where
/// there is a runtime with PyTorch; elsewhere it is refused with what is offered.
#[test]
fn a_network_in_pytorch_is_judged_like_the_same_network_in_numpy() {
    let runtimes = std::env::var(RUNTIMES).ok();
    let run = |form: &str, episodes: &str, lanes: &str| {
        // The runtimes of the set-up have numpy only.
        let assay = match runtimes.as_ref().filter(|_| form == "torch") {
            Some(folder) => assay().with_variable("ASSAY_RUNTIMES", folder),
            None => assay(),
        };
        let policy = home().join("examples/learned/tabletop_reach").join(form);
        let words = ["verify", policy.to_str().unwrap(), "--scenario", "tabletop_reach", "--seed", "3", "--json"];
        let more = ["--record", "none", "--policy-key", KEY, "--episodes", episodes, "--lanes", lanes];
        assay.run(&[&words[..], &more].concat())
    };
    let (torch, numpy) = (run("torch", "4", "2"), run("numpy", "4", "2"));
    if runtimes.is_none() {
        return assert_refused(&torch, &["no runtime here has torch>=2.2", "offered are base"]);
    }
    let (torch, numpy, again) = (report(&torch), report(&numpy), report(&run("torch", "2", "1")));
    assert_eq!((torch.verdict, torch.success_rate), (numpy.verdict, numpy.success_rate));
    assert_eq!(hashes(&torch)[..2], hashes(&again)[..]);
}

#[test]
fn a_damaged_or_unsafe_checkpoint_is_refused_with_its_file() {
    let assay = assay();
    let folder = assay.path("pretrained_model");
    let class = r#"{"steps": [{"class": "os.path.Evil"}]}"#;
    let elsewhere = processor("normalizer_processor", "../../etc/passwd.safetensors");
    let whole = safetensors();
    let image = CONFIG.replace("\"STATE\", \"shape\": [4]", "\"VISUAL\", \"shape\": [3, 96, 96]");
    let two = CONFIG.replace(
        "{\"observation",
        "{\"observation.image\": {\"type\": \"VISUAL\", \"shape\": [3, 9, 9]}, \"observation",
    );
    for (file, content, parts) in [
        ("config.json", b"{".as_slice(), &["config.json", "it ends too early, line 1"][..]),
        ("config.json", b"[]", &["config.json", "not the configuration of a LeRobot policy"]),
        ("config.json", CONFIG.replace("\"act\"", "\"smolvla\"").as_bytes(), &["\"smolvla\"", "act and diffusion"]),
        ("config.json", CONFIG.replace("10", "0").as_bytes(), &["n_action_steps is 0"]),
        ("config.json", image.as_bytes(), &["it is an image of shape [3, 96, 96]", "give image instead of arrays"]),
        ("config.json", two.as_bytes(), &["\"observation.image\"", "shape [3, 9, 9]", "add an input of this name"]),
        ("config.json", &[b' '; (1 << 20) + 1], &["config.json", "at most 1048576 are allowed"]),
        ("model.safetensors", &whole[..whole.len() - 1], &["model.safetensors", "it is incomplete; copy it again"]),
        ("model.safetensors", &whole[..5], &["model.safetensors", "ends inside its header"]),
        ("model.safetensors", b"version https://git-lfs.github.com/spec/v1\n", &["git lfs pull"]),
        ("model.safetensors", &[0xff; 16], &["not a safetensors file"]),
        ("before.safetensors", &whole[..9], &["before.safetensors", "incomplete"]),
        ("pytorch_model.bin", b"\x80\x02}q\x00.", &["pytorch_model.bin", "pickle", "safetensors and remove it"]),
        ("policy_preprocessor.json", class.as_bytes(), &["a step names a class to import"]),
        (
            "policy_preprocessor.json",
            b"{\"steps\": []}",
            &["no step normalizer_processor", "migrate_policy_normalization"],
        ),
        ("policy_preprocessor.json", elsewhere.as_bytes(), &["only files .safetensors beside it"]),
    ] {
        checkpoint(&folder);
        fs::write(folder.join(file), content).unwrap();
        assert_refused(&verify(&assay, MAP), parts);
    }
    for missing in ["config.json", "model.safetensors", "policy_postprocessor.json", "after.safetensors"] {
        checkpoint(&folder);
        fs::remove_file(folder.join(missing)).unwrap();
        assert_refused(&verify(&assay, MAP), &[&format!("checkpoint/{missing}: is not in the policy's folder")]);
    }
    fs::remove_dir_all(&folder).unwrap();
    fs::write(&folder, b"x").unwrap();
    assert_refused(&verify(&assay, MAP), &["takes the folder of a checkpoint"]);
    let without_map = assay.run(&["verify", "x", "--scenario", CARTPOLE, "--adapter", "lerobot"]);
    assert_refused(&without_map, &["--map"]);
    assay.assert_clean();
}
