//! Streaming against offline evaluation on typical clauses, on longer traces with all special values of signals; the
//! formulas that stream in bounded memory; the tightness of running bounds.
#![expect(clippy::unwrap_used, reason = "tests")]
use assay_stl::{BoundFormula, Formula, TraceEnd};
use proptest::prelude::*;

/// Formulas that a monitor folds in bounded memory, and whether its running bounds are as tight as possible.
const FOLDED: [(&str, bool); 29] = [
    ("always (a <= 1)", true),
    ("always (a <= 1 and b >= -1 and a - b < 3)", true),
    ("always (a <= 1 or b >= 0)", true),
    ("always (a > 1 implies b < 0)", true),
    ("always (a > 1 and b > 1) or eventually (a < -2)", true),
    ("eventually (abs(a - b) < 0.5)", true),
    ("eventually[3:9] (a > 1)", true),
    ("always[0:20] (a > -2)", true),
    ("always (a < 2) and eventually[5:30] (b > 1 and a > 0)", true),
    ("a > 0 until b > 1", true),
    ("not (a > 0 until b > 1)", true),
    ("a > -3 implies eventually b > 2", true),
    ("always (a > 1 implies eventually b < 0)", true),
    ("eventually always (a < 2)", true),
    ("eventually (a > 1 and eventually (b > 1 and eventually a < 0))", true),
    ("always (a > 1 implies eventually[0:10] b < 0)", false),
    ("always (a > 1 implies (b > 0 until[2:6] a < 0))", false),
    ("always (a > 1 implies always[1:4] (b < 2 or next a > 0))", false),
    ("eventually[0:30] (a > 1 and next (b > 0 and always[0:3] a < 2))", false),
    ("always (once[0:7] (a > 0) or historically[2:4] (b > 0))", false),
    ("always (a > 0 since[1:5] b > 0 or once (a > 2))", false),
    ("always (historically (a < 3) implies eventually[0:5] b > 0)", false),
    ("always ((a > 0 since b > 0) or eventually[1:3] (once[0:2] (b < 0)))", false),
    ("eventually[4:6] (a > 1) iff always[2:8] (b > -1)", true),
    ("always[5:inf] (a > 0 implies eventually[0:2] (b > 0))", false),
    ("always (a > 0 implies (b > 0 until a < 0))", true),
    ("always (max(a, 0) <= 3 and mean[0:20](max(a, 0)) <= 1.5)", true),
    ("always (duration[0:10](a > 1) <= 4 and count[0:30](b > 2) <= 3)", true),
    ("always (count(a > 1) <= 9 implies eventually[0:4] (mean(b) < 1))", false),
];

/// Formulas that need the whole trace.
const RECORDED: [&str; 4] = [
    "always[0:5] eventually (a > 1)",
    "always historically eventually (a > 1)",
    "always eventually always[1:2] (a > 0)",
    "always[0:5] eventually (mean[0:3](a) > duration[0:2](b > 0))",
];

fn bound(text: &str) -> BoundFormula {
    Formula::parse(text, &[]).unwrap().bind(&["a", "b"], 1.0).unwrap()
}

fn samples(odd: bool) -> impl Strategy<Value = Vec<[f64; 2]>> {
    let plain = || (-16..17_i8).prop_map(|x| f64::from(x) / 4.0);
    let strange = prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(-0.0)];
    let value = move |strange: BoxedStrategy<f64>| {
        if odd { prop_oneof![6 => plain(), 1 => strange].boxed() } else { plain().boxed() }
    };
    let pair = (value(strange.clone().boxed()), value(strange.boxed())).prop_map(|(a, b)| [a, b]);
    prop::collection::vec(pair, 1..120)
}

fn columns(samples: &[[f64; 2]]) -> [Vec<f64>; 2] {
    [0, 1].map(|i| samples.iter().map(|sample| sample[i]).collect())
}

#[test]
fn bounded_memory_is_known_in_advance() {
    for (text, _) in FOLDED {
        assert!(bound(text).monitor().is_bounded(), "{text}");
    }
    for text in RECORDED {
        assert!(!bound(text).monitor().is_bounded(), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn streaming_is_offline_to_the_bit(samples in samples(true), cuts in prop::collection::vec(0..120_usize, 3)) {
        for text in FOLDED.iter().map(|(text, _)| *text).chain(RECORDED) {
            let bound = bound(text);
            let mut monitor = bound.monitor();
            for (i, sample) in samples.iter().enumerate() {
                monitor.push(sample);
                if !cuts.contains(&i) && i + 1 < samples.len() {
                    continue;
                }
                let [a, b] = columns(&samples[..=i]);
                for end in [TraceEnd::Complete, TraceEnd::Cut] {
                    let (streamed, whole) = (monitor.finish(end), bound.evaluate(&[&a, &b], end));
                    prop_assert_eq!(format!("{streamed:?}"), format!("{whole:?}"), "{} at {}", text, i);
                    prop_assert!(!whole.robustness.is_nan() && !whole.interval.0.is_nan() && !whole.interval.1.is_nan());
                }
            }
        }
    }

    #[test]
    fn running_bounds_are_tight_where_promised(samples in samples(false)) {
        for (text, tight) in FOLDED {
            let bound = bound(text);
            let mut monitor = bound.monitor();
            for (i, sample) in samples.iter().enumerate().take(60) {
                let running = monitor.push(sample);
                let [a, b] = columns(&samples[..=i]);
                let exact = bound.evaluate(&[&a, &b], TraceEnd::Cut).interval;
                if tight {
                    prop_assert_eq!((running.lower, running.upper), exact, "{} at {}", text, i);
                } else {
                    prop_assert!(running.lower <= exact.0 && exact.1 <= running.upper, "{} at {}", text, i);
                }
            }
        }
    }

    #[test]
    fn a_violation_is_certain_no_later_than_its_window_closes(samples in samples(false)) {
        let bound = bound("always (a > 1 implies eventually[0:10] b < 0)");
        let mut monitor = bound.monitor();
        for (i, sample) in samples.iter().enumerate() {
            let certain = monitor.push(sample).upper < 0.0;
            let late = (0..=i.saturating_sub(10)).any(|k| {
                i >= 10 && samples[k][0] > 1.0 && samples[k..=k + 10].iter().all(|later| later[1] > 0.0)
            });
            prop_assert_eq!(certain, late);
        }
    }
}
