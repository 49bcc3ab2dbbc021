//! Valid and invalid formulas, and the positions of errors.
#![expect(clippy::unwrap_used, reason = "tests")]
use std::time::Duration;

use assay_stl::{Formula, MAX_DEPTH, MAX_NODES, MAX_TEMPORAL, MAX_TEXT_BYTES, ParseError, TraceEnd};

/// Returns the CPU time of this thread, which is independent of other load on the machine.
fn cpu() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.try_into().unwrap(), now.tv_nsec.try_into().unwrap())
}

fn error(text: &str) -> ParseError {
    Formula::parse(text, &[("limit", 2.0), ("bad", f64::NAN), ("minus", -1.0)]).unwrap_err()
}

fn shown(text: &str) -> String {
    Formula::parse(text, &[("limit", 2.0)]).unwrap().to_string()
}

#[test]
fn errors_have_the_column_and_the_expected_input() {
    // Text, column, a word of the expected input, the input found.
    let table = [
        ("", 1, "a signal", "the end of the formula"),
        ("always", 7, "a signal", "the end of the formula"),
        ("always x", 9, "comparison", "the end of the formula"),
        ("always (x > )", 13, "a signal", "`)`"),
        ("x > 1 and", 10, "a signal", "the end of the formula"),
        ("x > 1 and y", 12, "comparison", "the end of the formula"),
        ("x and y > 1", 3, "comparison", "`and`"),
        ("x > 1 y > 2", 7, "`and`", "`y`"),
        ("(x > 1", 7, "`)`", "the end of the formula"),
        ("(x + 1", 7, "`)`", "the end of the formula"),
        ("x > 1)", 6, "the end of the formula", "`)`"),
        ("x = 1", 3, "an operator", "`=`"),
        ("x > (y > 1)", 5, "a number", "a formula"),
        ("(x > 1) + 2 > 3", 9, "`and`", "`+`"),
        ("1 < x < 2", 7, "does not chain", "`<`"),
        ("x>1 -> x>2 -> x>3", 12, "does not chain", "`->`"),
        ("x>1 until x>2 U x>3", 15, "does not chain", "`U`"),
        ("always[0 5] (x > 1)", 10, "`:`", "`5`"),
        ("always[0:5 (x > 1)", 12, "`]`", "`(`"),
        ("always[:5] (x > 1)", 8, "time bound", "`:`"),
        ("always[5:2] (x > 1)", 10, "at least 5 s", "`2`"),
        ("always[-1:2] (x > 1)", 8, "time bound", "`-`"),
        ("always[inf:inf] (x > 1)", 8, "time bound", "`inf`"),
        ("always[0:5us] (x > 1)", 11, "unit", "`us`"),
        ("always[0:oops] (x > 1)", 10, "time bound", "`oops`"),
        ("always[minus:2] (x > 1)", 8, "at least 0", "-1"),
        ("next[0:1] (x > 1)", 10, "(x", ""),
        ("min(x) > 1", 6, "`,`", "`)`"),
        ("min(x, y, z) > 1", 9, "`)`", "`,`"),
        ("abs x > 1", 5, "`(`", "`x`"),
        ("x > bad", 5, "finite", "NaN"),
        ("x > 1e999", 5, "finite", "`1e999`"),
        ("x > é", 5, "a signal", "`é`"),
        ("not x", 6, "comparison", "the end of the formula"),
        ("x > 1 or or y > 1", 10, "a signal", "`or`"),
        ("mean[0:1] > 1", 11, "`(`", "`>`"),
        ("mean(x > 1) > 1", 6, "a number", "a formula"),
        ("duration[0:1](x) > 1", 16, "comparison", "`)`"),
        ("count[1:2](x > 1) > 1", 6, "begins at 0", "`[`"),
        ("count(always (x > 1)) > 1", 7, "no temporal operator", "`always`"),
        ("count(x > 1 since y > 1) > 1", 13, "no temporal operator", "`since`"),
        ("mean(x)", 8, "comparison", "the end of the formula"),
        ("rise(x > 1)", 5, "comparison", "`(`"),
    ];
    for (text, column, expected, found) in table {
        let error = error(text);
        if text.starts_with("next") {
            assert!(error.expected.contains("no time bound"), "{error}");
            continue;
        }
        assert_eq!(error.column, column, "{text}: {error}");
        assert!(error.expected.contains(expected), "{text}: {error}");
        assert_eq!(error.found, found, "{text}: {error}");
        assert!(error.to_string().starts_with(&format!("column {column}: expected ")));
    }
}

#[test]
fn precedence_matches_rtamt() {
    for (text, expected) in [
        ("always a > 0 and b > 0", "always (a > 0.0) and b > 0.0"),
        ("not a > 0 or b > 0 and c > 0", "not a > 0.0 or b > 0.0 and c > 0.0"),
        ("(a > 0 or b > 0) & c > 0", "(a > 0.0 or b > 0.0) and c > 0.0"),
        ("a > 0 or b > 0 -> c > 0 | d > 0", "a > 0.0 or b > 0.0 implies c > 0.0 or d > 0.0"),
        ("a > 0 -> (b > 0 -> c > 0)", "a > 0.0 implies (b > 0.0 implies c > 0.0)"),
        ("G a > 0 U[1,2] F b > 0 and c > 0", "always (a > 0.0) until[1.0:2.0] eventually (b > 0.0) and c > 0.0"),
        ("a > 0 <-> b > 0 xor c > 0", "a > 0.0 iff b > 0.0 xor c > 0.0"),
        ("a - b - (c - 1) * -2 / 4 >= limit", "a - b - (c - 1.0) * -2.0 / 4.0 >= 2.0"),
        (
            "H[0:500ms] O[2s:inf] X !(abs(-a) != min(a, b))",
            "historically[0.0:0.5] once[2.0:inf] next not abs(-a) != min(a, b)",
        ),
    ] {
        assert_eq!(shown(text), expected);
        assert_eq!(shown(expected), expected);
    }
}

#[test]
fn signals_are_listed_once_in_order_without_constants() {
    let formula = Formula::parse("arm.q_1 > limit and G1 < _x or arm.q_1 > 0", &[("limit", 1.0)]).unwrap();
    assert_eq!(formula.signals(), ["arm.q_1", "G1", "_x"]);
}

#[test]
fn hostile_texts_are_rejected_quickly() {
    let start = cpu();
    let million = 1_000_000;
    for text in
        ["(".repeat(million), "!".repeat(million), "-".repeat(million), "G".repeat(million), "é".repeat(million)]
    {
        assert_eq!(error(&text).expected, format!("a formula of at most {MAX_TEXT_BYTES} bytes"));
    }
    let most = MAX_TEXT_BYTES / 8;
    for text in [
        "(".repeat(most),
        "not ".repeat(most),
        "-".repeat(most),
        "always ".repeat(most),
        "abs(".repeat(most),
        "x > 1 -> (".repeat(most),
    ] {
        let error = error(&text[..text.len().min(MAX_TEXT_BYTES)]);
        assert!(
            error.expected.contains("levels of nesting") || error.expected.contains("temporal operators"),
            "{error}"
        );
    }
    let sum = vec!["x"; MAX_NODES].join("+");
    assert!(error(&sum).expected.contains(&MAX_NODES.to_string()));
    let many = vec!["(G x > 1)"; MAX_TEMPORAL + 1].join(" and ");
    assert!(error(&many).expected.contains("temporal operators"));
    assert!(cpu() - start < Duration::from_secs(2));
}

#[test]
fn the_largest_formulas_still_evaluate() {
    let deep = format!("{}x > 1{}", "(".repeat(MAX_DEPTH - 2), ")".repeat(MAX_DEPTH - 2));
    let wide = format!("{} > 1", vec!["x"; MAX_NODES / 2 - 2].join(" - "));
    // Each side of an `iff` is used twice: unless operands are shared, this takes 2^50 steps.
    let mut shared = "x > 1".to_owned();
    for _ in 0..MAX_DEPTH - 4 {
        shared = format!("({shared}) iff x > 1");
    }
    let nested = format!("{}(x > 1)", "always eventually ".repeat(MAX_TEMPORAL / 2));
    let right = format!("x > {}1{}", "1 - (".repeat(MAX_DEPTH / 2 - 4), ")".repeat(MAX_DEPTH / 2 - 4));
    for text in [deep, wide, shared, nested, right] {
        let formula = Formula::parse(&text, &[]).unwrap();
        assert_eq!(Formula::parse(&formula.to_string(), &[]).unwrap(), formula);
        let bound = formula.bind(&["x"], 1.0).unwrap();
        let mut monitor = bound.monitor();
        for x in [3.0, 0.0, 2.0] {
            monitor.push(&[x]);
        }
        assert_eq!(monitor.finish(TraceEnd::Cut), bound.evaluate(&[&[3.0, 0.0, 2.0]], TraceEnd::Cut), "{text}");
        assert_eq!(bound.pointwise(&[&[3.0, 0.0, 2.0]]).len(), 3);
    }
}

#[test]
fn the_cost_of_the_longest_windows_is_linear_in_the_samples() {
    let start = cpu();
    let formula = Formula::parse("always[0:4] (x >= 0 until[1:800] once[0:800] (x > 1))", &[]).unwrap();
    let bound = formula.bind(&["x"], 0.002).unwrap();
    let x: Vec<f64> = (0..5000).map(|i| f64::from(i % 7)).collect();
    let outcome = bound.evaluate(&[&x], TraceEnd::Complete);
    assert!(outcome.robustness.is_finite());
    assert!(cpu() - start < Duration::from_secs(5));
}

#[test]
fn finishing_a_monitor_of_the_longest_window_is_quick() {
    let start = cpu();
    let formula = Formula::parse("always (x > 1 implies eventually[0:2000] once[0:90] x < 0)", &[]).unwrap();
    let bound = formula.bind(&["x"], 0.002).unwrap();
    let mut monitor = bound.monitor();
    monitor.push(&[2.0]);
    assert_eq!(monitor.finish(TraceEnd::Complete), bound.evaluate(&[&[2.0]], TraceEnd::Complete));
    assert_eq!(monitor.finish(TraceEnd::Cut), bound.evaluate(&[&[2.0]], TraceEnd::Cut));
    assert!(cpu() - start < Duration::from_secs(10));
}
