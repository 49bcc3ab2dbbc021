//! Contents of an episode's log, in the order of writing.

use std::path::Path;

use assay_model::EpisodeResult;
use assay_scenario::Scenario;
use assay_sim::{Body, Simulation};
use foxglove::messages::{FrameTransforms, JointStates, Log, SceneUpdate};

use super::gather::Gather;
use super::messages::{Action, ClauseMessage, Contacts, Latency, SignalMessage};
use super::scene;
use super::story::{Line, story};
use super::topics::{LogError, Topic, Topics};
use crate::Trace;
use crate::facts;

/// The log of a replayed episode.
pub(crate) struct EpisodeLog<'a> {
    topics: Topics,
    trace: &'a Trace,
    bodies: Vec<Body>,
    gather: Gather<'a>,
    /// Remaining lines of text, the next one last.
    story: Vec<Line>,
    transforms: Topic<FrameTransforms>,
    joints: Topic<JointStates>,
    actions: Topic<Action>,
    latencies: Topic<Latency>,
    contacts: Topic<Contacts>,
    signals: Vec<Topic<SignalMessage>>,
    clauses: Vec<Topic<ClauseMessage>>,
    lines: Topic<Log>,
}

impl<'a> EpisodeLog<'a> {
    /// Creates the log at `path`. The simulation must be at the episode's start.
    pub(crate) fn create(
        path: &Path,
        scenario: &Scenario,
        simulation: &Simulation,
        trace: &'a Trace,
        result: &EpisodeResult,
    ) -> Result<Self, LogError> {
        let mut topics = Topics::create(path)?;
        topics.metadata("assay", &facts::known(&trace.facts, scenario))?;
        topics.attach("episode.json", "application/json", &serde_json::to_vec_pretty(result).unwrap_or_default())?;
        let bodies = simulation.bodies();
        let (scene, left_out) = scene::scene(&bodies);
        let mut transforms = topics.topic("/tf", &[])?;
        let mut shapes = topics.topic::<SceneUpdate>("/scene", &[])?;
        topics.write(&mut transforms, 0.0, &scene::transforms(simulation, &bodies, false, 0.0))?;
        topics.write(&mut shapes, 0.0, &scene)?;
        let names: Vec<&str> = scenario.control.action.iter().map(|action| action.name.as_str()).collect();
        let units: Vec<&str> = scenario.control.action.iter().map(|action| action.unit.as_str()).collect();
        let signal = |topics: &mut Topics, name: &str| topics.topic(&format!("/signals/{name}"), &[]);
        let signals = scenario.signal_names().into_iter().filter(|name| *name != "time");
        let signals = signals.map(|name| signal(&mut topics, name)).collect::<Result<_, _>>()?;
        let clauses = scenario.clauses.iter().map(|clause| clause_topic(&mut topics, clause));
        let clauses = clauses.collect::<Result<_, _>>()?;
        let end_s = trace.signals().first().and_then(|time| time.last().copied()).unwrap_or_default();
        let mut lines = story(result, end_s);
        let start = format!("episode {} of {} {}", result.episode, scenario.id, scenario.version);
        lines.insert(0, Line::info(0.0, start));
        if left_out > 0 {
            lines.insert(1, Line::info(0.0, format!("{left_out} shapes have no form that /scene can show")));
        }
        lines.reverse();
        Ok(Self {
            actions: topics.topic("/action", &[("names", &names.join(" ")), ("units", &units.join(" "))])?,
            latencies: topics.topic("/policy/latency", &[("unit", "ms")])?,
            contacts: topics.topic("/contacts", &[])?,
            joints: topics.topic("/joints", &[])?,
            lines: topics.topic("/log", &[])?,
            gather: Gather::new(scenario, simulation, trace),
            story: lines,
            transforms,
            topics,
            trace,
            bodies,
            signals,
            clauses,
        })
    }

    /// Writes the state after the first physics step of a control step: `row` of the trace.
    pub(crate) fn begin(&mut self, simulation: &Simulation, row: usize, control_step: usize) -> Result<(), LogError> {
        let time_s = self.trace.columns[0][row];
        let transforms = scene::transforms(simulation, &self.bodies, true, time_s);
        self.topics.write(&mut self.transforms, time_s, &transforms)?;
        let joints = scene::joint_states(simulation, self.trace, row, time_s);
        self.topics.write(&mut self.joints, time_s, &joints)?;
        let values = self.trace.group("action").iter().map(|column| column[row]).collect();
        self.topics.write(&mut self.actions, time_s, &Action { values })?;
        if let Some(latency_ms) = self.trace.latency_ms.get(control_step) {
            self.topics.write(&mut self.latencies, time_s, &Latency { latency_ms: *latency_ms })?;
        }
        Ok(())
    }

    /// Processes a physics step.
    pub(crate) fn step(&mut self, simulation: &Simulation, row: usize) -> Result<(), LogError> {
        let time_s = self.trace.columns[0][row];
        self.gather.add(simulation, time_s);
        while self.story.last().is_some_and(|line| line.time_s <= time_s) {
            if let Some(line) = self.story.pop() {
                // Never earlier than a message already written.
                self.topics.write(&mut self.lines, time_s, &line.message())?;
            }
        }
        Ok(())
    }

    /// Completes a control step after its last physics step.
    pub(crate) fn end(&mut self, row: usize) -> Result<(), LogError> {
        let time_s = self.trace.columns[0][row];
        let (contacts, signals, clauses) = self.gather.take(row);
        self.topics.write(&mut self.contacts, time_s, &contacts)?;
        for (topic, signal) in self.signals.iter_mut().zip(&signals) {
            self.topics.write(topic, time_s, signal)?;
        }
        for (topic, clause) in self.clauses.iter_mut().zip(&clauses) {
            self.topics.write(topic, time_s, clause)?;
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<(), LogError> {
        // Without a physics step there was no earlier time to write them at.
        while let Some(line) = self.story.pop() {
            self.topics.write(&mut self.lines, line.time_s, &line.message())?;
        }
        self.topics.finish()
    }
}

fn clause_topic(topics: &mut Topics, clause: &assay_scenario::Clause) -> Result<Topic<ClauseMessage>, LogError> {
    let limit = clause.limit.to_string();
    let facts = [
        ("unit", clause.unit.as_str()),
        ("limit", &limit),
        ("level", clause.level.as_str()),
        ("standard", &clause.standard),
        ("title", &clause.title),
    ];
    topics.topic(&format!("/clauses/{}", clause.id), &facts)
}
