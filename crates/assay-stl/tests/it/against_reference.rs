//! Offline and streaming evaluation against the quadratic definition, on random formulas and traces.
#![expect(clippy::unwrap_used, reason = "tests")]

use crate::common::{F, Rest, Trace, formulas, reach, text, traces};
use assay_stl::{BoundFormula, Formula, Status, TraceEnd, TraceEvaluation};
use proptest::prelude::*;

fn bind(f: &F) -> BoundFormula {
    Formula::parse(&text(f), &[]).unwrap().bind(&["a", "b"], 1.0).unwrap()
}

fn same(x: f64, y: f64) -> bool {
    x.to_bits() == y.to_bits()
}

fn identical(x: TraceEvaluation, y: TraceEvaluation) -> bool {
    x.status == y.status
        && same(x.robustness, y.robustness)
        && same(x.interval.0, y.interval.0)
        && same(x.interval.1, y.interval.1)
        && x.vacuous == y.vacuous
}

/// Compares with `==`: on finite values only zeros can differ in sign.
fn agree(x: f64, y: f64) -> bool {
    x == y
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn complete_traces(f in formulas(), (a, b) in traces(14)) {
        let outcome = bind(&f).evaluate(&[&a, &b], TraceEnd::Complete);
        let expected = Trace::complete(&a, &b).outside(&f);
        prop_assert!(agree(outcome.robustness, expected), "{}: {} not {}", text(&f), outcome.robustness, expected);
        prop_assert_eq!(outcome.interval, (outcome.robustness, outcome.robustness));
        prop_assert_eq!(outcome.status, if expected < 0.0 { Status::Violated } else { Status::Satisfied });
    }

    #[test]
    fn cut_traces(f in formulas(), (a, b) in traces(10)) {
        let outcome = bind(&f).evaluate(&[&a, &b], TraceEnd::Cut);
        let lower = Trace::assumed(&a, &b, &f, Rest::Worst).outside(&f);
        let upper = Trace::assumed(&a, &b, &f, Rest::Best).outside(&f);
        prop_assert!(agree(outcome.interval.0, lower), "{}: lower {} not {}", text(&f), outcome.interval.0, lower);
        prop_assert!(agree(outcome.interval.1, upper), "{}: upper {} not {}", text(&f), outcome.interval.1, upper);
        let status = if upper < 0.0 { Status::Violated } else if lower >= 0.0 { Status::Satisfied } else { Status::Undetermined };
        prop_assert_eq!(outcome.status, status);
        prop_assert!(lower <= outcome.robustness && outcome.robustness <= upper);
    }

    #[test]
    fn recordings_that_stop(f in formulas(), (a, b) in traces(10)) {
        let outcome = bind(&f).evaluate_recording(&[&a, &b]);
        let lower = Trace::recording(&a, &b, &f, Rest::Worst).outside(&f);
        let upper = Trace::recording(&a, &b, &f, Rest::Best).outside(&f);
        prop_assert!(agree(outcome.interval.0, lower), "{}: lower {} not {}", text(&f), outcome.interval.0, lower);
        prop_assert!(agree(outcome.interval.1, upper), "{}: upper {} not {}", text(&f), outcome.interval.1, upper);
        prop_assert!(lower <= outcome.robustness && outcome.robustness <= upper);
        if reach(&f) == 0 {
            prop_assert_eq!(outcome, bind(&f).evaluate(&[&a, &b], TraceEnd::Complete), "nothing to wait for in {}", text(&f));
        }
    }

    #[test]
    fn streaming_is_offline(f in formulas(), (a, b) in traces(24)) {
        let bound = bind(&f);
        let mut monitor = bound.monitor();
        for n in 0..=a.len() {
            for end in [TraceEnd::Complete, TraceEnd::Cut] {
                let (streamed, whole) = (monitor.finish(end), bound.evaluate(&[&a[..n], &b[..n]], end));
                prop_assert!(identical(streamed, whole), "{} at {n}, {end:?}: {streamed:?} not {whole:?}", text(&f));
            }
            if n < a.len() {
                let before = bound.evaluate(&[&a[..=n], &b[..=n]], TraceEnd::Cut).interval;
                let running = monitor.push(&[a[n], b[n]]);
                prop_assert!(running.lower <= before.0 && before.1 <= running.upper, "{}: {running:?} is not around {before:?}", text(&f));
            }
        }
    }

    #[test]
    fn more_samples_only_narrow_the_interval(f in formulas(), (a, b) in traces(16)) {
        let bound = bind(&f);
        let mut last = (f64::NEG_INFINITY, f64::INFINITY);
        for n in 1..=a.len() {
            let now = bound.evaluate(&[&a[..n], &b[..n]], TraceEnd::Cut).interval;
            prop_assert!(last.0 <= now.0 && now.1 <= last.1, "{}: {now:?} after {last:?}", text(&f));
            last = now;
        }
    }

    #[test]
    fn the_body_and_its_spans_agree_with_the_whole_formula(f in formulas(), (a, b) in traces(16)) {
        let always = F::Temporal("always", None, Box::new(f));
        let bound = bind(&always);
        let robustness = bound.evaluate(&[&a, &b], TraceEnd::Complete).robustness;
        let body = bound.pointwise(&[&a, &b]);
        prop_assert!(agree(body.iter().copied().fold(f64::INFINITY, f64::min), robustness));
        let spans = bound.violations(&[&a, &b]);
        for (i, value) in body.iter().enumerate() {
            let inside = spans.iter().any(|span| span.first <= i && i <= span.last);
            prop_assert_eq!(inside, *value < 0.0);
        }
        for span in &spans {
            let least = body[span.first..=span.last].iter().copied().fold(f64::INFINITY, f64::min);
            prop_assert!(least == span.robustness && body[span.worst] == least);
        }
        prop_assert!(spans.windows(2).all(|pair| pair[0].last + 1 < pair[1].first));
    }

    #[test]
    fn written_formulas_read_back_the_same(f in formulas()) {
        let formula = Formula::parse(&text(&f), &[]).unwrap();
        let again = Formula::parse(&formula.to_string(), &[]).unwrap();
        prop_assert_eq!(formula.to_string(), again.to_string());
        prop_assert_eq!(formula, again);
    }
}
