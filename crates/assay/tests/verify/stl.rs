//! The command `assay stl`.

use std::fmt::Write;

use assay_testkit::Run;
use serde_json::{Value, json};

use crate::verify::assay;

/// Returns 1001 rows over 2 s: `speed` is 0.1 until 1 s and 0.3 after it, `brake` is 1 from 1.5 s on.
fn trace() -> String {
    let mut csv = "time,speed,brake\n".to_owned();
    for i in 0..=1000 {
        let (speed, brake) = (if i > 500 { 0.3 } else { 0.1 }, i32::from(i >= 750));
        let _ = writeln!(csv, "{:.3},{speed},{brake}", f64::from(i) * 0.002);
    }
    csv
}

#[test]
fn reports_robustness_verdict_and_exit_code() {
    let assay = assay();
    let path = assay.write("run.csv", trace());
    let run = |formula: &str, more: &[&str]| -> Run {
        let mut arguments = vec!["stl", "--formula", formula, "--trace", path.to_str().unwrap()];
        arguments.extend(more);
        assay.run(&arguments)
    };
    let document = |robustness: Value, verdict: &str, interval: Value, vacuous: bool| json!({ "robustness": robustness, "verdict": verdict, "robustness_interval": interval, "vacuous": vacuous });
    let table = [
        ("always (speed <= 0.5)", 0, document(json!(0.2), "satisfied", json!([0.2, 0.2]), false)),
        ("always (speed <= 0.05)", 1, document(json!(-0.25), "violated", json!([-0.25, -0.25]), false)),
        ("always[0:0.5] (speed <= 0.2)", 0, document(json!(0.1), "satisfied", json!([0.1, 0.1]), false)),
        ("eventually[500ms:1.6s] (brake >= 1)", 0, document(json!(0.0), "satisfied", json!([0.0, 0.0]), false)),
        // Half a second from the last rows is not recorded.
        ("always (speed > 0.2 implies eventually[0:0.5] brake > 2)", 1, Value::Null),
        ("always[0:5] (speed <= 0.5)", 3, document(json!(0.2), "undetermined", json!([null, 0.2]), false)),
        ("eventually[0:5] (speed >= 1)", 3, document(json!(-0.7), "undetermined", json!([-0.7, null]), false)),
        ("always (speed > 9 implies brake > 2)", 0, document(json!(8.7), "satisfied", json!([8.7, 8.7]), true)),
        ("always[9:inf] (speed > 9)", 0, document(Value::Null, "satisfied", json!([null, null]), true)),
    ];
    for (formula, code, expected) in table {
        let (json, text) = (run(formula, &["--json"]), run(formula, &[]));
        assert_eq!((json.code, text.code), (code, code), "{formula}: {}{}", json.stdout, json.stderr);
        let got: Value = serde_json::from_str(&json.stdout).unwrap();
        if expected != Value::Null {
            for key in ["robustness", "verdict", "robustness_interval", "vacuous"] {
                assert!(near(&got[key], &expected[key]), "{formula}: {key} is {}, not {}", got[key], expected[key]);
            }
        }
        assert!(text.stdout.starts_with(got["verdict"].as_str().unwrap()), "{}", text.stdout);
        assert_eq!(text.stdout.contains("vacuous"), got["vacuous"] == true, "{}", text.stdout);
    }
}

/// Returns true if the values are equal except for the last digits of numbers.
fn near(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-12,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| near(a, b)),
        _ => a == b,
    }
}

#[test]
fn the_position_of_a_syntax_error_is_shown() {
    let assay = assay();
    let path = assay.write("run.csv", trace());
    let broken = assay.write("broken.csv", "time,x\n0,1\n0.1,one\n");
    let table = [
        (
            "always (speed <=)",
            &path,
            "column 17: expected a signal, a number, `not`, a temporal operator or `(`, found `)`",
        ),
        ("always (spd <= 1)", &path, "no column \"spd\"; it has time, speed, brake"),
        ("always[0:0.0015] (speed <= 1)", &path, "not a whole number of sample periods of 0.002 s"),
        ("always (x <= 1)", &broken, "line 3, column \"x\": \"one\" is not a number"),
        ("always (x <= 1)", &assay.path("missing.csv"), "can't read the trace"),
    ];
    for (formula, trace, why) in table {
        let run = assay.run(&["stl", "--formula", formula, "--trace", trace.to_str().unwrap()]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{formula}: {}", run.stderr);
        assert!(run.stderr.contains(why), "{formula}: {:?} does not say {why:?}", run.stderr);
    }
    let marked = assay.run(&["stl", "--formula", "always (speed <=)", "--trace", path.to_str().unwrap()]);
    assert!(marked.stderr.contains("\n  always (speed <=)\n                  ^"), "{}", marked.stderr);
}

#[test]
fn traces_of_other_programs_are_read() {
    let assay = assay();
    let rows = |head: &str, row: &dyn Fn(u32) -> String, count: u32| -> String {
        (0..count).fold(format!("{head}\n"), |text, i| text + &row(i) + "\n")
    };
    let at = |hz: f64, digits: usize| move |i: u32| format!("{:.digits$},1", f64::from(i) / hz);
    let jittery = |i: u32| format!("{:.6},1", f64::from(i) / 100.0 + 0.0005 * f64::from(i * 7 % 10) / 10.0);
    let quoted = r#"always ("/arm/tool-force" >= 1)"#;
    let table: Vec<(&str, String, &str, &[&str], i32)> = vec![
        ("30-31", rows("time,x", &at(30.0, 4), 31), "always[0:1] (x > 0)", &[], 0),
        ("30-32", rows("time,x", &at(30.0, 4), 32), "always[0:1] (x > 0)", &[], 0),
        ("30-2", rows("time,x", &at(30.0, 4), 2), "always[0:1] (x > 0)", &[], 3),
        ("60-601", rows("time,x", &at(60.0, 3), 601), "always[0:1] (x > 0)", &[], 0),
        ("jitter", rows("time,x", &jittery, 500), "always[0:1] (x > 0)", &[], 2),
        ("jitter", rows("time,x", &jittery, 500), "always[0:1] (x > 0)", &["--rate", "100"], 0),
        ("rate", rows("time,x", &at(30.0, 4), 31), "always[0:1] (x > 0)", &["--rate", "0"], 2),
        ("names", rows("time,/arm/tool-force", &at(30.0, 4), 31), quoted, &[], 0),
        ("words", rows("time,phase,x,", &|i| format!("{i},approach,-1,"), 5), "-x <= 1", &[], 0),
        ("words", rows("time,phase,x,", &|i| format!("{i},approach,1,"), 5), "phase > 1", &[], 2),
    ];
    for (name, csv, formula, more, code) in table {
        let path = assay.write(&format!("{name}.csv"), csv);
        let run = assay.run(&[&["stl", "--formula", formula, "--trace", path.to_str().unwrap()], more].concat());
        assert_eq!(run.code, code, "{name} {formula} {more:?}: {}{}", run.stdout, run.stderr);
    }
    // The trace of an episode.
    let policy = assay_testkit::example(crate::verify::CARTPOLE, "reference");
    let out = assay.path("out");
    let run = crate::verify::verify(
        &assay,
        &policy,
        &["--episodes", "1", "--record", "none", "--out", out.to_str().unwrap()],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let mut open = vec![out];
    let mut found = None;
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.file_name().is_some_and(|name| name == "trace.parquet") {
                found = Some(path);
            }
        }
    }
    let trace = found.expect("a trace");
    let run =
        assay.run(&["stl", "--formula", "always[0:0.1] (time_s >= 0)", "--trace", trace.to_str().unwrap(), "--json"]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let run = assay.run(&["stl", "--formula", "always (trace_hash >= 0)", "--trace", trace.to_str().unwrap()]);
    assert!(run.code == 2 && run.stderr.contains("column \"trace_hash\" has no numbers"), "{}", run.stderr);
}
