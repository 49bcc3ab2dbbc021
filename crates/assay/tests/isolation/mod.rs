//! Machines that can't isolate: user namespaces are really disabled for these programs, and for some Landlock too.
//! Policies are refused in this case until the operator accepts the risk, which is then shown everywhere.

#![expect(clippy::unwrap_used, reason = "tests")]

mod served;

use std::path::Path;

use assay_model::{Isolation, JobReport, Verdict};
use assay_testkit::{Assay, PythonServer, Run, example, home};
use serde_json::Value;

const CARTPOLE: &str = "cartpole_keepin";
/// Environment variable with a folder in which there is a runtime with PyTorch (see `tools/test-long`).
const RUNTIMES: &str = "ASSAY_LEROBOT_RUNTIMES";
/// An unused uid.
const ORDINARY: &str = "64321";
const LANDLOCK: [&str; 2] = ["--accept-weaker-isolation", "landlock"];
const NOTHING: &str = "--run-untrusted-code-without-isolation";
/// Runs a program in a user namespace that allows no further ones, and without its capabilities.
const FORBID: &str = "echo 0 > /proc/sys/user/max_user_namespaces && \
                      exec setpriv --inh-caps=-all --ambient-caps=-all \"$@\"";
/// Attacks that the tier without namespaces does not stop.
const WEAKER: [&str; 15] = [
    "user namespace",
    "pid namespace",
    "net namespace",
    "ipc namespace",
    "uts namespace",
    "mnt namespace",
    "further user namespaces",
    "capabilities it could get",
    "writable mounts",
    "max processes",
    "asks whether a file of the host exists",
    "reads where a link of the host leads",
    "learns the name of the host",
    "starts threads without end",
    "counts the folders of the host",
];

/// Returns the command that turns root into an ordinary user; empty for other users.
fn ordinary() -> Vec<&'static str> {
    match rustix::process::geteuid().is_root() {
        true => vec!["setpriv", "--reuid", ORDINARY, "--regid", ORDINARY, "--clear-groups"],
        false => Vec::new(),
    }
}

/// Returns `assay` as run by an ordinary user who can't create user namespaces.
fn without_namespaces<'a>(more: &[&'a str]) -> Assay {
    let mut starter: Vec<&'a str> = ordinary();
    starter.extend(["unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c", FORBID, "sh"]);
    starter.extend(more);
    Assay::new(env!("CARGO_BIN_EXE_assay")).started_by(starter)
}

/// Returns `assay` without user namespaces and without Landlock.
fn without_anything() -> Assay {
    let script = include_str!("without_landlock.py");
    without_namespaces(&["python3", "-c", script])
}

#[track_caller]
fn verify(assay: &Assay, policy: &str, more: &[&str]) -> Run {
    let mut arguments = vec!["verify", policy, "--scenario", CARTPOLE, "--episodes", "1", "--json"];
    arguments.extend(more);
    assay.run(&arguments)
}

fn reference(assay: &Assay) -> String {
    let source = std::fs::read(example(CARTPOLE, "reference").join("policy.py")).unwrap();
    assay.write("policy.py", source).to_str().unwrap().to_owned()
}

#[track_caller]
fn report(run: &Run) -> JobReport {
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}\n{}", run.stdout, run.stderr))
}

#[track_caller]
fn assert_accepted(run: &Run, isolation: Isolation) -> JobReport {
    let report = report(run);
    assert_eq!((run.code, report.verdict), (0, Some(Verdict::Safe)), "{}", run.stderr);
    assert_eq!(report.fingerprint.as_ref().unwrap().isolation, isolation);
    let expected = format!("isolation ({isolation})");
    assert!(report.warnings.iter().any(|warning| warning.contains(&expected)), "{:?}", report.warnings);
    report
}

#[test]
fn policies_are_refused_until_the_operator_accepts_landlock() {
    let assay = without_namespaces(&[]);
    let policy = reference(&assay);
    let refused = verify(&assay, &policy, &[]);
    assert_eq!((refused.code, refused.stdout.as_str()), (4, ""), "{}", refused.stderr);
    for word in ["can't isolate policies", "assay doctor", "--accept-weaker-isolation landlock", "Policy servers"] {
        assert!(refused.stderr.contains(word), "{word}: {}", refused.stderr);
    }
    let out = assay.path("out");
    let accepted = verify(&assay, &policy, &[&LANDLOCK[..], &["--out", out.to_str().unwrap()]].concat());
    let weaker = assert_accepted(&accepted, Isolation::Landlock);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("weaker isolation (landlock)"), "the page does not mention it");
    assert!(out.join("episodes/000/video.mp4").is_file(), "no video: {}", accepted.stderr);
    assay.assert_clean();

    // The tier does not change any measurement.
    let whole = Assay::new(env!("CARGO_BIN_EXE_assay"));
    let stronger = report(&verify(&whole, &policy, &[]));
    assert_eq!(stronger.fingerprint.unwrap().isolation, Isolation::Namespaces);
    assert_eq!(stronger.warnings, Vec::<String>::new());
    assert_eq!(stronger.episode_details[0].trace_hash, weaker.episode_details[0].trace_hash);
}

#[test]
fn a_process_with_a_higher_niceness_than_a_simulator_can_start_one() {
    let starter = [ordinary(), vec!["nice", "-n", "15"]].concat();
    let assay = Assay::new(env!("CARGO_BIN_EXE_assay")).started_by(starter);
    let run = verify(&assay, &reference(&assay), &[]);
    assert_eq!((run.code, report(&run).verdict), (0, Some(Verdict::Safe)), "{}", run.stderr);
    assay.assert_clean();
}

#[test]
fn policy_servers_need_no_consent() {
    let assay = without_namespaces(&[]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let policy = example(CARTPOLE, "reference").join("policy.py");
    let server = PythonServer::start(&root.join("tests/verify/policy_server.py"), &[policy.to_str().unwrap()]);
    let run = verify(&assay, &format!("ws://127.0.0.1:{}", server.port()), &[]);
    assert_eq!((run.code, report(&run).verdict), (0, Some(Verdict::Safe)), "{}", run.stderr);
    assay.assert_clean();
}

#[test]
fn without_landlock_the_explicit_option_is_required() {
    let assay = without_anything();
    let policy = reference(&assay);
    for more in [&[][..], &LANDLOCK[..]] {
        let refused = verify(&assay, &policy, more);
        assert_eq!(refused.code, 4, "{}", refused.stderr);
        assert!(refused.stderr.contains(NOTHING), "{}", refused.stderr);
    }
    assert_accepted(&verify(&assay, &policy, &[NOTHING]), Isolation::None);
    assay.assert_clean();
}

#[test]
fn consent_does_not_weaken_a_machine_that_can_do_better() {
    let assay = Assay::new(env!("CARGO_BIN_EXE_assay"));
    let run = verify(&assay, &reference(&assay), &[NOTHING]);
    assert_eq!(report(&run).fingerprint.unwrap().isolation, Isolation::Namespaces, "{}", run.stderr);
}

#[test]
fn the_doctor_reports_missing_features_and_alternatives() {
    let run = without_namespaces(&[]).run(&["doctor", "--json"]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    let output: Value = serde_json::from_str(&run.stdout).unwrap();
    let check = |name: &str| output["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).unwrap();
    assert_eq!(check("namespaces")["holds"], false);
    assert!(check("namespaces")["remedy"].as_str().unwrap().contains("user.max_user_namespaces"));
    assert_eq!(check("jail without namespaces")["holds"], true);
    let starts = check("start of policies");
    assert_eq!((&starts["holds"], &starts["required"]), (&Value::Bool(false), &Value::Bool(false)));
    for runtime in ["base", "onnx"] {
        let part = format!("{runtime}: an interpreter for each episode, because it needs namespaces");
        assert!(starts["detail"].as_str().unwrap().contains(&part), "{starts}");
    }
}

#[test]
fn the_weaker_tier_stops_all_attacks_but_those_listed() {
    let run = without_namespaces(&[]).run(&["doctor", "--jail", "--isolation", "landlock", "--json"]);
    let output: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}", run.stderr));
    let rows = output["rows"].as_array().unwrap();
    let named = |key: &str, value: bool| -> Vec<&str> {
        rows.iter().filter(|row| row[key] == value).map(|row| row["name"].as_str().unwrap()).collect()
    };
    assert_eq!(named("holds", false), Vec::<&str>::new(), "{output:#}");
    assert_eq!(named("weaker", true), WEAKER);
    assert!(run.code == 0 && rows.len() > 140);
}

/// Without namespaces, each policy is an interpreter of its own; elsewhere it is forked. PyTorch is included where the
/// variable names the folder of a runtime with it.
#[test]
fn a_network_acts_the_same_forked_and_executed() {
    let runtimes = std::env::var(RUNTIMES).ok();
    let with_runtimes = |assay: Assay| match &runtimes {
        Some(folder) => assay.with_variable("ASSAY_RUNTIMES", folder),
        None => assay,
    };
    let hashes = |assay: &Assay, form: &str, more: &[&str]| {
        let policy = assay.path(form);
        std::fs::create_dir(&policy).unwrap();
        for entry in std::fs::read_dir(home().join("examples/learned/tabletop_reach").join(form)).unwrap() {
            let entry = entry.unwrap();
            assay.write(
                &format!("{form}/{}", entry.file_name().to_str().unwrap()),
                std::fs::read(entry.path()).unwrap(),
            );
        }
        let words =
            ["verify", policy.to_str().unwrap(), "--scenario", "tabletop_reach", "--episodes", "2", "--seed", "3"];
        let key = "5f".repeat(32);
        let run = assay.run(&[&words[..], &["--policy-key", &key, "--record", "none", "--json"], more].concat());
        report(&run).episode_details.iter().map(|episode| episode.trace_hash.unwrap()).collect::<Vec<_>>()
    };
    for form in ["numpy", "onnx", "torch"].iter().take(if runtimes.is_some() { 3 } else { 2 }) {
        let forked = hashes(&with_runtimes(Assay::new(env!("CARGO_BIN_EXE_assay"))), form, &[]);
        assert_eq!(forked, hashes(&with_runtimes(without_namespaces(&[])), form, &LANDLOCK), "{form}");
    }
}
