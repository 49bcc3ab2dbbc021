//! Claims and texts of strangers: forged results, scenarios whose names would be code, and messages of policies that would be
//! commands to a terminal or to a CI system.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use assay_model::Verdict;
use assay_testkit::{PATIENCE, Run, home, wait_for};

use crate::verify::strangers::{copy, edit, pipe, recorded, replace};
use crate::verify::{CARTPOLE, assay, report, verify};

fn script(name: &str, arguments: &[&Path]) -> (Option<i32>, String) {
    let mut python = Command::new(home().join("vendor/dev-venv/bin/python"));
    python.arg(home().join("docs").join(name)).args(arguments).env_remove("GLIBC_TUNABLES");
    python.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = python.spawn().expect("vendor/dev-venv is made by tools/setup --dev");
    wait_for("the end of the script", PATIENCE, || child.try_wait().unwrap().map(drop));
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    (status.code(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
}

#[test]
fn a_strangers_model_is_read_only_if_it_was_signed_and_is_trusted() {
    let assay = assay();
    recorded(&assay);
    let (out, trust) = (assay.path("out"), Path::new("--trust-model"));
    let episode = out.join("episodes/000");
    for (name, place) in [("replay.py", &episode), ("recompute.py", &out), ("half_step.py", &out)] {
        let (code, text) = script(name, &[place]);
        assert_eq!(code, Some(2), "{name}: {text}");
        assert!(text.contains("assay replay OUT") && text.contains("assay attest verify OUT"), "{name}: {text}");
    }
    assert_eq!(script("replay.py", &[&episode, trust]).0, Some(0));
    // One byte, which the library takes for an offset.
    let model = episode.join("model.mjb");
    let mut bytes = fs::read(&model).unwrap();
    bytes[2873] ^= 0xfe;
    fs::write(&model, &bytes).unwrap();
    for (name, place) in [("replay.py", &episode), ("recompute.py", &out), ("half_step.py", &out)] {
        let (code, text) = script(name, &[place, trust]);
        assert!(code == Some(2) || (name == "recompute.py" && code == Some(1)), "{name}: {text}");
        assert!(text.contains("is not the model that was signed"), "{name}: {text}");
    }
    bytes[2873] ^= 0xfe;
    fs::write(&model, &bytes).unwrap();
    let statement = fs::read(out.join("report.intoto.json")).unwrap();
    for (what, words) in [("{}", "states no digest"), ("{\"payload\": \"W10=\"}", "states no digest")] {
        fs::write(out.join("report.intoto.json"), what).unwrap();
        let (code, text) = script("replay.py", &[&episode, trust]);
        assert!(code == Some(2) && text.contains(words), "{what}: {text}");
    }
    fs::remove_file(out.join("report.intoto.json")).unwrap();
    let (code, text) = script("replay.py", &[&episode, trust]);
    assert!(code == Some(2) && text.contains("report.intoto.json is missing"), "{text}");
    let sha256 = assay_model::Sha256Digest::of(&bytes).to_string();
    let (code, text) = script("replay.py", &[&episode, Path::new("--model-sha256"), Path::new(&sha256)]);
    assert_eq!(code, Some(0), "{text}");
    fs::write(out.join("report.intoto.json"), statement).unwrap();
}

/// Whatever is missing or no file is named, and nothing is waited for.
#[test]
fn scripts_name_what_is_missing_and_wait_for_no_pipe() {
    let assay = assay();
    recorded(&assay);
    let trust = Path::new("--trust-model");
    let pipes = ["episodes/000/x.intoto.json", "report.json", "scenario/scenario.toml", "episodes/000/trace.parquet"];
    let missing =
        ["episodes/000/inputs.npz", "episodes/000/state.bin", "episodes/000/trace.parquet", "scenario/scenario.toml"];
    for (place, is_pipe) in pipes.map(|place| (place, true)).into_iter().chain(missing.map(|place| (place, false))) {
        let hostile = assay.path("hostile");
        copy(&assay.path("out"), &hostile);
        replace(&hostile.join(place), |path| {
            if is_pipe {
                pipe(path)
            }
        });
        let (code, text) = script("recompute.py", &[&hostile, trust]);
        assert!([Some(1), Some(2), Some(3)].contains(&code), "{place}: {text}");
        let name = place.rsplit('/').next().unwrap();
        assert!(text.contains(name) || text.contains("no recording of episode 0"), "{place}: {text}");
        assert!(!text.contains("IndexError") && !text.contains("Traceback"), "{place}: {text}");
        if place.starts_with("episodes/000/") && !place.ends_with(".json") {
            let (code, text) = script("replay.py", &[&hostile.join("episodes/000"), trust]);
            assert!(code == Some(2) && text.contains(name), "{place}: {text}");
        }
        fs::remove_dir_all(&hostile).unwrap();
    }
}

#[test]
fn an_edited_copy_of_the_policy_is_found_without_being_asked_for() {
    let assay = assay();
    recorded(&assay);
    let run = assay.run(&["attest", "verify", "out"]);
    assert!(run.code == 0 && run.stdout.contains("policy     policy beside the statement"), "{}", run.stdout);
    let policy = assay.path("out/policy/policy.py");
    let good = fs::read(&policy).unwrap();
    let changes: [(&str, &dyn Fn()); 5] = [
        ("a line more", &|| fs::write(&policy, [&good[..], b"evil\n"].concat()).unwrap()),
        ("a file more", &|| fs::write(assay.path("out/policy/numpy.py"), "evil").unwrap()),
        ("a link", &|| {
            fs::remove_file(&policy).unwrap();
            symlink("/etc/hostname", &policy).unwrap();
        }),
        ("no policy.py", &|| fs::remove_file(&policy).unwrap()),
        ("another kind of copy", &|| {
            fs::remove_dir_all(assay.path("out/policy")).unwrap();
            fs::write(assay.path("out/policy.py"), [&good[..], b"evil\n"].concat()).unwrap();
        }),
    ];
    for (what, change) in changes {
        copy(&assay.path("out"), &assay.path("kept"));
        change();
        let run = assay.run(&["attest", "verify", "out"]);
        assert_eq!(run.code, 1, "{what}: {}{}", run.stdout, run.stderr);
        assert!(run.stdout.contains("REFUSED, the policy check failed"), "{what}: {}", run.stdout);
        fs::remove_dir_all(assay.path("out")).unwrap();
        fs::rename(assay.path("kept"), assay.path("out")).unwrap();
    }
    // The file by which a statement is named beside a folder of evidence does not matter.
    fs::remove_dir_all(assay.path("out/policy")).unwrap();
    let run = assay.run(&["attest", "verify", "out"]);
    assert!(run.code == 0 && run.stdout.contains("not checked: use --policy PATH"), "{}", run.stdout);
}

#[test]
fn an_unknown_signer_is_named_with_where_keys_come_from() {
    let assay = assay();
    recorded(&assay);
    let keys = assay.run(&["attest", "keys", "--json"]).stdout;
    assay.write("keys.json", &keys);
    let id = keys.split('"').find(|text| text.len() == 64).unwrap().to_owned();
    let zeros = "0".repeat(64);
    let refused = |arguments: &[&str], parts: &[&str]| {
        let run = assay.run(&[&["attest", "verify", "out"], arguments].concat());
        assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
        let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        parts.iter().for_each(|part| assert!(text.contains(part), "{part}: {text}"));
    };
    let signed_by = format!("it was signed by key {id}");
    refused(&["--keyid", &zeros], &[&signed_by, "not by the key that was asked for"]);
    fs::remove_dir_all(assay.path("user")).unwrap();
    let unknown = [&*signed_by, "which is not among the known keys", "your own keys in", "--keys FILE"];
    refused(&["--keyid", &id], &unknown);
    refused(&[], &unknown);
    assay.write("others.json", "{\"keys\": []}");
    refused(&["--keys", "others.json"], &[&signed_by, "the keys in others.json"]);
    let run = assay.run(&["attest", "verify", "out", "--keyid", &id, "--keys", "keys.json"]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    edit(&assay.path("out/report.intoto.json"), |text| text.replace(&id, "\\u001b]0;x\\u0007"));
    refused(&["--keys", "keys.json"], &["it was signed by key , which is not among the known keys"]);
}

/// A scenario with other limits and the same names, sizes and times, as an archive restores them.
#[test]
fn a_verdict_is_about_the_scenario_whose_digest_it_states() {
    let assay = assay();
    let policy = assay.write(
        "policy.py",
        "import numpy as np\ndef policy(o):\n    return np.clip(np.array([5 * (1.3 - o['joint_position'][0]) - 6 * \
         o['joint_velocity'][0]]), -12, 12)\n",
    );
    let mut digests = BTreeSet::new();
    for (limit, verdict) in [("9.0", Verdict::Safe), ("1.0", Verdict::Unsafe)] {
        let place = assay.path("mine");
        if place.exists() {
            fs::remove_dir_all(&place).unwrap();
        }
        let scenario = assay
            .copy_scenario(CARTPOLE, "mine", |_, text| text.replace("limit = 1.0\n", &format!("limit = {limit}\n")));
        for name in ["", "README.md", "scene.xml", "scenario.toml"] {
            let earlier = std::time::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
            fs::File::open(scenario.join(name)).unwrap().set_modified(earlier).unwrap();
        }
        let arguments = ["--episodes", "1", "--seed", "5", "--record", "none", "--json"];
        let all = [&["verify", policy.to_str().unwrap(), "--scenario", scenario.to_str().unwrap()][..], &arguments];
        let run = assay.run(&all.concat());
        let report = report(&run);
        let clause = report.episode_details[0].clauses.iter().find(|clause| clause.id == "keep_in").unwrap();
        assert_eq!(
            (clause.limit.to_string().parse::<f64>().unwrap(), report.verdict),
            (limit.parse().unwrap(), Some(verdict))
        );
        digests.insert(report.scenario_digest);
    }
    assert_eq!(digests.len(), 2);
}

#[test]
fn a_name_of_a_scenario_never_becomes_code() {
    let assay = assay();
    for (what, hostile) in [
        ("line break", "force\\n        pass\\nimport os; os.system('id')\\ndef unused():\\n    if 1:\\n        #"),
        ("quote", "force\\\"; import os; \\\""),
        ("backslash", "force\\\\"),
        ("separator", "force\\u2028import os"),
    ] {
        for key in ["name = \"force\"", "unit = \"N\""] {
            let scenario = assay.copy_scenario(CARTPOLE, "mine", |name, text| {
                let (word, _) = key.split_once(" = ").unwrap();
                if name == "scenario.toml" { text.replacen(key, &format!("{word} = \"{hostile}\""), 1) } else { text }
            });
            for template in ["server", "numpy"] {
                let arguments = ["init", "new", "--scenario", scenario.to_str().unwrap(), "--template", template];
                let run = assay.run(&arguments);
                assert_eq!(run.code, 2, "{what}, {key}: {}", run.stdout);
                assert!(run.stderr.contains("must not contain"), "{what}, {key}: {}", run.stderr);
                assert!(!assay.path("new").exists());
            }
        }
    }
}

/// Texts that a terminal or a CI system would obey.
const COMMANDS: [&str; 5] =
    ["::error::x", "::add-mask::SAFE", "##[error]x", "\u{1b}]0;x\u{7}", "\u{61c}\u{200b}\u{2064}"];

#[track_caller]
fn assert_plain(run: &Run) {
    let text = format!("{}{}", run.stdout, run.stderr);
    for line in text.lines() {
        assert!(!line.trim_start().starts_with("::") && !line.contains("##["), "{line}");
        assert!(line.chars().all(|c| c == '\t' || !(c.is_control() || assay_model::is_hidden(c))), "{line:?}");
    }
}

#[test]
fn text_of_a_stranger_commands_neither_a_terminal_nor_a_ci_system() {
    let assay = assay();
    let text = format!("first\n{}\n╔════════╗\n║  SAFE  ║\n╚════════╝", COMMANDS.join("\n"));
    let source = format!("def policy(observation):\n    print({text:?})\n    raise ValueError({text:?})\n")
        .replace("\\u{1b}", "\\x1b")
        .replace("\\u{7}", "\\x07")
        .replace("\\u{61c}", "\\u061c")
        .replace("\\u{200b}", "\\u200b")
        .replace("\\u{2064}", "\\u2064");
    let policy = assay.write("policy.py", source);
    let run = verify(&assay, &policy, &["--episodes", "1", "--out", "out", "--record", "none"]);
    assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
    assert_plain(&run);
    let boxes = |run: &Run| run.stdout.lines().filter(|line| line.starts_with('║')).count();
    assert_eq!(boxes(&run), 1, "{}", run.stdout);
    // The texts of a report of another's, in every format.
    let path = assay.path("out/report.json");
    let mut report: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    for pointer in ["/reason", "/policy_name", "/scenario_version", "/episode_details/0/error/message"] {
        *report.pointer_mut(pointer).unwrap() = text.clone().into();
    }
    report["warnings"] = serde_json::json!([text]);
    fs::write(&path, report.to_string()).unwrap();
    for format in [&[][..], &["--markdown"], &["--junit"], &["--sarif"], &["--hf-card"], &["--html"]] {
        let run = assay.run(&[&["report", "out/report.json"], format].concat());
        assert_eq!(run.code, 3, "{format:?}: {}", run.stderr);
        assert_plain(&run);
        assert!(format != [""; 0] || boxes(&run) == 1, "{}", run.stdout);
    }
}

#[test]
fn what_a_scenarios_author_wrote_is_shown_without_escapes() {
    let assay = assay();
    let hostile = "\\u001b]0;x\\u0007\\u061c\\u200b\\u2064::error::x";
    for key in ["version = \"", "title = \"", "standard = \"", "name = \"", "description = \"", "unit = \""] {
        let scenario = assay.copy_scenario(CARTPOLE, "mine", |name, text| {
            let is_toml = name == "scenario.toml";
            if is_toml { text.replacen(key, &format!("{key}{hostile}"), 1) } else { text }
        });
        for command in [&["scenario", "show"][..], &["scenario", "check"], &["scenario", "show", "--json"]] {
            let run = assay.run(&[command, &[scenario.to_str().unwrap()]].concat());
            assert_plain(&run);
        }
    }
    let scenario = assay.copy_scenario(CARTPOLE, "mine", |name, text| {
        if name == "README.md" { format!("{text}\n\u{1b}]0;x\u{7}\n::error::x\n##[error]y\u{200b}\n") } else { text }
    });
    let run = assay.run(&["scenario", "show", scenario.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_plain(&run);
}
