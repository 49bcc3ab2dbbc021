//! The files of attempts: those of the result are kept, all others are dropped.

use std::fs;
use std::sync::Mutex;
use std::time::Duration;

use assay_model::lane::files;
use assay_model::{EpisodeResult, Plan, PolicyErrorCode};

use super::script::{Act, Attempt, CRITICAL, ScriptedHost, signalled};
use super::session_run::{SessionRun, job};
use crate::evaluate::evaluate_on;
use crate::{Cancel, Evaluation, EvaluationEvents, SessionError};

#[test]
fn the_files_of_the_last_attempt_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let killed = Attempt::policy_gone(signalled(9, Duration::ZERO));
    let mut run = SessionRun::new(vec![killed, Attempt::completed()]);
    run.folder = Some(folder.path().to_owned());
    let result = run.result();
    assert_eq!(run.kept(), files::STEPPED.map(str::to_owned));
    let names: Vec<_> = result.evidence.iter().map(|file| file.name.as_str()).collect();
    let expected = files::STEPPED.map(|name| format!("episodes/000/{name}"));
    assert_eq!(names, expected);
    for name in &names {
        assert!(fs::read_to_string(folder.path().join(name)).unwrap().ends_with("of attempt 2"), "{name}");
    }
    assert_eq!(run.host.count("files of an earlier attempt"), 0, "the lane begins with an empty folder");
    assert_eq!(result.log_path.as_deref(), Some("episodes/000/trace.parquet"));
}

#[test]
fn an_episode_that_never_began_has_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = SessionRun::new(vec![Attempt::import_failed(PolicyErrorCode::ImportError)]);
    run.folder = Some(folder.path().to_owned());
    assert_eq!((run.result().evidence, run.kept()), (Vec::new(), Vec::new()));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_link_in_the_place_of_a_file_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = SessionRun::new(vec![Attempt::completed().with_link()]);
    run.folder = Some(folder.path().to_owned());
    assert!(matches!(run.run(1), Err(SessionError::Internal(_))));
    assert_eq!(run.results(), []);
    assert!(!folder.path().join("episodes/000").join(files::TRACE).exists());
}

#[test]
fn an_episode_whose_job_is_cancelled_after_its_last_step_is_not_reported() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = SessionRun::new(vec![Attempt::completed()]);
    run.folder = Some(folder.path().to_owned());
    run.events.cancels_when_kept = Some(run.cancel.clone());
    run.run(1).unwrap();
    assert_eq!((run.kept().len(), run.results()), (files::STEPPED.len(), Vec::new()));
}

/// Collects the indices of finished episodes.
#[derive(Default)]
struct Indices(Mutex<Vec<u32>>);

impl EvaluationEvents for Indices {
    fn progress(&self, _episode: u32, _step: u32, _of: u32) {}

    fn finished(&self, result: &EpisodeResult) {
        self.0.lock().unwrap().push(result.episode);
    }
}

#[test]
fn a_certification_ends_at_its_first_failure_and_drops_later_files() {
    let folder = tempfile::tempdir().unwrap();
    // The failure was seen in an attempt that was replaced.
    let fails = vec![Attempt::lane_killed().with(Act::Violates(CRITICAL)), Attempt::completed()];
    let host = ScriptedHost::new([(2, fails)]);
    let plan = Plan {
        episodes: 20,
        target: Some(0.1),
        confidence_level: 0.95,
        max_violation_probability: 0.1,
        draws_worlds: true,
    };
    let evaluation = Evaluation { job: job(Some(folder.path().to_owned())), plan, lanes: 3 };
    let results = evaluate_on(&host, &evaluation, &Cancel::new(), &Indices::default()).unwrap();
    assert_eq!(results.iter().map(|result| result.episode).collect::<Vec<_>>(), [0, 1, 2]);
    let mut kept: Vec<_> = fs::read_dir(folder.path().join("episodes")).unwrap().collect::<Result<_, _>>().unwrap();
    kept.sort_by_key(fs::DirEntry::file_name);
    assert_eq!(kept.iter().map(fs::DirEntry::file_name).collect::<Vec<_>>(), ["000", "001", "002"]);
}
