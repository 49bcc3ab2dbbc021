//! Location of a job's policy, and its preparation for an episode.

use std::path::PathBuf;
use std::time::Duration;

use assay_model::{JobId, RuntimeVersion};
use assay_policy::remote::{ConnectOutcome, PendingConnection, PolicyServer};
use assay_policy::{
    LoadOutcome, LoadRequest, PolicyAdapter, PolicyConnection, PolicyDeclaration, PolicyFailure, PolicyHome,
    PreparingPolicy, ProcessBudget, TakeError,
};
use assay_scenario::Scenario;

use crate::Engine;
use crate::episode::adapter_mapping::{adapter_mismatch, mismatch};
use crate::episode::session_error::SessionError;

/// An unpacked policy, to be run in a jail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyFolder {
    /// Its folder, as created by [`assay_policy::intake`].
    pub path: PathBuf,
    /// The runtime to run it in; `None` for the installed `base`.
    pub runtime: Option<RuntimeVersion>,
    /// The origin of its processes, shared by its episodes, with the models that are not in the folder.
    pub home: PolicyHome,
}

/// The location of a job's policy.
#[derive(Debug, Clone)]
pub enum PolicySource {
    /// An unpacked policy.
    Folder(PolicyFolder),
    /// A policy server that may serve a limited number of episodes at the same time.
    Server {
        /// Address and protocol of the server.
        server: PolicyServer,
        /// Maximum number of simultaneous episodes, at least 1.
        concurrency: u32,
    },
    /// A policy server that connects to this process; it serves one episode at a time.
    Connected {
        /// The job whose policy it is.
        job: JobId,
        /// Number of actions of an answer that are executed before the next request; all of them if absent.
        replan_steps: Option<u32>,
    },
}

impl PolicyFolder {
    /// Returns the failure of a policy that declares something other than what the scenario has.
    fn mismatch(&self, scenario: &Scenario) -> Option<PolicyFailure> {
        match PolicyAdapter::of_folder(&self.path) {
            Ok(adapter) => adapter_mismatch(&adapter?, scenario),
            Err(message) => Some(mismatch(&message)),
        }
    }
}

impl PolicySource {
    /// Returns the declared number of actions that are executed before the policy computes again: the `replan_steps` of
    /// a policy's files or of a server.
    pub(crate) fn replan_steps(&self) -> Option<u32> {
        match self {
            Self::Folder(folder) => PolicyDeclaration::replan_steps_of(&folder.path),
            Self::Server { server, .. } => server.replan_steps,
            Self::Connected { replan_steps, .. } => *replan_steps,
        }
    }

    /// Returns the number of lanes for `episodes` episodes if `lanes` could run: as many as a server allows, since they
    /// mostly wait for it.
    pub(crate) fn lanes(&self, lanes: usize, episodes: usize) -> usize {
        let wanted = match self {
            Self::Folder(_) => lanes,
            Self::Server { concurrency, .. } => *concurrency as usize,
            Self::Connected { .. } => 1,
        };
        wanted.clamp(1, episodes.max(1))
    }

    /// Starts the preparation that is possible before the episode's turn: an import, but no connection, since a server
    /// may accept only one and the previous episode may still hold it. With `patience`, an import that takes longer is
    /// given up. Secret worlds have separate interpreters.
    pub(crate) fn prepare(
        &self,
        engine: &Engine,
        scenario: &Scenario,
        (seed, core, is_secret): (u64, usize, bool),
        patience: Option<Duration>,
    ) -> Result<PendingPolicy, SessionError> {
        match self {
            Self::Folder(folder) => {
                if let Some(failure) = folder.mismatch(scenario) {
                    return Ok(PendingPolicy::Unsuitable(Box::new(failure)));
                }
                let pools = engine.pools().map_err(SessionError::of)?;
                let pool = pools.of(folder.runtime.as_ref(), is_secret).map_err(SessionError::of)?;
                let allowance = allowance(scenario);
                let (policy_dir, home) = (folder.path.clone(), folder.home.clone());
                let (core, replan_steps) = (Some(core), self.replan_steps());
                let order = LoadRequest { policy_dir, home, seed, core, allowance, replan_steps, patience };
                pool.prepare(order).map(PendingPolicy::Jailed).map_err(SessionError::of)
            }
            Self::Server { server, .. } => Ok(PendingPolicy::Server(server.clone())),
            Self::Connected { job, replan_steps } => {
                Ok(PendingPolicy::Expected { job: *job, replan_steps: *replan_steps })
            }
        }
    }
}

/// Returns a policy's resource limits in an episode of the scenario.
fn allowance(scenario: &Scenario) -> ProcessBudget {
    let budget = &scenario.budget;
    ProcessBudget {
        import_cpu: Duration::from_secs_f64(budget.import_cpu_ms / 1e3),
        cpu_s: budget.most_cpu_s(scenario.control_steps()),
        memory_bytes: u64::from(budget.memory_mib) << 20,
    }
}

/// A policy being prepared for its episode.
pub(crate) enum PendingPolicy {
    Jailed(PreparingPolicy),
    Server(PolicyServer),
    /// A policy server that connects to this process.
    Expected {
        job: JobId,
        replan_steps: Option<u32>,
    },
    Connecting(PendingConnection),
    /// The policy does not fit the scenario, so nothing is started.
    Unsuitable(Box<PolicyFailure>),
}

/// The outcome of preparing a policy.
pub(crate) enum PolicyStart {
    Ready(Box<dyn PolicyConnection>),
    Failed(Box<PolicyFailure>),
    /// Another process stopped or killed it before it was imported; the caller should try again.
    Disturbed(String),
    /// Its import exceeded the caller's time limit; contains the CPU time used until then.
    GivenUp(Duration),
}

impl PendingPolicy {
    /// Begins the episode's turn.
    pub(crate) fn begin(self, engine: &Engine) -> Result<Self, SessionError> {
        match self {
            Self::Server(server) => engine.remote().connect(&server).map(Self::Connecting).map_err(SessionError::of),
            Self::Expected { job, replan_steps } => {
                engine.remote().expect(job, replan_steps).map(Self::Connecting).map_err(SessionError::of)
            }
            begun => Ok(begun),
        }
    }

    pub(crate) fn is_done(&mut self) -> bool {
        match self {
            Self::Jailed(prepared) => prepared.is_done(),
            Self::Server(_) | Self::Expected { .. } | Self::Unsuitable(_) => true,
            Self::Connecting(connecting) => connecting.is_done(),
        }
    }

    /// Waits for the policy; call [`Self::begin`] first.
    pub(crate) fn wait(self) -> Result<PolicyStart, SessionError> {
        match self {
            Self::Jailed(prepared) => match prepared.wait() {
                Ok(LoadOutcome::Ready(policy)) => Ok(PolicyStart::Ready(policy)),
                Ok(LoadOutcome::Failed(failure)) => Ok(PolicyStart::Failed(failure)),
                Err(TakeError::Disturbed(evidence)) => Ok(PolicyStart::Disturbed(evidence)),
                Err(TakeError::GivenUp { cpu }) => Ok(PolicyStart::GivenUp(cpu)),
                Err(error) => Err(SessionError::of(error)),
            },
            Self::Connecting(connecting) => match connecting.wait() {
                ConnectOutcome::Ready(policy) => Ok(PolicyStart::Ready(policy)),
                ConnectOutcome::Failed(failure) => Ok(PolicyStart::Failed(failure)),
                ConnectOutcome::Elsewhere => Err(SessionError::PolicyElsewhere),
            },
            Self::Unsuitable(failure) => Ok(PolicyStart::Failed(failure)),
            Self::Server(_) | Self::Expected { .. } => {
                Err(SessionError::internal("the policy server was never connected to"))
            }
        }
    }
}
