//! `docs/replay.py`: evidence can be replayed with an independent MuJoCo, without any part of assay.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use assay_testkit::{Assay, example};

use crate::verify::{CARTPOLE, assay};

fn replay(folder: &Path) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut python = Command::new(root.join("vendor/dev-venv/bin/python"));
    python.arg(root.join("docs/replay.py")).arg(folder).arg("--trust-model").env_remove("GLIBC_TUNABLES");
    python.output().expect("vendor/dev-venv is made by tools/setup --dev")
}

/// Records an episode of the scenario's reference policy, without images.
fn recorded(assay: &Assay, scenario: &str) -> String {
    let (policy, out) = (example(scenario, "reference"), assay.path(scenario));
    let arguments = ["--scenario", scenario, "--episodes", "1", "--record", "none", "--json", "--out"];
    let mut all = vec!["verify", policy.to_str().unwrap()];
    all.extend(arguments);
    all.push(out.to_str().unwrap());
    let run = assay.run(&all);
    assert_eq!(run.code, 0, "{}", run.stderr);
    crate::verify::hashes(&crate::verify::report(&run)).remove(0)
}

#[test]
fn an_independent_mujoco_reproduces_every_bit() {
    let assay = assay();
    for scenario in [CARTPOLE, "tabletop_reach"] {
        let hash = recorded(&assay, scenario);
        let output = replay(&assay.path(scenario).join("episodes/000"));
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(stdout.trim(), format!("bit-identical, trace hash {hash}"));
    }
}

#[test]
fn a_changed_bit_is_detected() {
    let assay = assay();
    recorded(&assay, CARTPOLE);
    let folder = assay.path(CARTPOLE).join("episodes/000");
    let state = folder.join("state.bin");
    let good = fs::read(&state).unwrap();
    let mut changed = good.clone();
    // The state begins with the time, then the cart's position.
    changed[8] ^= 1;
    fs::write(&state, changed).unwrap();
    let output = replay(&folder);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "first difference: qpos[0] at physics step 0 (0.000 s)\n");

    fs::write(&state, good).unwrap();
    let inputs = folder.join("inputs.npz");
    let mut changed = fs::read(&inputs).unwrap();
    // Headers take 30 bytes for the entry, 8 for its name, 128 for the array; the first force acts from step 0.
    changed[30 + 8 + 128] ^= 1;
    fs::write(&inputs, changed).unwrap();
    let output = replay(&folder);
    assert_ne!(output.status.code(), Some(0), "numpy sees the archive's checksum, or the physics deviate");
}
