//! The end of a session before all its episodes are done.

use std::sync::atomic::Ordering;

use assay_model::ReplacementReason;

use super::script::{Attempt, ScriptedHost};
use super::session_run::SessionRun;
use crate::{Cancel, SessionError};

fn cancels(cancel: &Cancel) -> Attempt {
    let cancel = cancel.clone();
    Attempt::completed().meanwhile(move || cancel.cancel())
}

#[test]
fn a_cancelled_episode_has_no_result_and_its_attempt_is_noted() {
    let cancel = Cancel::new();
    let mut run = SessionRun::new(vec![cancels(&cancel)]);
    run.cancel = cancel;
    assert!(matches!(run.run(1), Err(SessionError::Cancelled)));
    assert_eq!((run.results(), run.replaced()), (Vec::new(), vec![ReplacementReason::ServiceStopped]));
}

#[test]
fn a_session_that_is_cancelled_before_its_policy_acts_notes_nothing() {
    let run = SessionRun::new(vec![Attempt::completed()]);
    run.cancel.cancel();
    assert!(matches!(run.run(1), Err(SessionError::Cancelled)));
    assert_eq!((run.results(), run.notes()), (Vec::new(), Vec::new()));
}

#[test]
fn a_stopping_session_ends_its_episode_and_begins_no_other() {
    let stopping = Cancel::new();
    let mut run = SessionRun::of(ScriptedHost::new([(0, vec![cancels(&stopping)])]));
    run.stopping = stopping;
    run.run(3).unwrap();
    assert_eq!(run.results().iter().map(|result| result.episode).collect::<Vec<_>>(), [0]);
}

#[test]
fn unwanted_episodes_are_not_begun() {
    let run = SessionRun::new(Vec::new());
    run.events.end.store(2, Ordering::SeqCst);
    run.run(5).unwrap();
    assert_eq!(run.results().iter().map(|result| result.episode).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn refused_results_end_the_session() {
    let run = SessionRun::new(Vec::new());
    run.events.refuses_results.store(true, Ordering::SeqCst);
    assert!(matches!(run.run(100), Err(SessionError::Rejected(_))));
    assert!(run.host.count("policy finished") < 100, "later episodes are not run");
}
