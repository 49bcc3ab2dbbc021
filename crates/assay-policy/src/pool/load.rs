//! Loads a policy into a member: HELLO, LOAD, and LOADED or a failure.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_jail::{Child, SleepWatch, SpawnError, WorkLimit, WorkWatch};
use assay_model::PolicyErrorCode;
use assay_model::frame::{FrameKind, Hello, Load, PROTOCOL, PolicyFault};

use super::config::ProcessBudget;
use super::error::TakeError;
use super::home::PolicyHome;
use super::shared::{IdleMember, PoolShared};
use crate::failure::killed_from_outside;
use crate::frames::{ReceiveError, receive, send};
use crate::grace::end_within;
use crate::process::ImportedPolicy;
use crate::{PolicyFailure, PolicyProcess};

/// Maximum number of members found dead before loading fails, because something kills them.
const MAX_DEAD: usize = 3;
/// Exit status of a forked process that could not make its jail (see `python/runner/fork_server.py`).
const NO_JAIL: i32 = 70;
/// The same for a shortage that may pass.
const SHORTAGE: i32 = 71;
/// Memory beyond its limit that a policy with models may have written: the loader of libraries writes the addresses in
/// their tables and then makes them read-only, which the kernel's limit of writable memory does not count.
const RELOCATED_BYTES: u64 = 64 << 20;
/// Time for a process that closed its stream to end before it is killed, at work or asleep.
const EXIT_LIMIT: Duration = Duration::from_secs(1);
/// The same for one that reported a failure.
const FAILED_LIMIT: Duration = Duration::from_millis(100);

/// A policy to load, and its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadRequest {
    /// Its folder, as created by [`crate::intake`].
    pub policy_dir: PathBuf,
    /// The origin of its processes, shared by all its loads.
    pub home: PolicyHome,
    /// The seed of `random` and `numpy.random`.
    pub seed: u64,
    /// The processor to run on.
    pub core: Option<usize>,
    /// Its resources.
    pub allowance: ProcessBudget,
    /// Number of actions of an answer that are executed before it is asked again; all of them if absent.
    pub replan_steps: Option<u32>,
    /// CPU time and sleep, in all, after which the import is abandoned, if the caller sets a limit.
    pub patience: Option<Duration>,
}

/// The outcome of loading a policy.
#[derive(Debug)]
pub enum LoadOutcome {
    /// The policy is loaded and waits for its first episode.
    Ready(Box<PolicyProcess>),
    /// The policy is at fault.
    Failed(Box<PolicyFailure>),
}

/// Implements [`super::Pool::take`]. Stops when `is_cancelled` returns true.
pub(super) fn take(
    shared: &Arc<PoolShared>,
    order: &LoadRequest,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<LoadOutcome, TakeError> {
    let ProcessBudget { import_cpu, cpu_s, memory_bytes } = order.allowance;
    let mut idle = warm(shared, &order.home, is_cancelled)?;
    idle.member.slot.fill(&order.policy_dir).map_err(TakeError::Files)?;
    if let Some(core) = order.core {
        // A processor that was taken offline affects speed, not results.
        drop(idle.member.child.pin(core));
    }
    let nonce = crate::random_number().map_err(TakeError::Random)?;
    let cpu_limit = Duration::from_secs(cpu_s.min(shared.config.limits.cpu_s));
    let sleep = SleepWatch::new(crate::random_number().map_err(TakeError::Random)?);
    let patience = order.patience.map(|limit| WorkWatch::of(WorkLimit::together(limit), &idle.member.child));
    let patience = patience.transpose().map_err(TakeError::Random)?;
    let mut import = Import::begin(shared, (import_cpu, patience), (&idle.member.child, sleep));
    let memory_bytes = memory_bytes.saturating_add(shared.config.runtime.manifest.address_space_bytes);
    let model_bytes = order.home.model_bytes();
    if model_bytes > 0 {
        let limit = memory_bytes.saturating_add(RELOCATED_BYTES);
        idle.member.child.limit_memory(limit).map_err(TakeError::Watch)?;
    }
    let request = Load { seed: order.seed, cpu_s, memory_bytes, model_bytes, replan_steps: order.replan_steps };
    let request = serde_json::to_vec(&request).unwrap_or_default();
    if send(&mut idle.stream, FrameKind::Load, nonce, &request).is_err() {
        return Ok(failed(exited(&mut idle, cpu_limit)?, &mut idle));
    }
    let answer = receive(&mut idle.stream, || import.watch(&idle.member.child, is_cancelled));
    let cpu = import.cpu(&idle.member.child);
    let failure = match answer {
        Ok((header, _)) if header.nonce == nonce && header.kind == FrameKind::Loaded => {
            let imported = ImportedPolicy { cpu, ends_at: import.cpu_at_start + import_cpu, cpu_limit };
            return Ok(LoadOutcome::Ready(Box::new(PolicyProcess::new(idle.stream, nonce, imported, idle.member))));
        }
        Ok((header, payload)) if header.nonce == nonce && header.kind == FrameKind::Error => PolicyFault::of_runner(
            &payload,
        )
        .map_or_else(|| protocol("an error that is not the runner's"), |fault| PolicyFailure::from_fault(&fault)),
        Ok(_) => protocol("an unexpected frame"),
        Err(ReceiveError::Frame(error)) => protocol(&error.to_string()),
        Err(ReceiveError::Closed) => exited(&mut idle, cpu_limit)?,
        Err(ReceiveError::Watch(Stop::Failed(failure))) => failure,
        Err(ReceiveError::Watch(Stop::GivenUp)) => return Err(TakeError::GivenUp { cpu }),
        Err(ReceiveError::Watch(Stop::Ours(error))) => return Err(error),
    };
    Ok(failed(failure, &mut idle))
}

fn failed(failure: PolicyFailure, idle: &mut IdleMember) -> LoadOutcome {
    // The log is complete only after the process has ended.
    end_within(&mut idle.member.child, FAILED_LIMIT);
    LoadOutcome::Failed(Box::new(failure.with_log(&idle.member.child.output_tail())))
}

fn protocol(what: &str) -> PolicyFailure {
    let message = format!("the policy wrote to the stream that only its runner may use: {what}");
    PolicyFailure::observed(PolicyErrorCode::Protocol, message)
}

/// Handles an exit without an answer, which is the policy's fault unless another process killed it.
fn exited(idle: &mut IdleMember, cpu_limit: Duration) -> Result<PolicyFailure, TakeError> {
    let exit = ended(idle);
    match killed_from_outside(&exit, Some(cpu_limit)) {
        Some(evidence) => Err(TakeError::Disturbed(evidence)),
        None => Ok(PolicyFailure::exited(&exit, Some(cpu_limit))),
    }
}

fn ended(idle: &mut IdleMember) -> assay_jail::Exit {
    end_within(&mut idle.member.child, EXIT_LIMIT)
}

/// Returns a member that has sent HELLO. Members that other processes killed say nothing about the runner.
fn warm(shared: &Arc<PoolShared>, home: &PolicyHome, is_cancelled: &dyn Fn() -> bool) -> Result<IdleMember, TakeError> {
    let mut log = String::new();
    let mut disturbed = None;
    for _ in 0..MAX_DEAD {
        let mut idle = home.member(shared, is_cancelled)?;
        if let Err(error) = idle.member.child.compete() {
            tracing::warn!(%error, "could not raise priority of the policy's process");
        }
        let end = Instant::now() + shared.config.load.start_wall;
        let hello = receive(&mut idle.stream, || match is_cancelled() {
            true => Some(Some(TakeError::Cancelled)),
            false => (Instant::now() > end).then_some(None),
        });
        match hello {
            Ok((header, payload)) if header.kind == FrameKind::Hello => match greeting(shared, &payload) {
                Ok(()) => return Ok(idle),
                Err(why) => {
                    idle.member.child.kill();
                    (log, disturbed) = (why.to_owned(), None);
                }
            },
            Err(ReceiveError::Watch(Some(error))) => return Err(error),
            _ => {
                let exit = ended(&mut idle);
                disturbed = killed_from_outside(&exit, None);
                log = crate::failure::log_text(&idle.member.child.output_tail());
                if idle.is_forked && exit.code == Some(NO_JAIL) {
                    // A removed model says nothing about forking.
                    if let Some(path) = home.removed_model() {
                        return Err(SpawnError::NoSource { path }.into());
                    }
                    shared.stop_forking(log.trim());
                }
                if idle.is_forked && exit.code == Some(SHORTAGE) {
                    disturbed = Some(format!("the machine was short of something: {}", log.trim()));
                }
                log = format!("{exit} {}", log.trim());
            }
        }
    }
    Err(disturbed.map_or(TakeError::Runner { log }, TakeError::Disturbed))
}

/// Checks the greeting of a member, sent before it has read anything untrusted: until then only the runner and the
/// libraries of its read-only root have run in it, so it can be trusted. A member that is not sealed receives no
/// policy.
fn greeting(shared: &PoolShared, payload: &[u8]) -> Result<(), &'static str> {
    match serde_json::from_slice::<Hello>(payload) {
        Ok(hello) if hello.protocol != PROTOCOL => Err("it speaks another protocol"),
        Ok(hello) if shared.jail.has_landlock() && !hello.sealed => Err("it did not seal itself with Landlock"),
        Ok(_) => Ok(()),
        Err(_) => Err("its greeting is invalid"),
    }
}

enum Stop {
    Failed(PolicyFailure),
    GivenUp,
    Ours(TakeError),
}

/// The clocks of an import.
struct Import {
    cpu_at_start: Duration,
    cpu_limit: Duration,
    /// Most time asleep.
    sleep_limit: Duration,
    sleep: SleepWatch,
    patience: Option<WorkWatch>,
}

impl Import {
    fn begin(
        shared: &PoolShared,
        (cpu_limit, patience): (Duration, Option<WorkWatch>),
        (child, mut sleep): (&Child, SleepWatch),
    ) -> Self {
        sleep.begin(Instant::now(), Duration::ZERO);
        Self {
            cpu_at_start: child.cpu_time().unwrap_or_default(),
            cpu_limit,
            sleep_limit: shared.config.load.import_wall,
            sleep,
            patience,
        }
    }

    fn cpu(&self, child: &Child) -> Duration {
        child.cpu_time().unwrap_or_default().saturating_sub(self.cpu_at_start)
    }

    fn watch(&mut self, child: &Child, is_cancelled: &dyn Fn() -> bool) -> Option<Stop> {
        if is_cancelled() {
            return Some(Stop::Ours(TakeError::Cancelled));
        }
        let timeout = |message| Some(Stop::Failed(PolicyFailure::observed(PolicyErrorCode::ImportTimeout, message)));
        if self.cpu(child) > self.cpu_limit {
            let limit = self.cpu_limit.as_secs_f64();
            return timeout(format!(
                "importing policy.py took more than {limit} s of CPU time; move work into reset()"
            ));
        }
        if self.patience.as_mut().is_some_and(|work| work.check(child).is_some()) {
            return Some(Stop::GivenUp);
        }
        self.sleep.sample(Instant::now(), || child.activity());
        if self.sleep.stopped() > self.sleep_limit {
            let evidence = format!("its process was stopped for {} s", self.sleep_limit.as_secs());
            return Some(Stop::Ours(TakeError::Disturbed(evidence)));
        }
        // An import that waits for a processor is not timed out: a busy machine only delays it.
        (self.sleep.asleep() > self.sleep_limit)
            .then(|| {
                let limit = self.sleep_limit.as_secs();
                timeout(format!("importing policy.py slept for {limit} s; does it wait for something?"))
            })
            .flatten()
    }
}
