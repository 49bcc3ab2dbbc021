//! A lane that is started before there is work for it, so that a shard need not wait for a jail and a compiler.
//!
//! Every lane still serves one shard and ends: what differs is only when it begins. An idle worker thread keeps one
//! lane ready for the scenario it ran last; under load there is never an idle moment, and nothing is started in
//! advance.

use std::sync::Arc;

use assay_scenario::Scenario;

use crate::Engine;
use crate::episode::lane_process::LaneProcess;
use crate::episode::session::platform;

/// A lane that a worker thread keeps ready. It dies with the thread.
#[derive(Debug)]
pub(super) struct WarmLane {
    core: usize,
    /// The scenario that is likely to be asked for next: the last one that ran without trouble.
    expected: Option<Arc<Scenario>>,
    lane: Option<LaneProcess>,
    /// The one that ran last, and is to end.
    retired: Option<LaneProcess>,
}

impl WarmLane {
    /// Lanes will run on processor `core`.
    pub(super) fn new(core: usize) -> Self {
        Self { core, expected: None, lane: None, retired: None }
    }

    pub(super) fn core(&self) -> usize {
        self.core
    }

    /// The lane, if it is of this very scenario; another one ends, its processor and memory are wanted.
    pub(super) fn take(&mut self, scenario: &Scenario) -> Option<LaneProcess> {
        self.retired = None;
        let expected = self.expected.take();
        self.lane.take().filter(|_| expected.is_some_and(|expected| expected.digest == scenario.digest))
    }

    /// A shard is done with its lane. Ending the process takes some milliseconds of the processor, and somebody waits
    /// for a verdict: it ends before the next one is taken or started.
    pub(super) fn retire(&mut self, lane: Option<LaneProcess>) {
        self.retired = lane;
    }

    /// A shard of `scenario` ran well; another may follow.
    pub(super) fn expect(&mut self, scenario: Arc<Scenario>) {
        self.expected = Some(scenario);
    }

    /// Starts the lane, unless there is one or nothing is expected.
    pub(super) fn start(&mut self, engine: &Engine) {
        self.retired = None;
        let Some(expected) = self.expected.as_ref().filter(|_| self.lane.is_none()) else { return };
        let staged = engine.staged(expected).map_err(|e| platform(&e));
        match staged
            .and_then(|staged| LaneProcess::start(engine, expected, &staged, self.core).map_err(|e| platform(&e)))
        {
            Ok(lane) => self.lane = Some(lane),
            Err(error) => {
                // The next shard starts its own and tells what is wrong.
                tracing::debug!(%error, "no spare lane");
                self.expected = None;
            }
        }
    }
}
