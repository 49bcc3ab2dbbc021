//! Policies without code: the adapter of ONNX models, on the cart and pole.

use std::fs;
use std::path::{Path, PathBuf};

use assay_model::{EpisodeStatus, JobReport, Preflight, Verdict};
use assay_testkit::{Assay, OnnxModel, home};

use crate::verify::{CARTPOLE, assay, hashes, report, verify};

const KEY: &str = "5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f";

/// The declaration of a network like that of `examples/learned/cartpole_keepin`.
const DECLARATION: &str = r#"
[adapter]
kind = "onnx"
model = "model.onnx"

[[adapter.inputs]]
name = "state"
arrays = [{ name = "joint_position", size = 2 }, { name = "joint_velocity", size = 2 }]

[adapter.action]
output = "force"
control_mode = "actuator"
units = ["N"]
low = [-12.0]
high = [12.0]
"#;

/// A network that multiplies the state by a constant.
fn linear() -> OnnxModel {
    let model = OnnxModel::default().input("state", &[1, 4]).output("force", &[1, 1]);
    model.constant("w", &[4, 1], &[1.0, 30.0, 2.0, 6.0]).node("MatMul", &["state", "w"], "force")
}

fn trained() -> Vec<u8> {
    fs::read(home().join("examples/learned/cartpole_keepin/onnx/model.onnx")).unwrap()
}

/// Creates a policy of these files.
fn policy(assay: &Assay, name: &str, files: &[(&str, &[u8])]) -> PathBuf {
    let folder = assay.path(name);
    // Of an earlier case.
    drop(fs::remove_dir_all(&folder));
    fs::create_dir(&folder).unwrap();
    files.iter().for_each(|(file, content)| fs::write(folder.join(file), content).unwrap());
    folder
}

fn without_code(assay: &Assay, declaration: &str, model: &[u8]) -> PathBuf {
    policy(assay, "adapted", &[("policy.toml", declaration.as_bytes()), ("model.onnx", model)])
}

/// Runs two episodes.
fn run(assay: &Assay, policy: &Path) -> JobReport {
    let arguments = ["--episodes", "2", "--seed", "3", "--record", "none", "--json", "--policy-key", KEY];
    report(&verify(assay, policy, &arguments))
}

/// Returns the first finding of `assay check`, and the error of a verification's first episode.
#[track_caller]
fn failure(assay: &Assay, policy: &Path) -> (String, String) {
    let checked = assay.run(&["check", policy.to_str().unwrap(), "--scenario", CARTPOLE, "--json"]);
    let found: Preflight = serde_json::from_str(&checked.stdout).unwrap_or_else(|e| panic!("{e}: {}", checked.stderr));
    assert_eq!((checked.code, found.findings[0].code.as_str()), (1, "policy_error"), "{}", checked.stdout);
    let verified = run(assay, policy);
    let episode = &verified.episode_details[0];
    let error = episode.error.as_ref().unwrap_or_else(|| panic!("{:?}", episode.status));
    assert_eq!((verified.verdict, episode.status), (Some(Verdict::Inconclusive), EpisodeStatus::PolicyError));
    assert!(found.findings[0].message.contains(&error.message), "{:?} {error:?}", found.findings[0]);
    (error.code.to_string(), error.message.clone())
}

#[test]
fn a_network_without_code_acts_like_the_same_network_with_code() {
    let assay = assay();
    let with_code = run(&assay, &home().join("examples/learned/cartpole_keepin/onnx"));
    let adapted = without_code(&assay, DECLARATION, &trained());
    let without = run(&assay, &adapted);
    assert_eq!(hashes(&without), hashes(&with_code));
    assert_eq!((without.verdict, without.success_rate), (Some(Verdict::Safe), Some(1.0)));
    assert_eq!(without.fingerprint.unwrap().runtime.unwrap().name.as_str(), "onnx");
    let checked = assay.run(&["check", adapted.to_str().unwrap(), "--scenario", CARTPOLE]);
    assert!(checked.code == 0 && checked.stdout.contains("0 problems"), "{}", checked.stdout);
    // An archive of the folder is the same policy.
    let zip = assay.write("adapted.zip", assay_testkit::zip_folder(&adapted));
    assert_eq!(hashes(&run(&assay, &zip)), hashes(&with_code));
    assay.assert_clean();
}

#[test]
fn statistics_and_chunks_are_those_of_the_declaration() {
    let assay = assay();
    // Three actions at once, of which two are executed, with normalised input and output.
    let model = OnnxModel::default().input("state", &[1, 4]).output("force", &[1, 3, 1]);
    let model = model.constant("w", &[1, 4], &[1.0, 30.0, 2.0, 6.0]).constant("later", &[1, 3, 1], &[0.1, 0.08, 0.06]);
    let model = model.node("Mul", &["state", "w"], "parts").node("ReduceSum", &["parts"], "sum");
    let model = model.node("Reshape", &["sum", "one"], "flat").integers("one", &[1, 1, 1]);
    let model = model.node("Mul", &["flat", "later"], "force").to_bytes();
    let declaration = DECLARATION
        .replace("[adapter.action]\n", "mean = [0.1, 0.0, 0.0, 0.0]\nstd = [0.5, 1.0, 2.0, 1.0]\n[adapter.action]\n")
        .replace("units", "chunk_size = 3\nreplan_steps = 2\nmean = [0.25]\nstd = [10.0]\nunits");
    let code = "import numpy as np\n\nplan = []\n\ndef policy(observation):\n    if not plan:\n        state = \
                np.concatenate([observation['joint_position'], observation['joint_velocity']])\n        state = ((state - \
                [0.1, 0, 0, 0]) / [0.5, 1, 2, 1]).astype(np.float32)\n        total = (state * np.array([1, 30, 2, 6], \
                np.float32)).sum()\n        plan.extend((total * np.array([0.1, 0.08], np.float32)).astype(float) * 10 + \
                0.25)\n    return np.clip([plan.pop(0)], -12, 12)\n";
    let coded = run(&assay, &policy(&assay, "coded", &[("policy.py", code.as_bytes())]));
    let adapted = run(&assay, &without_code(&assay, &declaration, &model));
    assert!(adapted.episode_details.iter().all(|episode| episode.error.is_none()), "{:?}", adapted.error_message);
    let steps = |report: &JobReport| report.episode_details.iter().map(|one| one.steps).collect::<Vec<_>>();
    assert_eq!(steps(&adapted), steps(&coded));
    // Sums in another order may differ in the last bit, so the policies are compared by what they cause.
    assert_eq!((adapted.verdict, adapted.progress_score), (coded.verdict, coded.progress_score));
    assay.assert_clean();
}

#[test]
fn a_declaration_that_does_not_fit_the_scenario_is_a_mismatch_that_names_the_remedy() {
    let assay = assay();
    for (from, to, parts) in [
        ("name = \"joint_position\"", "name = \"joints\"", &["\"state\"", "\"joints\"", "joint_position [2]"][..]),
        ("joint_position\", size = 2", "joint_position\", size = 7", &["shape [7]", "shape [2]", "correct its size"]),
        ("\"actuator\"", "\"joint_torque\"", &["\"joint_torque\"", "\"actuator\"", "another mode"]),
        ("units = [\"N\"]", "units = [\"kN\"]", &["units[0] is \"kN\"", "\"force\"", "\"N\"", "convert it"]),
    ] {
        let adapted = without_code(&assay, &DECLARATION.replace(from, to), &trained());
        let (code, message) = failure(&assay, &adapted);
        assert!(code == "mismatch" && parts.iter().all(|part| message.contains(part)), "{from}: {code}: {message}");
    }
    assay.assert_clean();
}

#[test]
fn a_network_that_is_not_what_is_declared_is_an_error_that_names_the_remedy() {
    let assay = assay();
    let lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    let io = || OnnxModel::default().input("state", &[1, 4]).output("force", &[1, 1]);
    let external = |place: &str| io().external("w", &[4, 1], place).node("MatMul", &["state", "w"], "force").to_bytes();
    let custom = io().node_of("evil", "Run", &["state"], "force").to_bytes();
    // 2^40 numbers.
    let huge = OnnxModel::default().input("state", &[1, 4]).output("force", &[0]).integers("s", &[1 << 40]);
    let huge = huge.node("ConstantOfShape", &["s"], "force").to_bytes();
    let nan = OnnxModel::default().input("state", &[1, 4]).output("force", &[1, 1]).constant("w", &[4, 1], &[-1e6; 4]);
    let nan =
        nan.node("Exp", &["state"], "e").node("MatMul", &["e", "w"], "m").node("Sqrt", &["m"], "force").to_bytes();
    let chunk =
        OnnxModel::default().input("state", &[1, 4]).output("force", &[5, 1]).constant("w", &[5, 4], &[0.1; 20]);
    let chunk = chunk.node("Mul", &["state", "w"], "all").integers("axis", &[1]);
    let chunk = chunk.node("ReduceSum", &["all", "axis"], "force").to_bytes();
    let wide = OnnxModel::default().input("state", &[1, 9]).output("force", &[1, 1]).constant("w", &[9, 1], &[0.0; 9]);
    let wide = wide.node("MatMul", &["state", "w"], "force").to_bytes();
    let whole = trained();
    for (model, code, parts) in [
        (&whole[..whole.len() / 2], "adapter", &["model.onnx", "incomplete", "export it again"][..]),
        (b"", "adapter", &["model.onnx", "incomplete"]),
        (lfs, "adapter", &["model.onnx", "pointer of Git LFS", "git lfs pull"]),
        (&custom, "adapter", &["the operator evil:Run", "standard operators"]),
        (&external("../../etc/passwd"), "adapter", &["weights in another file", "escapes", "save the model as one"]),
        (&external("/etc/passwd"), "adapter", &["weights in another file", "Absolute path"]),
        (&external("model.bin"), "adapter", &["weights in another file", "must be complete"]),
        (&huge, "memory", &["model.onnx needs more memory"]),
        (&nan, "bad_action", &["the output 'force' of model.onnx is not finite: number 0 is"]),
        (&chunk, "bad_action", &["shape [5, 1]", "1 x 1 is declared", "set chunk_size = 5"]),
        (&wide, "adapter", &["the input 'state'", "shape [1, 9]", "shape [1, 4]", "joint_position [2]"]),
    ] {
        let (found, message) = failure(&assay, &without_code(&assay, DECLARATION, model));
        assert!(found == code && parts.iter().all(|part| message.contains(part)), "{parts:?}: {found}: {message}");
    }
    let renamed = without_code(&assay, &DECLARATION.replace("name = \"state\"", "name = \"x\""), &whole);
    assert!(failure(&assay, &renamed).1.contains("model.onnx has no input 'x', only 'state'"));
    assay.assert_clean();
}

#[test]
fn weights_in_another_file_of_the_policy_are_found() {
    let assay = assay();
    let io = OnnxModel::default().input("state", &[1, 4]).output("force", &[1, 1]);
    let model = io.external("w", &[4, 1], "model.bin").node("MatMul", &["state", "w"], "force").to_bytes();
    let weights: Vec<u8> = [1.0_f32, 30.0, 2.0, 6.0].iter().flat_map(|number| number.to_le_bytes()).collect();
    let files = |weights| {
        let declaration = DECLARATION.as_bytes();
        policy(&assay, "external", &[("policy.toml", declaration), ("model.onnx", &model), ("model.bin", weights)])
    };
    let inside = run(&assay, &without_code(&assay, DECLARATION, &linear().to_bytes()));
    assert_eq!(hashes(&run(&assay, &files(&weights))), hashes(&inside));
    let (code, message) = failure(&assay, &files(&weights[..7]));
    assert!(code == "adapter" && message.contains("must be complete"), "{message}");
    assay.assert_clean();
}

#[test]
fn the_budget_of_a_chunk_is_that_of_its_steps() {
    let assay = assay();
    // A product of two matrices of a million numbers, which depends on the state: ten to eighty milliseconds.
    let model = OnnxModel::default().input("state", &[1, 4]).integers("side", &[1100, 1100]);
    let model = model.node("ReduceSum", &["state"], "sum").node("ConstantOfShape", &["side"], "zeros");
    let model = model.node("Add", &["zeros", "sum"], "full").node("MatMul", &["full", "full"], "product");
    let model = model.node("ReduceSum", &["product"], "total").constant("none", &[1], &[0.0]);
    let model = model.node("Mul", &["total", "none"], "small");
    let plan = |count: u64| {
        let zeros = vec![0.0; usize::try_from(count).unwrap()];
        let model = model.clone().output("force", &[count, 1]).constant("plan", &[count, 1], &zeros);
        model.node("Add", &["plan", "small"], "force").to_bytes()
    };
    let scenario = assay.copy_scenario(CARTPOLE, "slow", |name, text| match name {
        "scenario.toml" => {
            let (before, rest) = text.split_once("[budget]").unwrap();
            let budget = "[budget]\nstep_cpu_ms = 3\nhard_cpu_ms = 1000\n\n[arena]";
            let text = format!("{before}{budget}{}", rest.split_once("[arena]").unwrap().1);
            text.replace("time_limit_s = 10", "time_limit_s = 4")
        }
        _ => text,
    });
    let misses = |declaration: &str, model: &[u8]| {
        let adapted = without_code(&assay, declaration, model);
        let words = ["verify", adapted.to_str().unwrap(), "--scenario", scenario.to_str().unwrap()];
        let report = report(&assay.run(&[&words[..], &["--episodes", "1", "--record", "none", "--json"]].concat()));
        let episode = &report.episode_details[0];
        assert_eq!(episode.status, EpisodeStatus::Completed, "{:?}", episode.error);
        (episode.deadline_misses, episode.steps)
    };
    let (missed, steps) = misses(DECLARATION, &plan(1));
    assert_eq!(missed, steps - 1, "every step but the first is over its budget");
    let chunked = DECLARATION.replace("units", "chunk_size = 100\nunits");
    assert_eq!(misses(&chunked, &plan(100)).0, 0, "the mean over the chunk is not");
    assay.assert_clean();
}

#[test]
fn a_folder_is_code_or_a_complete_declaration() {
    let assay = assay();
    let refused = |files: &[(&str, &[u8])]| {
        let run = verify(&assay, &policy(&assay, "refused", files), &["--episodes", "1", "--record", "none"]);
        assert_eq!(run.code, 2, "{}", run.stdout);
        run.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let model = linear().to_bytes();
    let with = |declaration: &str| refused(&[("policy.toml", declaration.as_bytes()), ("model.onnx", &model)]);
    for (declaration, part) in [
        (DECLARATION.replace("model.onnx", "other.onnx"), "other.onnx: is not in the policy's folder or archive"),
        (DECLARATION.replace("model.onnx", "../model.onnx"), "../model.onnx: is not in the policy's folder"),
        (DECLARATION.replace("units = [\"N\"]\n", ""), "units is missing"),
        (DECLARATION.replace("control_mode = \"actuator\"\n", ""), "control_mode is missing"),
        (DECLARATION.replace("output = \"force\"\n", ""), "adapter.action.output is missing"),
        (DECLARATION.replace("size = 2", "size = 1000000000"), "an array has 1 to 65536 numbers"),
        (DECLARATION.replace("units", "chunk_size = 5\nreplan_steps = 6\nunits"), "execute 1 to 5 of them"),
        (DECLARATION.replace("units", "std = [1.0]\nunits"), "only one of mean and std"),
        (DECLARATION.replace("units", "mean = [0.0, 0.0]\nstd = [1.0, 1.0]\nunits"), "has 2 numbers, but 1 are needed"),
        (DECLARATION.replace("units", "mean = [0.0]\nstd = [0.0]\nunits"), "must be positive"),
        (
            DECLARATION.replace("units", "statistics = { file = \"s.npz\" }\nunits"),
            "s.npz: is not in the policy's folder",
        ),
        (DECLARATION.replace("kind = \"onnx\"", "kind = \"keras\""), "must be \"onnx\" or \"lerobot\""),
        (DECLARATION.replace("model =", "version = 2\nmodel ="), "only version 1 exists here"),
        (DECLARATION.replace("model =", "threads = 4\nmodel ="), "threads is not known"),
        ("[tool.assay]\nruntime = \"onnx\"\n".to_owned(), "there is no policy.py"),
    ] {
        let message = with(&declaration);
        assert!(message.contains(part), "{part} is missing in {message}");
    }
    let files: [(&str, &[u8]); 3] = [
        ("policy.toml", DECLARATION.as_bytes()),
        ("model.onnx", &model),
        ("policy.py", b"def policy(observation):\n    return [0]\n"),
    ];
    assert!(refused(&files).contains("remove one of them"), "{}", refused(&files));
}
