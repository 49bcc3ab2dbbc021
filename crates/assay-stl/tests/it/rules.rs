//! The rules that the crate documents, one test each, on traces small enough to check by hand.
#![expect(clippy::unwrap_used, reason = "tests")]
use assay_stl::{BindError, BoundFormula, Formula, Status, TraceEnd, TraceEvaluation, ViolationSpan};

const INF: f64 = f64::INFINITY;

fn bound(text: &str) -> BoundFormula {
    Formula::parse(text, &[("limit", 2.0)]).unwrap().bind(&["a", "b"], 1.0).unwrap()
}

/// Evaluates offline and streaming, and asserts that both are equal.
fn run(text: &str, a: &[f64], b: &[f64], end: TraceEnd) -> TraceEvaluation {
    let bound = bound(text);
    let mut monitor = bound.monitor();
    for (a, b) in a.iter().zip(b) {
        monitor.push(&[*a, *b]);
    }
    let outcome = bound.evaluate(&[a, b], end);
    assert_eq!(monitor.finish(end), outcome, "{text}");
    outcome
}

fn robustness(text: &str, a: &[f64]) -> f64 {
    run(text, a, &vec![0.0; a.len()], TraceEnd::Complete).robustness
}

fn cut(text: &str, a: &[f64]) -> TraceEvaluation {
    run(text, a, &vec![0.0; a.len()], TraceEnd::Cut)
}

#[test]
fn operators_have_their_documented_meaning() {
    let a = [1.0, 3.0, -2.0, 4.0];
    assert_eq!(robustness("always (a >= limit)", &a), -4.0);
    assert_eq!(robustness("eventually (a >= limit)", &a), 2.0);
    assert_eq!(robustness("always[1:1] (a >= 0)", &a), 3.0);
    assert_eq!(robustness("next (a >= 0)", &a), 3.0);
    assert_eq!(robustness("eventually[2:3] (historically[1:1] (a >= 0))", &a), 3.0);
    assert_eq!(robustness("always (once[0:2] (a >= 0))", &a), 1.0);
    assert_eq!(robustness("a == 3", &a), -2.0);
    assert_eq!(robustness("a != 3", &a), 2.0);
    assert_eq!(robustness("a > 0 iff a > -1", &a), 1.0);
    assert_eq!(robustness("a > 0 xor a > -1", &a), -1.0);
    assert_eq!(robustness("min(a, 2) * 3 + abs(-a) / 2 - max(a, 5) >= -a", &a), -0.5);
}

#[test]
fn aggregates_are_numbers_over_past_samples() {
    let a = [4.0, 0.0, 2.0, 6.0, 0.0];
    // Clipped at the beginning: 4, 2, 2, then 8/3, 8/3.
    assert_eq!(robustness("always (mean[0:2](a) <= 4)", &a), 0.0);
    assert_eq!(robustness("always[4:4] (3 * mean[0:2](a) >= 0)", &a), 8.0);
    assert_eq!(robustness("always[4:4] (mean(a) >= 0)", &a), 2.4);
    assert_eq!(robustness("always[4:4] (duration[0:3](a >= 2) >= 0)", &a), 2.0);
    assert_eq!(robustness("always[4:4] (count(a >= 2) >= 0)", &a), 2.0);
    // A contact that began before the window is not counted in it, but its duration is.
    assert_eq!(robustness("always[3:3] (count[0:0](a >= 2) >= 0)", &a), 0.0);
    assert_eq!(robustness("always[3:3] (duration[0:0](a >= 2) >= 0)", &a), 1.0);
    // Contacts less than two samples apart count as one.
    assert_eq!(robustness("always[4:4] (count(duration[0:1](a >= 2) > 0) >= 0)", &a), 1.0);
    let unknown = [1.0, f64::NAN, 1.0, 1.0];
    assert_eq!(robustness("always (mean[0:1](a) <= 5)", &unknown), -INF);
    assert_eq!(robustness("always[3:3] (mean[0:1](a) <= 5)", &unknown), 4.0, "it has no effect outside of its window");
    assert_eq!(robustness("always[2:2] (duration[0:1](a > 0) >= 0)", &unknown), -INF);
    assert_eq!(robustness("always[2:2] (duration[0:1](a > 0) < 5)", &unknown), -INF);
}

#[test]
fn aggregates_accumulate_no_rounding_error() {
    let mut a = vec![1e17; 8];
    a.extend([0.1; 8]);
    assert_eq!(robustness("always[15:15] (8 * mean[0:7](a) >= 0)", &a), [0.1; 8].iter().sum::<f64>());
    let bound = Formula::parse("mean[0:2000](a) > 1", &[]).unwrap();
    assert!(matches!(bound.bind(&["a"], 0.001), Err(BindError::Horizon { .. })), "windows are bounded in all");
    assert!(bound.bind(&["a"], 0.01).is_ok_and(|bound| bound.at(&[2.0]).is_none()), "one sample is not enough");
}

#[test]
fn until_needs_its_left_side_only_before_the_witness() {
    let (a, b) = ([1.0, 1.0, -1.0, 1.0], [-1.0, -1.0, 1.0, -1.0]);
    assert_eq!(run("a > 0 until b > 0", &a, &b, TraceEnd::Complete).robustness, 1.0);
    assert_eq!(run("a > 0 until[3:3] b > 0", &a, &b, TraceEnd::Complete).robustness, -1.0);
    assert_eq!(run("always[3:3] (a > 0 since[0:1] b > 0)", &a, &b, TraceEnd::Complete).robustness, 1.0);
    assert_eq!(run("always[3:3] (a > 0 since[2:3] b > 0)", &a, &b, TraceEnd::Complete).robustness, -1.0);
}

#[test]
fn a_complete_trace_clips_its_windows() {
    assert_eq!(robustness("eventually[0:9] (a > 0)", &[-1.0, -3.0]), -1.0);
    assert_eq!(robustness("always (a > 5 implies eventually[0:9] a < 0)", &[1.0, 7.0, 6.0]), -2.0);
    // A window wholly beyond the end has no value, neither the best nor the worst.
    assert_eq!(robustness("eventually always[2:3] (a > 0)", &[-1.0, -2.0, -3.0]), -3.0);
    assert_eq!(robustness("always eventually[2:3] (a > 0)", &[-1.0, 2.0, 3.0]), 3.0);
}

#[test]
fn an_unmet_window_beyond_the_end_is_violated_and_an_empty_always_is_vacuous() {
    let unmet = run("eventually[5:9] (a > 0)", &[1.0], &[0.0], TraceEnd::Complete);
    assert_eq!((unmet.status, unmet.robustness, unmet.vacuous), (Status::Violated, -INF, true));
    let empty = run("always[5:9] (a > 0)", &[-1.0], &[0.0], TraceEnd::Complete);
    assert_eq!((empty.status, empty.robustness, empty.vacuous), (Status::Satisfied, INF, true));
    let both = run("eventually[5:9] (a > 0) and a > 0", &[1.0], &[0.0], TraceEnd::Complete);
    assert_eq!((both.status, both.vacuous), (Status::Violated, false));
}

#[test]
fn a_cut_trace_decides_only_what_is_certain() {
    let open = cut("always (a > 0)", &[1.0, 2.0]);
    assert_eq!((open.status, open.robustness, open.interval), (Status::Undetermined, 1.0, (-INF, 1.0)));
    assert_eq!(cut("always (a > 0)", &[1.0, -2.0]).status, Status::Violated);
    assert_eq!(cut("eventually (a > 0)", &[-1.0, 2.0]).status, Status::Satisfied);
    assert_eq!(cut("eventually[0:2] (a > 0)", &[-1.0, -2.0]).status, Status::Undetermined);
    assert_eq!(cut("eventually[0:2] (a > 0)", &[-1.0, -2.0, -3.0]).status, Status::Violated);
    assert_eq!(cut("always[0:1] (a > 0)", &[1.0, 2.0, -3.0]).status, Status::Satisfied);
    assert_eq!(cut("always (a > 5 implies eventually[0:2] a < 0)", &[1.0, 6.0, 7.0]).status, Status::Undetermined);
    assert_eq!(cut("always (a > 5 implies eventually[0:2] a < 0)", &[6.0, 7.0, 1.0]).status, Status::Violated);
    // Samples before the cut still limit past operators.
    assert_eq!(cut("always once (a > 0)", &[1.0]).interval, (1.0, 1.0));
}

#[test]
fn a_running_monitor_does_not_assume_the_end() {
    let bound = bound("always (a > 5 implies eventually[0:2] a < 0)");
    let mut monitor = bound.monitor();
    let uppers: Vec<f64> = [1.0, 6.0, 7.0, 3.0, -1.0].iter().map(|a| monitor.push(&[*a, 0.0]).upper).collect();
    assert_eq!(uppers, [INF, INF, 4.0, -1.0, -1.0]);
    assert_eq!(monitor.pushed(), 5);
}

#[test]
fn a_conjunction_does_not_wait_for_its_slow_side() {
    let mut monitor = bound("always (a < 5 and eventually[0:9] b > 0)").monitor();
    assert_eq!(monitor.push(&[1.0, 0.0]).upper, 4.0);
    assert_eq!(monitor.push(&[7.0, 0.0]).upper, -2.0);
}

#[test]
fn an_implication_whose_premise_never_held_is_vacuous() {
    let text = "always (a > 1 implies b < 0)";
    let vacuous = |a: &[f64]| run(text, a, &vec![-1.0; a.len()], TraceEnd::Complete).vacuous;
    assert!(vacuous(&[0.0, 1.0]), "a strict premise does not hold at its limit");
    assert!(!vacuous(&[0.0, 1.5]));
    assert!(!run("always (a >= 1 implies b < 0)", &[1.0], &[-1.0], TraceEnd::Complete).vacuous);
    assert!(!run("always (a > 1 implies b < 0) and b < 0", &[0.0], &[-1.0], TraceEnd::Complete).vacuous);
    assert!(run("always (a > 1 implies (b > 1 implies a > 0))", &[2.0], &[0.0], TraceEnd::Complete).vacuous);
    assert!(!run("not eventually not (a > 1 implies b < 0)", &[2.0], &[0.0], TraceEnd::Complete).vacuous);
}

#[test]
fn nan_is_never_satisfied_on_either_side_of_a_negation() {
    for text in
        ["always (a > 0)", "always not (a > 0)", "always (a == a)", "eventually not (a != 0)", "always (min(a, 1) > 0)"]
    {
        let outcome = run(text, &[f64::NAN], &[0.0], TraceEnd::Complete);
        assert_eq!((outcome.status, outcome.robustness), (Status::Violated, -INF), "{text}");
    }
    let premise = run("always (a > 0 implies b > 0)", &[f64::NAN], &[-1.0], TraceEnd::Complete);
    assert_eq!(premise.status, Status::Violated);
    assert_eq!(run("always (a / b > 0)", &[0.0], &[0.0], TraceEnd::Complete).status, Status::Violated);
}

#[test]
fn an_empty_trace_settles_nothing() {
    for text in ["a > 0", "always (a > 0)", "eventually always[0:2] (a > 0)", "always[0:1] eventually (a > 0)"] {
        for end in [TraceEnd::Complete, TraceEnd::Cut] {
            let outcome = run(text, &[], &[], end);
            assert_eq!((outcome.status, outcome.interval, outcome.vacuous), (Status::Undetermined, (-INF, INF), true));
        }
        assert!(bound(text).violations(&[&[], &[]]).is_empty());
        assert!(bound(text).pointwise(&[&[], &[]]).is_empty());
    }
}

#[test]
fn zero_is_satisfied() {
    assert_eq!(run("always (a <= 2)", &[2.0], &[0.0], TraceEnd::Complete).status, Status::Satisfied);
    assert_eq!(run("always not (a > 2)", &[2.0], &[0.0], TraceEnd::Complete).status, Status::Satisfied);
}

#[test]
fn violations_are_the_runs_below_zero() {
    let a = [1.0, -1.0, -3.0, 2.0, -1.0];
    let zeros = [0.0; 5];
    let expected = [
        ViolationSpan { first: 1, last: 2, worst: 2, robustness: -3.0 },
        ViolationSpan { first: 4, last: 4, worst: 4, robustness: -1.0 },
    ];
    assert_eq!(bound("always (a >= 0)").violations(&[&a, &zeros]), expected);
    assert_eq!(bound("not eventually (a < 0)").violations(&[&a, &zeros]), expected);
    assert_eq!(bound("always (a >= 0) and always (b >= 0)").violations(&[&a, &zeros]), expected);
    assert_eq!(bound("always (a >= 0)").pointwise(&[&a, &zeros]), a);
}

#[test]
fn other_formulas_have_one_violation_from_the_first_certain_sample() {
    let (a, zeros) = ([1.0, -1.0, -3.0, 2.0, -1.0], [0.0; 5]);
    let span = |first, robustness| vec![ViolationSpan { first, last: 4, worst: first, robustness }];
    assert_eq!(bound("always[0:2] (a >= 0)").violations(&[&a, &zeros]), span(1, -3.0));
    assert_eq!(bound("eventually[1:2] (a >= 0)").violations(&[&a, &zeros]), span(2, -1.0));
    assert_eq!(bound("eventually (a >= 9)").violations(&[&a, &zeros]), span(4, -7.0));
    assert_eq!(bound("eventually (a >= 9)").violations_at(&[&a, &zeros], TraceEnd::Cut), []);
    assert_eq!(bound("eventually (a >= 2)").violations(&[&a, &zeros]), []);
}

#[test]
fn violations_of_a_cut_trace_exclude_open_windows() {
    let bound = bound("always (a > 0 implies eventually[0:2] b > 0)");
    let (a, b) = ([0.0, 0.0, 1.0, 0.0], [0.0, 0.0, -1.0, -1.0]);
    assert_eq!(bound.violations(&[&a, &b]).len(), 1);
    assert_eq!(bound.violations_at(&[&a, &b], TraceEnd::Cut), []);
}

#[test]
fn pointwise_robustness_of_other_formulas_is_that_of_the_remaining_trace() {
    let (a, zeros) = ([1.0, -1.0, 3.0], [0.0; 3]);
    assert_eq!(bound("eventually (a >= 0) and a > -5").pointwise(&[&a, &zeros]), [3.0, 3.0, 3.0]);
    assert_eq!(bound("eventually[1:1] (a >= 0)").pointwise(&[&a, &zeros]), [-1.0, 3.0, -INF]);
    assert_eq!(bound("always eventually[1:1] (a >= 0)").pointwise(&[&a, &zeros]), [-1.0, 3.0, INF]);
}

#[test]
fn only_formulas_without_temporal_operators_have_a_value_at_a_sample() {
    assert_eq!(bound("a > 1").at(&[3.0, 0.0]), Some(2.0));
    assert_eq!(bound("a > 1 and (b < 2 or not a < 9)").at(&[3.0, 0.5]), Some(1.5));
    assert_eq!(bound("a > 1").at(&[]), Some(-INF));
    assert_eq!(bound("always (a > 1)").at(&[3.0, 0.0]), None);
    assert!(bound("a > 1").is_instant() && !bound("next (a > 1)").is_instant());
    let many = (0..40).map(|i| format!("a > {i}")).collect::<Vec<_>>().join(" and ");
    assert_eq!(bound(&many).at(&[100.0, 0.0]), Some(61.0));
}

#[test]
fn binding_checks_signals_and_times() {
    let bind = |text: &str, period| Formula::parse(text, &[]).unwrap().bind(&["a"], period).unwrap_err();
    assert_eq!(bind("a > c", 1.0), BindError::UnknownSignal { name: "c".to_owned() });
    let uneven = BindError::NotWholePeriods { bound_s: 0.005, period_s: 0.002 };
    assert_eq!(bind("always[0:5ms] (a > 0)", 0.002), uneven);
    assert!(uneven.to_string().contains("0.005 s"));
    assert!(matches!(bind("always[0:1e9] (a > 0)", 0.002), BindError::Horizon { .. }));
    assert!(matches!(bind("always[0:1e300] (a > 0)", 0.002), BindError::Horizon { .. }));
    assert!(matches!(bind("a > 0", 0.0), BindError::Period { .. }));
    assert!(matches!(bind("a > 0", f64::NAN), BindError::Period { .. }));
    let nested = format!("{}(a > 0)", "always[0:2000] ".repeat(3));
    assert!(matches!(bind(&nested, 0.005), BindError::Horizon { steps: 1_200_000, .. }));
}

#[test]
fn times_are_whole_periods_up_to_rounding() {
    let thirds = Formula::parse("always[100ms:0.7] (a > 0)", &[]).unwrap();
    assert!(thirds.bind(&["a"], 0.1).is_ok());
    assert!(Formula::parse("always[0:10] (a > 0)", &[]).unwrap().bind(&["a"], 0.016_666_667).is_ok());
}

#[test]
fn a_window_that_begins_later_reads_only_the_signals_it_names() {
    // A monitor keeps no column of `b`, and the window begins behind the first sample.
    assert_eq!(robustness("always[1:1] (a >= 0) and always[0:0] (always (a >= 0))", &[0.0, 0.0]), 0.0);
    assert_eq!(robustness("always[1:1] (a >= 0) and always[0:0] (always (a >= 0))", &[1.0, 3.0]), 1.0);
}

#[test]
fn a_truncated_window_does_not_limit_anything_yet() {
    let a = [-1.0, 3.0, -2.0];
    let zeros = [0.0; 3];
    let cut = |text: &str| bound(text).pointwise_at(&[&a, &zeros], TraceEnd::Cut);
    assert_eq!(cut("always (a >= 0)"), a);
    assert_eq!(cut("always eventually[0:1] (a >= 0)"), [3.0, 3.0, INF], "the last window is open");
    assert_eq!(cut("always always[0:1] (a >= 0)"), [-1.0, -2.0, -2.0], "recorded samples count");
    assert_eq!(bound("always eventually[0:1] (a >= 0)").evaluate(&[&a, &zeros], TraceEnd::Cut).interval.1, 3.0);
}
