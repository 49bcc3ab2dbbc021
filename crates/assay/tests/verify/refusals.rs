//! Wrong use and wrong input: exit code 2, a message that names the problem and the remedy, and nothing left behind.

use std::fs;

use assay_testkit::{Assay, archive, example};
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::verify::{CARTPOLE, assay, verify};

const POLICY: &[u8] = b"def policy(observation):\n    return [0]\n";

#[track_caller]
fn refused(assay: &Assay, arguments: &[&str], parts: &[&str]) {
    let run = assay.run(arguments);
    assert_eq!(run.code, 2, "{arguments:?}: {}{}", run.stdout, run.stderr);
    assert!(run.stdout.is_empty(), "{arguments:?}: {}", run.stdout);
    for part in parts {
        assert!(run.stderr.contains(part), "{arguments:?}: {part:?} is missing in {}", run.stderr);
    }
    assay.assert_clean();
}

fn with_link() -> Vec<u8> {
    let mut writer = ZipWriter::new_append(std::io::Cursor::new(archive(&[("policy.py", POLICY)]))).unwrap();
    writer.add_symlink("weights.npy", "/etc/passwd", SimpleFileOptions::default()).unwrap();
    writer.finish().unwrap().into_inner()
}

/// Returns an archive with the name `from` replaced by `to`, which ordinary programs do not write.
fn renamed(zip: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut zip = zip;
    for at in 0..=zip.len() - from.len() {
        if zip[at..].starts_with(from.as_bytes()) {
            zip[at..at + to.len()].copy_from_slice(to.as_bytes());
        }
    }
    zip
}

#[test]
fn invalid_archives_are_refused() {
    let assay = assay();
    let two = [("policy.py", POLICY), ("policy.px", POLICY)];
    let zeros = vec![0; 8 << 20];
    let cases: [(Vec<u8>, &[&str]); 8] = [
        (b"I am no archive".to_vec(), &["not a usable zip archive", "pack the folder again"]),
        (archive(&[("main.py", POLICY)]), &["no policy.py at the root"]),
        (archive(&[("a/b/policy.py", POLICY), ("c.py", b"")]), &["a/b/policy.py", "pack that folder instead"]),
        (archive(&[("policy.py", POLICY), ("../evil.py", POLICY)]), &["'../evil.py'", "out of the archive"]),
        (archive(&[("policy.py", POLICY), ("/etc/evil", POLICY)]), &["'/etc/evil'", "absolute"]),
        (with_link(), &["'weights.npy'", "symbolic link"]),
        (archive(&[("policy.py", POLICY), ("bomb.bin", &zeros)]), &["'bomb.bin'", "times its size"]),
        (renamed(archive(&two), "policy.px", "policy.py"), &["'policy.py'", "same name"]),
    ];
    for (zip, parts) in cases {
        let path = assay.write("policy.zip", zip);
        refused(&assay, &["verify", path.to_str().unwrap(), "--scenario", CARTPOLE], parts);
    }
}

#[test]
fn invalid_arguments_are_refused() {
    let assay = assay();
    let policy = assay.write("policy.py", POLICY);
    let policy = policy.to_str().unwrap();
    let cases: [(&[&str], &[&str]); 10] = [
        (&["verify", "nowhere.zip", "--scenario", CARTPOLE], &["nowhere.zip does not exist", ".py file"]),
        (&["verify", policy, "--scenario", "no_such"], &["--scenario", "no_such", CARTPOLE, "tabletop_reach"]),
        (&["verify", policy], &["--scenario"]),
        (&["verify", policy, "--scenario", CARTPOLE, "--episodes", "0"], &["--episodes", "1..=10000"]),
        (&["verify", policy, "--scenario", CARTPOLE, "--lanes", "0"], &["--lanes"]),
        (&["verify", policy, "--scenario", CARTPOLE, "--seed", "x"], &["--seed"]),
        (&["verify", policy, "--scenario", CARTPOLE, "--record", "some"], &["--record", "all, violations or none"]),
        (&["verify", policy, "--scenario", CARTPOLE, "--confidence", "1"], &["--confidence", "between 0 and 1"]),
        (&["scenario", "show", "no_such"], &["no_such", CARTPOLE]),
        (&["keys", "list", "--data", "nowhere"], &["--data nowhere", "no such folder"]),
    ];
    for (arguments, parts) in cases {
        refused(&assay, arguments, parts);
    }
}

#[test]
fn a_folder_with_other_files_is_not_written_to() {
    let assay = assay();
    let policy = assay.write("policy.py", POLICY);
    let thesis = assay.write("out/thesis.tex", "five years");
    let out = assay.path("out");
    let arguments = ["verify", policy.to_str().unwrap(), "--scenario", CARTPOLE, "--out", out.to_str().unwrap()];
    refused(&assay, &arguments, &["thesis.tex", "choose an empty folder"]);
    assert_eq!(fs::read_to_string(thesis).unwrap(), "five years");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
    // A file in place of the folder.
    let arguments = ["verify", policy.to_str().unwrap(), "--scenario", CARTPOLE, "--out", policy.to_str().unwrap()];
    refused(&assay, &arguments, &["--out", "policy.py"]);
    assert_eq!(fs::read(&policy).unwrap(), POLICY);
}

#[test]
fn an_earlier_report_outlives_a_wrong_command() {
    let assay = assay();
    let policy = assay.write("policy.py", POLICY);
    let out = assay.path("out");
    let run = verify(&assay, &policy, &["--episodes", "1", "--record", "none", "--out", out.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let before = fs::read(out.join("report.json")).unwrap();
    refused(&assay, &["verify", "nowhere", "--scenario", CARTPOLE, "--out", out.to_str().unwrap()], &["nowhere"]);
    refused(
        &assay,
        &["verify", policy.to_str().unwrap(), "--scenario", "nothing", "--out", out.to_str().unwrap()],
        &["nothing"],
    );
    assert_eq!(fs::read(out.join("report.json")).unwrap(), before);
}

#[test]
fn a_broken_scenario_names_file_and_key() {
    let assay = assay();
    let policy = example(CARTPOLE, "idle");
    let original = policy.join("../../../../scenarios").join(CARTPOLE);
    let read = |name: &str| fs::read_to_string(original.join(name)).unwrap();
    let (toml, scene) = (read("scenario.toml"), read("scene.xml"));
    let cases: [(String, String, &[&str]); 5] = [
        (toml.replace("control_hz = 50", "control_hz = \"fast\""), scene.clone(), &["scenario.toml", "control_hz"]),
        (toml.replace("[camera]", "[camera]\nzoom = 3"), scene.clone(), &["scenario.toml", "zoom"]),
        (
            toml.replace("abs(cart_position) <= limit", "abs(cart_place) <= limit"),
            scene.clone(),
            &["scenario.toml: clause[0].formula", "cart_place"],
        ),
        (toml.replace("joint = \"slide\"", "joint = \"glide\""), scene.clone(), &["glide"]),
        (toml.clone(), scene.replace("</worldbody>", ""), &["scene.xml"]),
    ];
    for (toml, scene, parts) in cases {
        let path = assay.copy_scenario(CARTPOLE, "broken", |name, text| match name {
            "scenario.toml" => toml.clone(),
            "scene.xml" => scene.clone(),
            _ => text,
        });
        refused(&assay, &["verify", policy.to_str().unwrap(), "--scenario", path.to_str().unwrap()], parts);
    }
}
