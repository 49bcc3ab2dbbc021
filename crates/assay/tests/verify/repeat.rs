//! The same archive, scenario and seed give the same traces, regardless of all other conditions.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_model::Sha256Digest;
use assay_testkit::{Assay, example, home, zip_folder};

use crate::verify::{CARTPOLE, assay, hashes, report, verify};

#[track_caller]
fn traces(assay: &Assay, policy: &std::path::Path, more: &[&str]) -> Vec<String> {
    let mut arguments = vec!["--episodes", "4", "--json"];
    arguments.extend(more);
    let run = verify(assay, policy, &arguments);
    assert_eq!(run.code, 0, "{}", run.stderr);
    hashes(&report(&run))
}

#[test]
fn traces_do_not_depend_on_lanes_or_form() {
    let assay = assay();
    let folder = example(CARTPOLE, "reference");
    let first = traces(&assay, &folder, &["--lanes", "1"]);
    assert_eq!(traces(&assay, &folder, &["--lanes", "1"]), first, "run again");
    assert_eq!(traces(&assay, &folder, &["--lanes", "2"]), first, "on two lanes");
    assert_eq!(traces(&assay, &folder, &["--lanes", "5"]), first, "on more lanes than processors and episodes");
    assert_eq!(traces(&assay, &folder.join("policy.py"), &[]), first, "as a file");
    let zip = assay.write("policy.zip", zip_folder(&folder));
    assert_eq!(traces(&assay, &zip, &[]), first, "as an archive");
    let other = traces(&assay, &folder, &["--seed", "1"]);
    assert!(other.iter().all(|hash| !first.contains(hash)), "another seed draws other worlds");
    assay.assert_clean();
}

#[test]
fn traces_do_not_depend_on_load() {
    let assay = assay();
    let folder = example(CARTPOLE, "reference");
    let quiet = traces(&assay, &folder, &[]);
    let done = AtomicBool::new(false);
    let busy = std::thread::scope(|scope| {
        for _ in 0..2 * std::thread::available_parallelism().unwrap().get() {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let busy = std::panic::catch_unwind(|| traces(&assay, &folder, &[]));
        done.store(true, Ordering::Relaxed);
        busy
    });
    assert_eq!(busy.unwrap(), quiet);
}

#[test]
fn a_prefix_of_the_episodes_is_the_same() {
    let assay = assay();
    let folder = example(CARTPOLE, "reference");
    let four = traces(&assay, &folder, &[]);
    let run = verify(&assay, &folder, &["--episodes", "2", "--json"]);
    assert_eq!(hashes(&report(&run)), four[..2]);
}

#[test]
fn printed_commands_can_be_run() {
    let assay = assay();
    let model = b"0.5";
    let code = "import pathlib\nFORCE = float((pathlib.Path(__file__).parent / 'w.txt').read_text())\ndef policy(observation):\n    \
                return [[FORCE]] * 3\n";
    assay.write("my policy's/policy.py", code);
    let declared = format!("[[models]]\npath = \"w.txt\"\nsha256 = \"{}\"\n", Sha256Digest::of(model));
    assay.write("my policy's/policy.toml", format!("\u{feff}{declared}[tool.assay]\nreplan_steps = 2\n"));
    assay.write("my policy's/.env", "secret");
    assay.write("the model.txt", model);
    let given = ["my policy's", "--scenario", CARTPOLE, "--model", "the model.txt"];
    let shell = |line: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(assay.path("")).env("ASSAY_HOME", home());
        let output = command.env("TMPDIR", assay.path("tmp")).output().unwrap();
        let report = assay_report_of(&output.stdout);
        report.unwrap_or_else(|error| panic!("{line}: {error}: {}", String::from_utf8_lossy(&output.stderr)))
    };
    let checked = assay.run(&[&["check"], given.as_slice()].concat());
    let next = checked.stdout.lines().find_map(|line| line.strip_prefix("Next: "));
    let next = next.unwrap_or_else(|| panic!("{}{}", checked.stdout, checked.stderr));
    assert!(checked.stdout.contains("left out of the policy: .env"), "{}", checked.stdout);
    let report = shell(&format!("{next} --episodes 1 --seed 3 --json"));
    assert_eq!(report.episode_details[0].chunk, Some(3), "actions of an answer");
    assert_eq!(report.warnings, ["left out of the policy: .env"]);

    let verified = assay.run(&[&["verify"], given.as_slice(), &["--episodes", "1", "--seed", "3"]].concat());
    let again =
        verified.stdout.lines().map(str::trim).find(|line| line.contains(" verify ") && line.contains("--seed 3"));
    let again = again.unwrap_or_else(|| panic!("{}{}", verified.stdout, verified.stderr));
    assert_eq!(hashes(&shell(&format!("{again} --json"))), hashes(&report), "{again}");
}

fn assay_report_of(stdout: &[u8]) -> serde_json::Result<assay_model::JobReport> {
    serde_json::from_slice(stdout)
}
