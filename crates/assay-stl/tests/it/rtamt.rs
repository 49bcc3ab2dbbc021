//! Agreement with rtamt 0.4.10 (`data/rtamt.tsv`, written by `data/generate.py`), and the deliberate differences from
//! it.
#![expect(clippy::unwrap_used, reason = "tests")]
use assay_stl::{Formula, TraceEnd};

fn robustness(text: &str, a: &[f64], b: &[f64]) -> f64 {
    let bound = Formula::parse(text, &[]).unwrap().bind(&["a", "b"], 1.0).unwrap();
    bound.evaluate(&[a, b], TraceEnd::Complete).robustness
}

#[test]
fn agrees_on_generated_pairs() {
    let mut pairs = 0;
    for line in include_str!("data/rtamt.tsv").lines() {
        let [text, expected, samples] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("a line must have three fields")
        };
        let expected: f64 = expected.parse().unwrap();
        let sample = |pair: &str| {
            let (a, b) = pair.split_once(',').unwrap();
            (a.parse::<f64>().unwrap(), b.parse::<f64>().unwrap())
        };
        let (a, b): (Vec<f64>, Vec<f64>) = samples.split(';').map(sample).unzip();
        assert_eq!(robustness(text, &a, &b), expected, "{line}");
        pairs += 1;
    }
    assert!(pairs >= 200, "{pairs} pairs");
}

#[test]
fn differs_as_documented() {
    let (a, b) = ([1.0, 2.0, -1.0, 3.0], [2.0, 1.0, 5.0, -2.0]);
    let inf = f64::INFINITY;
    // Formula, result of rtamt, result of this crate.
    let table = [
        // Two true operands are equivalent; rtamt compares their margins as numbers.
        ("a >= 0 iff b >= 0", -1.0, 1.0),
        ("a >= 0 xor b >= 0", 1.0, -1.0),
        // Windows beyond the end are ignored; rtamt treats them as satisfied (`always`) or violated (`eventually`).
        ("eventually always[1:2] a >= 0", inf, 3.0),
        ("always eventually[1:2] a >= 0", -inf, 2.0),
        // Likewise for windows before the beginning.
        ("eventually historically[1:2] a >= 0", inf, 1.0),
        ("always once[1:2] a >= 0", -inf, 1.0),
    ];
    for (text, rtamt, expected) in table {
        assert_eq!(robustness(text, &a, &b), expected, "{text}");
        assert_ne!(expected, rtamt);
    }
    // A trace of one sample is valid; rtamt raises an exception.
    assert_eq!(robustness("always (a >= 0)", &[2.0], &[0.0]), 2.0);
    // Chains that rtamt groups to the left are rejected here.
    assert!(Formula::parse("a > 0 implies b > 0 implies a > 1", &[]).is_err());
}
