//! A session on a scripted machine, with everything that it reports.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use assay_model::{Artifact, AttemptNote, EpisodeResult, Record, ReplacementReason, SeedSource};

use super::script::{Attempt, ScriptedHost, scenario};
use crate::episode::lane_session::LaneSession;
use crate::episode::rejection::Rejection;
use crate::episode::session_events::SessionEvents;
use crate::{Cancel, Job, PolicyFolder, PolicySource, SessionError};

/// The events of a session.
#[derive(Debug)]
pub(super) struct RecordedEvents {
    notes: Mutex<Vec<AttemptNote>>,
    results: Mutex<Vec<EpisodeResult>>,
    kept: Mutex<Vec<String>>,
    asleep: Mutex<Vec<(u32, bool)>>,
    /// Episodes from this index on are not wanted.
    pub(super) end: AtomicU32,
    /// Cancels the session when a file is kept.
    pub(super) cancels_when_kept: Option<Cancel>,
    /// True if notes are refused, as for a worker without a lease.
    pub(super) refuses_notes: AtomicBool,
    /// True if results are refused, as for a worker without a lease.
    pub(super) refuses_results: AtomicBool,
}

impl SessionEvents for RecordedEvents {
    fn progress(&self, _episode: u32, _step: u32, _of: u32) {}

    fn wanted(&self, episode: u32) -> bool {
        episode < self.end.load(Ordering::SeqCst)
    }

    fn keep(&self, _episode: u32, file: &Artifact) -> Result<(), Rejection> {
        self.kept.lock().unwrap().push(file.name.clone());
        self.cancels_when_kept.iter().for_each(Cancel::cancel);
        Ok(())
    }

    fn note(&self, note: &AttemptNote) -> Result<(), Rejection> {
        accept(&self.refuses_notes)?;
        self.notes.lock().unwrap().push(note.clone());
        Ok(())
    }

    fn sleeping(&self, episode: u32, asleep: bool) {
        self.asleep.lock().unwrap().push((episode, asleep));
    }

    fn finished(&self, result: EpisodeResult) -> Result<(), Rejection> {
        accept(&self.refuses_results)?;
        self.results.lock().unwrap().push(result);
        Ok(())
    }
}

fn accept(refuses: &AtomicBool) -> Result<(), Rejection> {
    if refuses.load(Ordering::SeqCst) { Err(Rejection::NotHeld { episode: 0 }) } else { Ok(()) }
}

/// A session to run.
pub(super) struct SessionRun {
    pub(super) host: ScriptedHost,
    pub(super) events: RecordedEvents,
    pub(super) cancel: Cancel,
    pub(super) stopping: Cancel,
    /// True if no other worker would retry the episodes.
    pub(super) is_last_try: bool,
    pub(super) earlier: Vec<AttemptNote>,
    /// Destination of the evidence.
    pub(super) folder: Option<PathBuf>,
}

impl SessionRun {
    /// Creates a session whose first episode takes these attempts.
    pub(super) fn new(attempts: Vec<Attempt>) -> Self {
        Self::of(ScriptedHost::new([(0, attempts)]))
    }

    /// Creates a session on a machine.
    pub(super) fn of(host: ScriptedHost) -> Self {
        let events = RecordedEvents {
            notes: Mutex::default(),
            results: Mutex::default(),
            kept: Mutex::default(),
            asleep: Mutex::default(),
            end: AtomicU32::new(u32::MAX),
            cancels_when_kept: None,
            refuses_notes: AtomicBool::new(false),
            refuses_results: AtomicBool::new(false),
        };
        Self {
            host,
            events,
            cancel: Cancel::new(),
            stopping: Cancel::new(),
            is_last_try: false,
            earlier: Vec::new(),
            folder: None,
        }
    }

    /// Runs the first `episodes` episodes.
    pub(super) fn run(&self, episodes: u32) -> Result<(), SessionError> {
        let job = job(self.folder.clone());
        let mut next = 0..episodes;
        LaneSession::new(&self.host, &job, 0, &self.cancel)?
            .with_earlier_notes(self.earlier.clone())
            .last_try(self.is_last_try)
            .stopping(self.stopping.clone())
            .run(|| next.next(), &self.events)
    }

    /// Runs the first episode to its result.
    pub(super) fn result(&self) -> EpisodeResult {
        self.run(1).unwrap();
        assert!(self.host.is_played(), "not every attempt was made: {:?}", self.host.log());
        let results = self.results();
        assert_eq!(results.len(), 1, "{results:?}");
        results.into_iter().next().unwrap()
    }

    /// Returns the results reported.
    pub(super) fn results(&self) -> Vec<EpisodeResult> {
        self.events.results.lock().unwrap().clone()
    }

    /// Returns the notes reported.
    pub(super) fn notes(&self) -> Vec<AttemptNote> {
        self.events.notes.lock().unwrap().clone()
    }

    /// Returns the reasons of the replaced attempts that were noted.
    pub(super) fn replaced(&self) -> Vec<ReplacementReason> {
        let reason = |note: &AttemptNote| match note {
            AttemptNote::Replaced(replaced) => Some(replaced.reason),
            _ => None,
        };
        self.notes().iter().filter_map(reason).collect()
    }

    /// Returns the names of the files kept, sorted.
    pub(super) fn kept(&self) -> Vec<String> {
        let mut kept = self.events.kept.lock().unwrap().clone();
        kept.sort();
        kept
    }

    /// Returns when policies fell asleep and woke up.
    pub(super) fn asleep(&self) -> Vec<(u32, bool)> {
        self.events.asleep.lock().unwrap().clone()
    }
}

/// Returns a job of the scenario.
pub(super) fn job(folder: Option<PathBuf>) -> Job {
    Job {
        scenario: scenario(),
        policy: PolicySource::Folder(PolicyFolder {
            path: "/nowhere".into(),
            runtime: None,
            home: assay_policy::PolicyHome::default(),
        }),
        seeds: SeedSource::Job { seed: 7, policy_key: None },
        record: Record::None,
        folder,
        max_episode_bytes: 1 << 20,
        max_observation_bytes: None,
    }
}
