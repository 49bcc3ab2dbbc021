//! Runtimes: what policies declare, how operators add packages, and which replays they allow.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_model::{EpisodeStatus, JobReport, Verdict};
use assay_testkit::Assay;

use crate::verify::{CARTPOLE, assay, report, verify};

/// Makes a policy that needs the package `tiny`.
const NEEDS_TINY: &str = "# /// script\n# dependencies = [\"tiny>=1.2\"]\n# ///\nimport numpy as np\nimport tiny\n\n\
                          def policy(observation):\n    return np.full(1, tiny.FORCE)\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn hashes(report: &JobReport) -> Vec<String> {
    report.episode_details.iter().filter_map(|episode| Some(episode.trace_hash?.to_string())).collect()
}

#[test]
fn one_network_gives_the_same_verdict_in_each_form_and_the_same_hashes_each_time() {
    let assay = assay();
    let key = "5f".repeat(32);
    let run = |form: &str| {
        let policy = root().join("examples/learned").join(CARTPOLE).join(form);
        let arguments = ["--episodes", "2", "--seed", "3", "--record", "none", "--json", "--policy-key", &key];
        let run = verify(&assay, &policy, &arguments);
        assert_eq!(run.code, 0, "{form}: {}{}", run.stdout, run.stderr);
        report(&run)
    };
    for (form, runtime) in [("numpy", "base"), ("onnx", "onnx")] {
        let (once, again) = (run(form), run(form));
        assert_eq!((hashes(&once).len(), hashes(&once)), (2, hashes(&again)), "{form}");
        assert_eq!((once.verdict, once.success_rate), (Some(Verdict::Safe), Some(1.0)), "{form}");
        assert_eq!(once.fingerprint.unwrap().runtime.unwrap().name.as_str(), runtime);
    }
}

/// The network was trained on demonstrations (`examples/learned/tabletop_reach`); the ONNX model has no code.
#[test]
fn a_network_trained_on_demonstrations_reaches_the_target_in_both_forms() {
    let assay = assay();
    let key = "5f".repeat(32);
    let run = |form: &str, episodes: &str, lanes: &str| {
        let policy = root().join("examples/learned/tabletop_reach").join(form);
        let words =
            ["verify", policy.to_str().unwrap(), "--scenario", "tabletop_reach", "--seed", "3", "--record", "none"];
        let more = ["--json", "--policy-key", &key, "--episodes", episodes, "--lanes", lanes];
        report(&assay.run(&[&words[..], &more].concat()))
    };
    let forms = ["numpy", "onnx"].map(|form| {
        let (twenty, four) = (run(form, "20", "2"), run(form, "4", "1"));
        assert_eq!(twenty.episode_details.len(), 20);
        assert!(twenty.success_rate.unwrap() >= 0.8, "{form}: {:?}", twenty.success_rate);
        assert_eq!((hashes(&four).len(), &hashes(&twenty)[..4]), (4, &hashes(&four)[..]), "{form}");
        twenty
    });
    let of = |report: &JobReport| (report.verdict, report.success_rate);
    assert_eq!(of(&forms[0]), of(&forms[1]));
    assay.assert_clean();
}

/// A small network that sees the image from above (`examples/learned/tidy_by_sight`). It was trained for a minute, so
/// its success is told, whatever it is.
#[test]
fn a_network_that_sees_images_runs_without_code() {
    let assay = assay();
    let policy = root().join("examples/learned/tidy_by_sight/onnx");
    let words = ["verify", policy.to_str().unwrap(), "--scenario", "tidy_by_sight", "--seed", "3", "--record", "none"];
    let report = report(&assay.run(&[&words[..], &["--episodes", "2", "--json"]].concat()));
    for episode in &report.episode_details {
        assert_eq!((&episode.error, episode.status), (&None, EpisodeStatus::Completed));
        assert!(episode.steps > 1 && episode.trace_hash.is_some());
    }
    assert!(report.success_rate.is_some() && report.verdict.is_some(), "{:?}", report.error_message);
    assert_eq!(report.fingerprint.unwrap().runtime.unwrap().name.as_str(), "onnx");
    assay.assert_clean();
}

#[test]
fn a_policy_that_no_runtime_satisfies_learns_what_is_offered() {
    let assay = assay();
    for (declared, parts) in [
        ("dependencies = [\"torch>=2\"]", &["no runtime here has torch>=2", "base (Python 3", "onnx", "export"][..]),
        ("[tool.assay]\nruntime = \"torch\"", &["asks for the runtime torch", "offered are base"]),
        ("[tool.assay]\nruntime = \"base\"\n[project]\n", &[]),
        ("dependencies = [\"torch @ https://example.org/torch.whl\"]", &["policy.toml", "is an address"]),
        ("[tool.assay]\nruntme = \"base\"", &["policy.toml", "runtme is not known"]),
    ] {
        let policy = assay.path("policy");
        fs::create_dir_all(&policy).unwrap();
        fs::write(policy.join("policy.py"), "import numpy as np\n\ndef policy(o):\n    return np.zeros(1)\n").unwrap();
        fs::write(policy.join("policy.toml"), declared).unwrap();
        let run = verify(&assay, &policy, &["--episodes", "1", "--record", "none"]);
        assert_eq!(run.code == 2, !parts.is_empty(), "{declared}: {}", run.stderr);
        let message = run.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(parts.iter().all(|part| message.contains(part)), "{declared}: {message}");
    }
}

#[test]
fn the_lists_of_packages_that_assay_has_need_no_option() {
    let assay = assay();
    let add = |name: &str, more: &[&str]| {
        let run = assay.run(&[&["runtime", "add", name], more].concat());
        assert_eq!(run.code, 2, "{}", run.stderr);
        run.stderr
    };
    assert!(add("unknown", &[]).contains("no list of packages for unknown: give --from-venv or --requirements"));
    // The list is found; the interpreter is not.
    assert!(add("lerobot", &["--python", "/nonexistent/python3"]).contains("could not start /nonexistent/python3"));
    assert!(add("onnx", &[]).contains("onnx is a runtime of this installation"));
}

#[test]
fn a_virtual_environment_becomes_a_runtime_with_one_command() {
    let assay = assay();
    let runtimes = assay.path("runtimes");
    let assay = assay.with_variable("ASSAY_RUNTIMES", runtimes.to_str().unwrap());
    let venv = environment(&assay, "1.3");
    let add = ["runtime", "add", "mine", "--from-venv", venv.to_str().unwrap()];
    let added = assay.run(&add);
    assert_eq!(added.code, 0, "{}", added.stderr);
    for part in [
        "1 of 17 modules cannot be imported in the jail",
        "broken: ImportError: libnowhere.so.9",
        "install the library",
        "added mine",
    ] {
        assert!(added.stdout.contains(part), "{part}: {}", added.stdout);
    }
    let checked = assay.run(&["runtime", "check", "mine"]);
    assert!(checked.code == 1 && checked.stdout.contains("broken"), "{}", checked.stdout);

    // Its packages are there for a policy that needs them, and its digest is in the report.
    let policy = assay.write("tiny_policy.py", NEEDS_TINY);
    let arguments = ["--episodes", "1", "--record", "none", "--out", "out", "--json"];
    let run = verify(&assay, &policy, &arguments);
    let first = report(&run).fingerprint.unwrap().runtime.unwrap();
    assert_eq!(first.name.as_str(), "mine", "{}", run.stderr);

    // A new version does not change what an old report is replayed with.
    environment(&assay, "1.4");
    let replaced = assay.run(&add);
    assert!(replaced.code == 0 && replaced.stdout.contains("the earlier version is kept"), "{}", replaced.stdout);
    let replayed = assay.run(&["replay", "out/report.json"]);
    assert_eq!(replayed.code, 0, "{}{}", replayed.stdout, replayed.stderr);
    let removed = assay.run(&["runtime", "remove", &format!("mine@{}", &first.sha256.to_string()[..12])]);
    assert_eq!(removed.code, 0, "{}", removed.stderr);
    let refused = assay.run(&["replay", "out/report.json"]);
    assert!(refused.code == 2 && refused.stderr.contains("mine"), "{}", refused.stderr);
    assert_eq!(assay.run(&["runtime", "remove", "base"]).code, 2, "base is part of the installation");
}

/// Creates a virtual environment with numpy, a package `tiny` of this version, and one that needs a missing library.
fn environment(assay: &Assay, version: &str) -> PathBuf {
    let venv = assay.path("venv");
    if !venv.exists() {
        let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&venv).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
    let packages = site_packages(&venv);
    let base = site_packages(&root().join("vendor/runtimes/base/py"));
    for entry in fs::read_dir(&base).unwrap().map(|entry| entry.unwrap().path()) {
        let copied = Command::new("cp").arg("-r").arg(&entry).arg(&packages).status().unwrap();
        assert!(copied.success());
    }
    let missing = "raise ImportError('libnowhere.so.9: cannot open shared object file: No such file or directory')\n";
    for (name, source) in [("tiny", "FORCE = 0.0\n"), ("broken", missing)] {
        for old in fs::read_dir(&packages).unwrap().map(|entry| entry.unwrap().path()) {
            if old.file_name().unwrap().to_string_lossy().starts_with(&format!("{name}-")) {
                fs::remove_dir_all(old).unwrap();
            }
        }
        fs::write(packages.join(format!("{name}.py")), source).unwrap();
        let about = packages.join(format!("{name}-{version}.dist-info"));
        fs::create_dir(&about).unwrap();
        fs::write(about.join("METADATA"), format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"))
            .unwrap();
        fs::write(about.join("RECORD"), format!("{name}.py,,\n")).unwrap();
    }
    venv
}

fn site_packages(prefix: &Path) -> PathBuf {
    let mut versions = fs::read_dir(prefix.join("lib")).unwrap().map(|entry| entry.unwrap().path());
    versions.find(|path| path.join("site-packages").is_dir()).unwrap().join("site-packages")
}
