//! Tests of the choice of the event, and of its sentences.

use super::*;
use crate::conclusion::tests::{clause, episode};
use crate::{EpisodeStatus, Involved};

/// A clause with this id, level, harm and margin; its limit is 50 N.
fn rule(id: &str, level: Level, harm: Harm, margin: f64) -> ClauseResult {
    let status = if margin < 0.0 { ClauseStatus::Violated } else { ClauseStatus::Satisfied };
    ClauseResult {
        id: id.into(),
        title: Some(format!("Rule of {id}")),
        harm: Some(harm),
        scale: Some(100.0),
        worst_time_s: Some(4.64),
        best_margin: Some(50.0),
        ..clause(level, status, margin)
    }
}

fn run(index: u32, clauses: Vec<ClauseResult>) -> EpisodeResult {
    let first = clauses.first().cloned().expect("a clause");
    EpisodeResult { clauses, ..episode(index, EpisodeStatus::Completed, first) }
}

fn interval(clause: &ClauseResult, start_s: f64, peak_s: Option<f64>, value: f64) -> Violation {
    let names = vec!["post_0".to_owned(), "arm/link6".to_owned()];
    Violation {
        clause: clause.id.clone(),
        level: clause.level,
        start_s,
        end_s: 5.0,
        onset_value: peak_s.map(|_| 57.274_6),
        peak_s,
        value: Some(value),
        limit: clause.limit,
        unit: clause.unit.clone(),
        robustness: Some(clause.limit - value),
        involved: vec![Involved { signal: "force".into(), names }],
    }
}

/// Id, level, harm and margin of a clause.
type Broken = (&'static str, Level, Harm, f64);

#[test]
fn the_worst_is_chosen_by_level_then_harm_then_severity() {
    use Harm::{Collision, Comfort, Limit, Person};
    use Level::{Critical, Warning};
    let rows: [(&[Broken], Option<&str>); 7] = [
        (&[("a", Critical, Limit, -90.0), ("b", Critical, Person, -1.0)], Some("b")),
        (&[("a", Critical, Comfort, -90.0), ("b", Critical, Collision, -1.0), ("c", Critical, Limit, -5.0)], Some("b")),
        (&[("a", Critical, Limit, -2.0), ("b", Critical, Limit, -3.0)], Some("b")),
        (&[("a", Critical, Limit, -2.0), ("b", Critical, Limit, -2.0)], Some("a")),
        // A warning does not explain an UNSAFE verdict.
        (&[("a", Warning, Person, -90.0), ("b", Critical, Comfort, -1.0)], Some("b")),
        (&[("a", Warning, Person, -1.0), ("b", Critical, Comfort, 1.0)], Some("a")),
        (&[("a", Critical, Person, 1.0)], None),
    ];
    for (clauses, expected) in rows {
        let own = clauses.iter().map(|(id, level, harm, margin)| rule(id, *level, *harm, *margin)).collect();
        let worst = ClauseEvent::worst(&[run(0, own)]);
        assert_eq!(worst.as_ref().map(|event| event.clause.as_str()), expected, "{clauses:?}");
        // In episodes of their own.
        let own: Vec<_> = (0..).zip(clauses).map(|(i, (id, l, h, m))| run(i, vec![rule(id, *l, *h, *m)])).collect();
        let worst = ClauseEvent::worst(&own);
        assert_eq!(worst.as_ref().map(|event| event.clause.as_str()), expected, "{clauses:?}");
    }
}

#[test]
fn the_sentence_has_times_and_values_of_onset_and_peak() {
    let broken = rule("contact_force", Level::Critical, Harm::Collision, 50.0 - 557.3);
    let mut result = run(2, vec![broken.clone()]);
    result.violations = vec![interval(&broken, 0.2, Some(0.3), 60.0), interval(&broken, 0.78, Some(4.64), 557.3)];
    let event = ClauseEvent::worst(std::slice::from_ref(&result)).expect("a violation");
    assert_eq!(event.onset, EventMoment { time_s: Some(0.78), value: Some(57.274_6) });
    assert_eq!(event.peak, EventMoment { time_s: Some(4.64), value: Some(557.3) });
    assert_eq!(
        event.violation(),
        "Rule of contact_force (contact_force) in episode 2, from 0.78 s (57.27 N), peak 557.3 N at 4.64 s, limit 50 N: \
         post 0 and arm link 6 (post_0, arm/link6)"
    );
    // An earlier version recorded neither the value at the onset nor the time of the peak.
    result.violations = vec![interval(&broken, 0.78, None, 557.3)];
    let event = ClauseEvent::worst(std::slice::from_ref(&result)).expect("a violation");
    assert_eq!(event.course(), "from 0.78 s, peak 557.3 N at 4.64 s, limit 50 N");
    result.clauses[0].worst_time_s = None;
    let event = ClauseEvent::worst(std::slice::from_ref(&result)).expect("a violation");
    assert_eq!(event.course(), "from 0.78 s, peak 557.3 N, limit 50 N");
    result.violations.clear();
    let event = ClauseEvent::worst(&[result]).expect("a violation");
    assert_eq!(event.onset, EventMoment { time_s: None, value: None });
    assert_eq!(event.course(), "peak 557.3 N, limit 50 N");
}

#[test]
fn other_formulas_tell_their_excess() {
    let mut broken = rule("separation", Level::Critical, Harm::Person, -0.25);
    (broken.worst_value, broken.unit) = (None, "m".into());
    let violation = Violation { value: None, onset_value: None, ..interval(&broken, 1.0, Some(2.0), 50.25) };
    let result = EpisodeResult { violations: vec![violation], ..run(0, vec![broken]) };
    let event = ClauseEvent::worst(&[result]).expect("a violation");
    assert_eq!(event.course(), "from 1.00 s, peak 0.25 m beyond the limit at 2.00 s, limit 50 m");
    let below = ClauseEvent { peak: EventMoment { time_s: Some(2.0), value: Some(-0.006) }, limit: 0.05, ..event };
    assert!(below.course().contains("lowest -0.006 m at 2.00 s, limit 0.05 m"), "{}", below.course());
}

#[test]
fn the_closest_clause_is_not_at_its_best_value() {
    let near = |id: &str, margin: f64| rule(id, Level::Critical, Harm::Collision, margin);
    let at_best = ClauseResult { scale: Some(4000.0), ..near("self_collision", 50.0) };
    let old = ClauseResult { best_margin: None, ..at_best.clone() };
    let vacuous = ClauseResult { vacuous: true, ..near("yield", 0.1) };
    let rows: [(Vec<ClauseResult>, Option<&str>); 7] = [
        (vec![at_best.clone(), near("b", 2.0)], Some("b")),
        (vec![old.clone(), near("b", 2.0)], Some("b")),
        (vec![at_best.clone(), near("b", 40.0), near("c", 30.0)], Some("c")),
        (vec![vacuous, near("b", 2.0)], Some("b")),
        (vec![at_best.clone()], None),
        (vec![old], None),
        (vec![near("a", -1.0), near("b", 2.0)], None),
    ];
    for (clauses, expected) in rows {
        let closest = ClauseEvent::closest(&[run(0, clauses.clone())]);
        assert_eq!(closest.as_ref().map(|event| event.clause.as_str()), expected, "{clauses:?}");
    }
    let closest = ClauseEvent::closest(&[run(1, vec![at_best, near("b", 2.0)])]).expect("a clause");
    assert_eq!(
        closest.approach(),
        "Rule of b (b), 48 N, limit 50 N, in episode 1 at 4.64 s, with 2 % of its scale to spare"
    );
    assert_eq!(closest.onset, closest.peak);
}

#[test]
fn bodies_have_display_names() {
    for (id, name) in [
        ("arm/link6", "arm link 6"),
        ("post_0", "post 0"),
        ("left-finger", "left finger"),
        ("hull2b", "hull 2b"),
        ("Base", "Base"),
        ("__", "__"),
        ("a//b", "a b"),
    ] {
        assert_eq!(EventBody::new(id).name, name, "{id}");
    }
    let bodies = ["floor", "arm/link6", "post_0"].map(EventBody::new);
    assert_eq!(
        EventBody::in_words(&bodies).as_deref(),
        Some("floor, arm link 6 and post 0 (floor, arm/link6, post_0)")
    );
    assert_eq!(EventBody::in_words(&bodies[..1]).as_deref(), Some("floor"));
    assert_eq!(EventBody::in_words(&[]), None);
}
