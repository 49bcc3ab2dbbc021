//! `assay init --template`: every template is created complete, and runs as far as this machine's runtimes allow.

use std::fs;
use std::path::Path;

use assay_model::{EpisodeStatus, FindingLevel, JobReport, Preflight, Verdict};
use assay_policy::PolicyDeclaration;
use assay_scenario::Scenario;
use assay_testkit::{Assay, PythonServer, Run, home};
use assay_worker::adapter_mismatch;

use crate::verify::{CARTPOLE, assay, report, verify};

/// Creates `template` for the cart-pole in a folder of its name.
fn init(assay: &Assay, template: &str) -> Run {
    let run = assay.run(&["init", template, "--template", template, "--scenario", CARTPOLE]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    run
}

fn check(assay: &Assay, policy: &str) -> (Run, Option<Preflight>) {
    let run = assay.run(&["check", policy, "--scenario", CARTPOLE, "--json"]);
    let found = serde_json::from_str(&run.stdout).ok();
    (run, found)
}

/// Asserts that the preflight found nothing but that the policy does nothing.
#[track_caller]
fn assert_ready((run, found): &(Run, Option<Preflight>), codes: &[&str]) {
    let found = found.as_ref().unwrap_or_else(|| panic!("{}", run.stderr));
    let found: Vec<_> = found.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!((run.code, &found[..]), (0, codes), "{}", run.stdout);
}

fn first_episode(run: &Run) -> (EpisodeStatus, JobReport) {
    let report = report(run);
    (report.episode_details[0].status, report)
}

/// Asserts that the declaration of a policy without code fits a scenario.
#[track_caller]
fn assert_fits(declared: &[u8], scenario: &str) {
    let adapter = PolicyDeclaration::read(None, Some(declared)).unwrap().adapter.unwrap();
    let scenario = Scenario::load(&home().join("scenarios").join(scenario), &home().join("robots")).unwrap();
    assert_eq!(adapter_mismatch(&adapter, &scenario), None);
}

#[test]
fn every_template_is_a_folder_with_instructions() {
    let assay = assay();
    for (template, files) in [
        ("numpy", &["README.md", "policy.py"][..]),
        ("onnx", &["README.md", "export.py", "policy.toml"]),
        ("torch", &["README.md", "network.py", "policy.py", "train.py"]),
        ("lerobot", &["README.md", "policy.toml"]),
        ("server", &["README.md", "policy.py", "server.py"]),
    ] {
        let run = init(&assay, template);
        let mut names: Vec<_> =
            fs::read_dir(assay.path(template)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, files, "{template}");
        for name in files {
            let text = fs::read_to_string(assay.path(template).join(name)).unwrap();
            assert!(!text.contains("{{"), "{template}/{name}: {text}");
            assert!(run.stdout.contains(name), "{name} is missing in {}", run.stdout);
        }
        let (main, declares) = match files.contains(&"policy.py") {
            true => ("policy.py", "# [tool.assay]\n# runtime = "),
            false => ("policy.toml", "\nunits = [\"N\"]\n"),
        };
        let source = fs::read_to_string(assay.path(template).join(main)).unwrap();
        for part in [declares, "observation[\"joint_position\"]", "action[0]  force in [-12, 12] N"] {
            assert!(source.contains(part), "{template}: {part} is missing in {source}");
        }
    }
    let unknown = assay.run(&["init", "other", "--template", "keras"]);
    assert_eq!((unknown.code, assay.path("other").exists()), (2, false));
    assert!(unknown.stderr.contains("numpy, onnx, torch, lerobot, server"), "{}", unknown.stderr);
}

#[test]
fn every_scenario_and_template_gives_valid_files() {
    let assay = assay();
    let list: serde_json::Value = serde_json::from_str(&assay.run(&["scenario", "list", "--json"]).stdout).unwrap();
    let ids = list["scenarios"].as_array().unwrap().iter().map(|scenario| scenario["id"].as_str().unwrap());
    for (id, template) in ids.flat_map(|id| ["numpy", "onnx", "torch", "lerobot", "server"].map(|one| (id, one))) {
        let folder = format!("all/{id}/{template}");
        let run = assay.run(&["init", &folder, "--template", template, "--scenario", id]);
        assert_eq!(run.code, 0, "{folder}: {}", run.stderr);
        if let Ok(declared) = fs::read(assay.path(&folder).join("policy.toml")) {
            assert_fits(&declared, id);
        }
    }
    let python = home().join("vendor/dev-venv/bin/python");
    let compiled = std::process::Command::new(python).args(["-m", "compileall", "-q"]).arg(assay.path("all")).output();
    let compiled = compiled.unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stdout));
    let images = fs::read_to_string(assay.path("all/tidy_by_sight/lerobot/policy.toml")).unwrap();
    assert!(images.contains("image = \"images/"), "{images}");
}

#[test]
fn the_numpy_template_runs_at_once() {
    let assay = assay();
    init(&assay, "numpy");
    assert_ready(&check(&assay, "numpy"), &["constant"]);
    let run = verify(&assay, Path::new("numpy"), &["--episodes", "1", "--record", "none", "--json"]);
    let (status, report) = first_episode(&run);
    assert_eq!(status, EpisodeStatus::Completed, "{:?}", report.error_message);
    assert_eq!(report.fingerprint.unwrap().runtime.unwrap().name.as_str(), "base");
    assay.assert_clean();
}

#[test]
fn the_onnx_template_runs_a_network_and_explains_a_missing_or_unsuitable_one() {
    let assay = assay();
    init(&assay, "onnx");
    let (run, _) = check(&assay, "onnx");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("model.onnx: is not in the policy's folder"), "{}", run.stderr);

    let model = home().join("examples/learned/cartpole_keepin/onnx/model.onnx");
    fs::copy(model, assay.path("onnx/model.onnx")).unwrap();
    let (_, found) = check(&assay, "onnx");
    let message = &found.unwrap().findings[0].message;
    assert!(message.contains("model.onnx has no output 'action', only 'force'"), "{message}");
    let path = assay.path("onnx/policy.toml");
    let declared = fs::read_to_string(&path).unwrap().replace("output = \"action\"", "output = \"force\"");
    fs::write(&path, &declared).unwrap();
    assert_ready(&check(&assay, "onnx"), &[]);
    let run = verify(&assay, Path::new("onnx"), &["--episodes", "1", "--record", "none", "--json"]);
    let (status, report) = first_episode(&run);
    assert_eq!((run.code, status, report.verdict), (0, EpisodeStatus::Completed, Some(Verdict::Safe)));
    assert_eq!((report.success_rate, report.fingerprint.unwrap().runtime.unwrap().name.as_str()), (Some(1.0), "onnx"));

    let velocity = "    { name = \"joint_velocity\", size = 2 },\n";
    assert!(declared.contains(velocity), "{declared}");
    fs::write(&path, declared.replace(velocity, "")).unwrap();
    let (_, found) = check(&assay, "onnx");
    let message = &found.unwrap().findings[0].message;
    assert!(message.contains("has shape [1, 4], but its arrays have shape [1, 2]"), "{message}");
    assay.assert_clean();
}

#[test]
fn the_server_template_is_verified_at_its_address() {
    let assay = assay();
    init(&assay, "server");
    let server = PythonServer::start(&assay.path("server/server.py"), &["--port", "0"]);
    let address = format!("http://127.0.0.1:{}", server.port());
    let checked = check(&assay, &address);
    assert_ready(&checked, &["constant"]);
    assert_eq!(checked.1.unwrap().speaks.as_deref(), Some("HTTP POST /act, named arrays"));
    let run = verify(&assay, Path::new(&address), &["--episodes", "1", "--record", "none", "--json"]);
    let (status, report) = first_episode(&run);
    assert_eq!(status, EpisodeStatus::Completed, "{:?}", report.error_message);
    // The same policy in the jail does the same.
    let jailed = verify(&assay, Path::new("server"), &["--episodes", "1", "--record", "none", "--json"]);
    assert_eq!(first_episode(&jailed).1.episode_details[0].trace_hash, report.episode_details[0].trace_hash);
    assay.assert_clean();
}

#[test]
fn the_server_template_reports_an_exception_and_sends_images() {
    let assay = assay();
    let run = assay.run(&["init", "sees", "--template", "server", "--scenario", "stack_by_sight"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let path = assay.path("sees/policy.py");
    let source = fs::read_to_string(&path).unwrap();
    let raises = "image = next(v for k, v in observation.items() if k.startswith('images/'))\n        raise \
                  RuntimeError(f'{image.shape} {image.dtype} {observation[\"instruction\"] != \"\"}')";
    let edited = source.replace("return np.zeros(7)", raises);
    assert_ne!(edited, source);
    fs::write(&path, edited).unwrap();
    let server = PythonServer::start(&assay.path("sees/server.py"), &["--port", "0"]);
    let address = format!("http://127.0.0.1:{}", server.port());
    let run = assay.run(&["check", &address, "--scenario", "stack_by_sight", "--json"]);
    let found: Preflight = serde_json::from_str(&run.stdout).unwrap();
    let error = found.error.unwrap();
    assert_eq!((run.code, error.code.as_str()), (1, "server_error"));
    assert!(error.log_tail.contains("RuntimeError: (224, 224, 3) uint8 True"), "{error:?}");
    assay.assert_clean();
}

#[test]
fn a_template_without_its_runtime_is_told_what_is_offered_and_what_else_works() {
    let assay = assay();
    init(&assay, "torch");
    let (run, _) = check(&assay, "torch");
    assert_eq!(run.code, 2, "{}", run.stdout);
    let message = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "asks for the runtime torch, which is not offered here",
        "offered are base (Python 3",
        "onnx (Python 3",
        "ask the operator for this runtime (assay runtime add)",
        "export the network to ONNX and run it in the runtime onnx",
        "start a policy server and submit its address",
    ] {
        assert!(message.contains(part), "{part} is missing in {message}");
    }
    init(&assay, "lerobot");
    let (run, _) = check(&assay, "lerobot");
    assert!(run.code == 2 && run.stderr.contains("checkpoint/config.json: is not in the policy's"), "{}", run.stderr);
    assay.assert_clean();
}

#[test]
fn a_setting_of_many_threads_is_found_before_it_costs_an_evaluation() {
    let assay = assay();
    fs::create_dir(assay.path("onnx")).unwrap();
    let example = home().join("examples/learned/cartpole_keepin/onnx");
    fs::copy(example.join("model.onnx"), assay.path("onnx/model.onnx")).unwrap();
    let path = assay.path("onnx/policy.py");
    let source = fs::read_to_string(example.join("policy.py")).unwrap();
    let edited = source.replace("intra_op_num_threads = 1", "intra_op_num_threads = 24");
    let line = 1 + edited.lines().position(|line| line.contains("= 24")).unwrap();
    fs::write(&path, &edited).unwrap();
    let (run, found) = check(&assay, "onnx");
    let found = found.unwrap();
    let finding = found.findings.iter().find(|finding| finding.code == "threads").unwrap();
    assert_eq!((run.code, finding.level), (0, FindingLevel::Warning), "{:?}", found.findings);
    let place = format!("policy.py, line {line}: intra_op_num_threads is 24");
    assert!(
        finding.message.contains(&place) && finding.advice.contains("set intra_op_num_threads to 1"),
        "{finding:?}"
    );
    assay.assert_clean();
}

#[test]
fn errors_of_learned_policies_come_with_a_remedy() {
    let assay = assay();
    let onnx = "# /// script\n# dependencies = [\"onnxruntime\"]\n# ///\nimport onnxruntime\n\
                session = onnxruntime.InferenceSession('FILE')\n";
    let in_folder = "import pathlib\nopen(pathlib.Path(__file__).with_name('w.npz'))\n";
    for (source, part) in [
        ("import torch\n", "export the network to ONNX"),
        ("import onnxruntime\n", "# dependencies = [\"onnxruntime\"]"),
        ("from lerobot.policies import factory\n", "lerobot is not in the policy's runtime"),
        ("import ctypes\nctypes.CDLL('libgomp_mine.so.1')\n", "libgomp_mine.so.1 is not in the policy's runtime"),
        ("open('weights.npz')\n", "open `Path(__file__).parent / \"weights.npz\"`"),
        ("open('/home/me/weights.npz')\n", "open `Path(__file__).parent / \"weights.npz\"`"),
        (in_folder, "w.npz is not in the archive"),
        (&onnx.replace("FILE", "model.onnx"), "open `Path(__file__).parent / \"model.onnx\"`"),
        (&onnx.replace("FILE", "/policy/model.onnx"), "model.onnx is not in the archive"),
        (&onnx.replace("FILE", "/policy/policy.py"), "Git LFS"),
        ("import socket\nsocket.create_connection(('huggingface.co', 443))\n", "a policy has no network"),
        ("import tempfile\ntempfile.NamedTemporaryFile()\n", "a policy can't write files"),
        ("import subprocess\nsubprocess.run(['nvidia-smi'])\n", "a policy is one process"),
    ] {
        let path = assay.write("policy.py", source);
        let (run, found) = check(&assay, path.to_str().unwrap());
        let found = found.unwrap_or_else(|| panic!("{source}: {}", run.stderr));
        assert!(found.findings[0].advice.contains(part), "{source}: {:?}", found.findings[0]);
    }
    // The report of an evaluation has it as well.
    let path = assay.write("policy.py", "open('weights.npz')\n");
    let run = verify(&assay, &path, &["--episodes", "1", "--record", "none"]);
    let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("-> the current folder is not the policy's: open"), "{}", run.stdout);
    assay.assert_clean();
}
