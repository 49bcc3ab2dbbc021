//! The episode loop.

use std::io;
use std::time::Duration;

use assay_model::frame::Init;
use assay_model::lane::{Done, Probe, Probed, RunEpisode};
use assay_model::{EpisodeError, EpisodeResult, EpisodeStatus, PolicyErrorCode, Termination};
use assay_scenario::Scenario;
use assay_sim::{CompiledScenario, Simulation, TraceHash, Unstable};
use assay_stl::TraceEnd;

use crate::Trace;
use crate::assess::{Assessment, TaskWatch, assess};
use crate::episode_events::EpisodeEvents;
use crate::evidence::EvidenceError;
use crate::facts::facts;
use crate::feedback::Feedback;
use crate::inputs::InputRecorder;
use crate::latency::Latencies;
use crate::meter::{Meter, Part, ms};
use crate::observation_recorder::ObservationRecorder;
use crate::policy_link::{LinkError, PolicyLink, PolicyReply, PolicyTermination};
use crate::rollout::Rollout;
use crate::step_error::StepError;
use crate::watch::ClauseWatch;

/// The end of an episode.
#[derive(Debug)]
enum Ending {
    Success,
    TimeLimit,
    TerminalClause,
    Policy(PolicyTermination),
    Unstable(Unstable),
}

/// The link's own record of the policy.
struct PolicyUse {
    /// Control steps over the budget.
    misses: u32,
    cpu: Duration,
    /// Number of actions in the longest answer, if there was one.
    chunk: Option<u32>,
}

/// The mutable state of a running episode.
struct EpisodeRun<'a> {
    scenario: &'a Scenario,
    simulation: Simulation,
    watch: TaskWatch<'a>,
    clauses: ClauseWatch<'a>,
    trace: Trace,
    inputs: InputRecorder,
    start_state: Vec<f64>,
    hash: TraceHash,
    latencies: Latencies,
    steps: u32,
    clipped: u32,
    meter: Meter,
    recorder: Option<ObservationRecorder>,
    probe: Option<Probe>,
    probed: Probed,
    feedback: Option<Feedback>,
}

/// Runs one episode with the policy behind `link`, which stays open; `recorder` receives its observations and actions.
///
/// # Errors
/// [`StepError`] if an image for the policy cannot be rendered, or the worker is gone: not the policy's fault.
pub(crate) fn run(
    world: &CompiledScenario,
    mut simulation: Simulation,
    (run, recorder): (&RunEpisode, Option<ObservationRecorder>),
    link: &mut PolicyLink,
    meter: Meter,
    events: &mut dyn EpisodeEvents,
) -> Result<Rollout, StepError> {
    let scenario = world.scenario();
    let init = Init {
        seed: run.seeds.policy,
        scenario: scenario.id.to_string(),
        instruction: scenario.instruction.clone(),
        observation: simulation.observation_spec(),
        action_dim: u32::try_from(scenario.control.action.len()).unwrap_or(u32::MAX),
    };
    let rows = scenario.control_steps() as usize * scenario.decimation() as usize;
    let trace = Trace::new(&simulation, &scenario.signal_names(), rows);
    let environment = link.environment();
    let feedback = environment.map(|wanted| Feedback::start(scenario, &mut simulation, wanted.pictures)).transpose()?;
    let mut running = EpisodeRun {
        watch: TaskWatch::new(scenario),
        hash: simulation.start_hash(),
        inputs: InputRecorder::new(&simulation),
        start_state: simulation.integration_state().to_vec(),
        scenario,
        simulation,
        clauses: ClauseWatch::new(scenario),
        trace,
        latencies: Latencies::default(),
        steps: 0,
        clipped: 0,
        meter,
        recorder,
        probe: run.probe,
        probed: Probed { observation: init.observation.clone(), ..Probed::default() },
        feedback,
    };
    let ready = link.start(&init, events);
    running.meter.lap(Part::Policy);
    let ending = match ready {
        Ok(()) => {
            let ending = running.play(link, events)?;
            running.send_last(&ending, link, events)?;
            ending
        }
        Err(LinkError::Policy(fault)) => Ending::Policy(fault),
        Err(LinkError::Control(error)) => return Err(error.into()),
    };
    let used = PolicyUse { misses: link.misses(), cpu: link.cpu_used(), chunk: link.chunk() };
    let recorder = running.recorder.take();
    let observations = recorder.map(ObservationRecorder::finish).transpose().map_err(EvidenceError::from)?;
    let mut rollout = running.conclude(run, ending, used, events)?;
    rollout.done.observations = observations;
    Ok(rollout)
}

impl EpisodeRun<'_> {
    fn play(&mut self, link: &mut PolicyLink, events: &mut dyn EpisodeEvents) -> Result<Ending, StepError> {
        let mut observation = Vec::new();
        let mut action = vec![0.0; self.scenario.control.action.len()];
        for step in 0..self.scenario.control_steps() {
            self.observe(step, &mut observation)?;
            self.meter.lap(Part::Observation);
            let answer = link.ask(&observation, &mut action, events);
            self.meter.lap(Part::Policy);
            if step == 0 {
                self.meter.first_action();
            }
            match answer {
                Ok(answered) => {
                    self.latencies.add(answered.latency);
                    self.trace.latency_ms.push(ms(answered.latency));
                    self.record_reply(answered, &action);
                    if let Some(recorder) = &mut self.recorder {
                        recorder.push(&observation, &action).map_err(EvidenceError::from)?;
                        self.meter.lap(Part::Clauses);
                    }
                }
                Err(LinkError::Policy(fault)) => return Ok(Ending::Policy(fault)),
                Err(LinkError::Control(error)) => return Err(error.into()),
            }
            if let Some(ending) = self.control_step(&action, events)? {
                return Ok(ending);
            }
            events.progress(self.steps)?;
            if self.has_seen_enough(events)? {
                break;
            }
        }
        Ok(Ending::TimeLimit)
    }

    /// Writes the observation before control step `step`, between the parts of an environment's feedback.
    fn observe(&mut self, step: u32, observation: &mut Vec<u8>) -> Result<(), StepError> {
        observation.clear();
        let period_s = 1.0 / self.scenario.world.control_hz;
        let time_s = f64::from(step) * period_s;
        let remaining_s = f64::from(self.scenario.time_limit_s) - time_s;
        if let Some(feedback) = &self.feedback {
            feedback.write_numbers(&self.watch, self.simulation.sample()[0], observation);
        }
        observation.extend_from_slice(&time_s.to_le_bytes());
        observation.extend_from_slice(&remaining_s.to_le_bytes());
        self.simulation.observe(observation)?;
        self.blacken(observation);
        if let Some(feedback) = &mut self.feedback {
            feedback.write_picture(&mut self.simulation, observation)?;
        }
        Ok(())
    }

    /// Sends an environment the observation after its last action, unless it left.
    fn send_last(
        &mut self,
        ending: &Ending,
        link: &mut PolicyLink,
        events: &mut dyn EpisodeEvents,
    ) -> Result<(), StepError> {
        if self.feedback.is_some() && !matches!(ending, Ending::Policy(_)) {
            let mut observation = Vec::new();
            self.observe(self.steps, &mut observation)?;
            link.send_last(&observation, events);
        }
        Ok(())
    }

    /// Makes the images of an observation black, and their depths zero, if requested.
    fn blacken(&self, observation: &mut [u8]) {
        if !self.probe.is_some_and(|probe| probe.black_images) {
            return;
        }
        // The images follow the two time values.
        let mut rest = observation.get_mut(16..).unwrap_or_default();
        for spec in &self.probed.observation {
            let bytes = spec.size_bytes().min(rest.len());
            let (array, others) = std::mem::take(&mut rest).split_at_mut(bytes);
            if spec.dtype.is_picture() {
                array.fill(0);
            }
            rest = others;
        }
    }

    fn record_reply(&mut self, answered: PolicyReply, action: &[f64]) {
        if self.probe.is_some() {
            self.probed.actions.push(action.to_vec());
            self.probed.latency_ms.push(ms(answered.latency));
            self.probed.cpu_ms.extend(answered.cpu.map(ms));
        }
    }

    fn has_seen_enough(&self, events: &mut dyn EpisodeEvents) -> io::Result<bool> {
        match self.probe {
            Some(probe) => Ok(self.steps >= probe.max_steps || events.is_concluded()?),
            None => Ok(false),
        }
    }

    /// Runs the physics under one action; returns `Some` if it ends the episode.
    fn control_step(&mut self, action: &[f64], events: &mut dyn EpisodeEvents) -> io::Result<Option<Ending>> {
        self.clipped += u32::from(self.simulation.act(action));
        let control_step = i32::try_from(self.steps).unwrap_or(i32::MAX);
        let mut terminal = false;
        if let Some(feedback) = &mut self.feedback {
            feedback.begin_step();
        }
        for _ in 0..self.scenario.decimation() {
            let outcome = self.simulation.advance();
            self.meter.lap(Part::Physics);
            if let Err(unstable) = outcome {
                return Ok(Some(Ending::Unstable(unstable)));
            }
            self.simulation.measure();
            self.meter.lap(Part::Signals);
            self.trace.push(&self.simulation, control_step);
            self.inputs.push(&self.simulation);
            if let Some(feedback) = &mut self.feedback {
                feedback.push(self.simulation.sample());
            }
            if self.clauses.push(self.simulation.sample()) {
                terminal |= self.clauses.ends_episode();
                self.clauses.report(events)?;
            }
            self.meter.lap(Part::Clauses);
            if terminal {
                break;
            }
        }
        self.steps += 1;
        let action = self.simulation.action().to_vec();
        self.hash.step(self.simulation.integration_state(), &action);
        self.trace.hashes.push(*self.hash.digest().as_bytes());
        self.meter.lap(Part::Hash);
        if terminal {
            return Ok(Some(Ending::TerminalClause));
        }
        let success = self.watch.update(self.simulation.sample());
        self.meter.lap(Part::Clauses);
        Ok(success.then_some(Ending::Success))
    }

    fn conclude(
        mut self,
        run: &RunEpisode,
        ending: Ending,
        PolicyUse { misses, cpu, chunk }: PolicyUse,
        events: &mut dyn EpisodeEvents,
    ) -> io::Result<Rollout> {
        let time_s = self.trace.signals().first().and_then(|time| time.last().copied()).unwrap_or_default();
        let success = match ending {
            Ending::Success => true,
            Ending::TimeLimit => self.scenario.success.at_end && self.watch.succeeded(time_s),
            Ending::TerminalClause | Ending::Policy(_) | Ending::Unstable(_) => false,
        };
        let end =
            if matches!(ending, Ending::Success | Ending::TimeLimit) { TraceEnd::Complete } else { TraceEnd::Cut };
        let Assessment { clauses, violations, unsafe_time_s } =
            assess(self.scenario, &self.trace, Some(&self.simulation), end);
        // Reports the violations that only the end of the episode settles, before its result is written.
        self.clauses.settle(&violations);
        self.clauses.report(events)?;
        self.meter.lap(Part::Clauses);
        let (status, termination, error) = outcome(ending);
        let scenario = self.scenario;
        let result = EpisodeResult {
            episode: run.episode,
            seed: run.seeds.policy,
            status,
            termination,
            success,
            progress_score: 0.0,
            safety_score: 0.0,
            composite_score: 0.0,
            steps: self.steps,
            sim_time_s: f64::from(u32::try_from(self.trace.rows()).unwrap_or(u32::MAX)) * scenario.world.timestep_s,
            wall_time_s: self.meter.elapsed().as_secs_f64(),
            stages: self.watch.stages(),
            clauses,
            violations,
            unsafe_time_s,
            policy_latency_ms: self.latencies.summary(),
            deadline_misses: misses,
            clipped_actions: self.clipped,
            chunk,
            video_path: None,
            log_path: None,
            log_type: None,
            trace_hash: Some(self.hash.digest()),
            world_sha256: Some(scenario.world_sha256(self.simulation.draw())),
            judge: None,
            error,
            evidence: Vec::new(),
            evidence_notes: Vec::new(),
            replaced_attempts: Vec::new(),
            unconfirmed: Vec::new(),
        };
        let weights: Vec<f64> = scenario.clauses.iter().map(|clause| clause.weight).collect();
        let scales: Vec<f64> = scenario.clauses.iter().map(|clause| clause.scale).collect();
        self.trace.facts = facts(scenario, (run.episode, run.seeds), &self.simulation);
        self.trace.inputs = self.inputs.finish();
        let cost = self.meter.cost(cpu);
        let probed = self.probe.map(|_| self.probed);
        let done = Done { result: result.scored(&weights, &scales), cost, probed, observations: None };
        Ok(Rollout { done, trace: self.trace, start_state: self.start_state, simulation: self.simulation })
    }
}

fn outcome(ending: Ending) -> (EpisodeStatus, Termination, Option<EpisodeError>) {
    match ending {
        Ending::Success => (EpisodeStatus::Completed, Termination::Success, None),
        Ending::TimeLimit => (EpisodeStatus::Completed, Termination::TimeLimit, None),
        Ending::TerminalClause => (EpisodeStatus::Completed, Termination::TerminalClause, None),
        Ending::Policy(PolicyTermination::Error(error)) => {
            (EpisodeStatus::PolicyError, Termination::PolicyError, Some(error))
        }
        Ending::Policy(PolicyTermination::Timeout(error)) => {
            (EpisodeStatus::PolicyTimeout, Termination::PolicyTimeout, Some(error))
        }
        Ending::Unstable(unstable) => {
            let (code, message) = (PolicyErrorCode::Unstable, unstable.to_string());
            let error = EpisodeError { code, message, log_tail: String::new() };
            (EpisodeStatus::Invalid, Termination::Unstable, Some(error))
        }
    }
}
