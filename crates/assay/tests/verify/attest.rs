//! Statements from the command line: `--out` signs them, and anyone can check them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use assay_testkit::{Assay, example, zip_folder};
use proptest::prelude::{ProptestConfig as Config, any};
use proptest::prop_assert_eq;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;

use crate::verify::{CARTPOLE, assay, verify};

/// Records one clean episode with its evidence and statement in `out`, and the policy as `policy.zip`.
fn evaluated(assay: &Assay) {
    let zip = assay.write("policy.zip", zip_folder(&example(CARTPOLE, "reference")));
    // A copy of the policy is not signed: the statement names its hash, which `--policy` compares.
    let run = verify(assay, &zip, &["--episodes", "1", "--out", "out", "--record", "none", "--no-keep-policy"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[track_caller]
fn check(assay: &Assay, more: &[&str], code: i32, part: &str) {
    let run = assay.run(&[&["attest", "verify", "out/report.intoto.json", "--policy", "policy.zip"], more].concat());
    assert_eq!(run.code, code, "{}{}", run.stdout, run.stderr);
    let shown = format!("{}{}", run.stdout, run.stderr);
    // Sentences are wrapped.
    let unwrapped = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(part) || unwrapped.contains(part), "{shown}");
}

#[test]
fn signed_files_can_be_checked_on_any_machine() {
    let assay = assay();
    evaluated(&assay);
    let secret = assay.path("user/assay/signing/signing-key.pem");
    assert_eq!(fs::metadata(&secret).unwrap().permissions().mode() & 0o777, 0o600);
    check(&assay, &[], 0, "numbers    verdict, scores and statistics follow");
    check(&assay, &[], 0, "This proves who signed");
    check(&assay, &[], 0, "files match the signed statement\n");
    check(&assay, &[], 0, "result     VERIFIED\n");

    let keys = assay.run(&["attest", "keys", "--json"]);
    assay.write("keys.json", &keys.stdout);
    let rotated = assay.run(&["attest", "rotate"]);
    assert_eq!((rotated.code, rotated.stdout.contains("1 retired")), (0, true), "{}", rotated.stdout);
    check(&assay, &[], 0, "retired");
    // Another machine has only the published files.
    fs::remove_dir_all(assay.path("user")).unwrap();
    check(&assay, &["--keys", "keys.json"], 0, "verdict    SAFE");
    let id = keys.stdout.split('"').find(|text| text.len() == 64).unwrap();
    check(&assay, &[], 1, &format!("REFUSED, the signature check failed: it was signed by key {id}"));
    check(&assay, &["--keys", "keys.json", "--keyid", id], 0, id);
    let zeros = "0".repeat(64);
    check(&assay, &["--keys", "keys.json", "--keyid", &zeros], 1, "not by the key that was asked for");
    check(&assay, &["--keys", "absent.json"], 2, "absent.json");
}

#[test]
fn a_changed_byte_at_any_position_is_detected() {
    let assay = assay();
    evaluated(&assay);
    let out = assay.path("out");
    let mut files = files_below(&out);
    files.push(assay.path("policy.zip"));
    assert!(files.len() > 8, "{files:?}");
    for (number, file) in files.iter().enumerate() {
        let good = fs::read(file).unwrap();
        // A different position in each file.
        let at = (number * 7919 + good.len() / 3) % good.len();
        let mut bad = good.clone();
        bad[at] ^= 1 << (number % 8);
        fs::write(file, &bad).unwrap();
        let run = assay.run(&["attest", "verify", "out/report.intoto.json", "--policy", "policy.zip"]);
        assert_eq!(run.code, 1, "{} at {at}: {}{}", file.display(), run.stdout, run.stderr);
        fs::write(file, good).unwrap();
    }
    check(&assay, &[], 0, "signature");
    let other = assay.write("other.zip", zip_folder(&example(CARTPOLE, "idle")));
    fs::rename(other, assay.path("policy.zip")).unwrap();
    check(&assay, &[], 1, "about another policy");
}

#[test]
fn a_statement_about_a_log_does_not_pass_for_that_of_a_report() {
    let assay = assay();
    let policy = example(CARTPOLE, "reference");
    let run = verify(&assay, &policy, &["--episodes", "1", "--out", "out", "--record", "all"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let log = "out/episodes/000/log.intoto.json";
    let genuine = assay.run(&["attest", "verify", log]);
    assert!(genuine.code == 0 && genuine.stdout.contains("VERIFIED"), "{}{}", genuine.stdout, genuine.stderr);
    let with_policy = assay.run(&["attest", "verify", log, "--policy", policy.to_str().unwrap()]);
    assert_eq!(with_policy.code, 2, "{}", with_policy.stdout);

    // A forged report beside a genuine statement about a log.
    fs::create_dir(assay.path("forged")).unwrap();
    for (from, to) in
        [("log.intoto.json", "report.intoto.json"), ("log.intoto.json", "other.json"), ("log.mcap", "log.mcap")]
    {
        fs::copy(assay.path("out/episodes/000").join(from), assay.path("forged").join(to)).unwrap();
    }
    assay.write("forged/report.json", "{}");
    assert_eq!(assay.run(&["attest", "verify", "forged/report.intoto.json"]).code, 2);
    let elsewhere = assay.run(&["attest", "verify", "forged/other.json"]);
    assert!(elsewhere.code == 3 && elsewhere.stdout.contains("INCOMPLETE"), "{}", elsewhere.stdout);
}

#[test]
fn missing_evidence_is_neither_verified_nor_refused() {
    let assay = assay();
    evaluated(&assay);
    let trace = assay.path("out/episodes/000/trace.parquet");
    fs::remove_file(&trace).unwrap();
    check(&assay, &[], 3, "result     INCOMPLETE, missing: episodes/000/trace.parquet (--allow-missing");
    check(&assay, &["--allow-missing"], 0, "1 are missing");
    check(&assay, &["--allow-missing"], 0, "result     VERIFIED, the report alone");
    // The existing files must still be correct.
    fs::write(assay.path("out/episodes/000/state.bin"), b"other").unwrap();
    check(&assay, &["--allow-missing"], 1, "REFUSED, the evidence check failed: episodes/000/state.bin");
    // Nobody will ever write to this pipe.
    fs::remove_file(assay.path("out/episodes/000/state.bin")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(assay.path("out/episodes/000/state.bin")).status();
    assert!(made.unwrap().success());
    check(&assay, &["--allow-missing"], 2, "state.bin is not a regular file");
    fs::remove_dir_all(assay.path("out/episodes")).unwrap();
    check(&assay, &["--allow-missing"], 0, "VERIFIED");
    fs::remove_file(assay.path("out/report.json")).unwrap();
    check(&assay, &["--allow-missing"], 3, "INCOMPLETE, report.json is missing, so the numbers could not be checked");
}

#[test]
fn any_flipped_byte_is_refused() {
    let assay = assay();
    evaluated(&assay);
    let mut files = files_below(&assay.path("out"));
    files.extend([assay.path("policy.zip"), assay.path("out/report.intoto.json")]);
    let strategy = (any::<Index>(), any::<Index>(), 1_u8..=255);
    let mut runner = TestRunner::new(Config { cases: 96, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&strategy, |(file, at, flip)| {
        let file = file.get(&files);
        let good = fs::read(file).unwrap();
        let mut bad = good.clone();
        let at = at.index(good.len());
        bad[at] ^= flip;
        let blank = |byte: u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        let of_envelope = file.ends_with("report.intoto.json");
        fs::write(file, &bad).unwrap();
        let run = assay.run(&["attest", "verify", "out/report.intoto.json", "--policy", "policy.zip"]);
        fs::write(file, &good).unwrap();
        // White space between the words of the envelope is not signed.
        let expected = i32::from(!(of_envelope && blank(good[at]) && blank(bad[at])));
        prop_assert_eq!(run.code, expected, "{} at {}: {}{}", file.display(), at, run.stdout, run.stderr);
        Ok(())
    });
    outcome.unwrap();
    check(&assay, &[], 0, "VERIFIED");
}

/// Returns every file except for the statement, which the property test of its crate covers.
fn files_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else if !path.ends_with("report.intoto.json") {
            found.push(path);
        }
    }
    found.sort();
    found
}
