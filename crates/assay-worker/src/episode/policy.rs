//! Where a job's policy is, and how it gets ready for an episode.

use std::path::PathBuf;
use std::time::Duration;

use assay_policy::remote::{ConnectOutcome, PendingConnection, PolicyServer};
use assay_policy::{
    LoadOutcome, LoadRequest, PolicyConnection, PolicyFailure, PreparingPolicy, ProcessBudget, TakeError,
};
use assay_scenario::Scenario;

use crate::Engine;
use crate::episode::session::{SessionError, platform};

/// Where a job's policy is.
#[derive(Debug, Clone)]
pub enum PolicySource {
    /// An unpacked policy, to be run in a jail.
    Folder(PathBuf),
    /// A policy server, which may talk to so many episodes at the same time.
    Server {
        /// Where, and how it wants to be asked.
        server: PolicyServer,
        /// At least 1.
        concurrency: u32,
    },
}

impl PolicySource {
    /// Lanes for `episodes` episodes, where `lanes` could run: as many as a server allows, since they mostly wait for
    /// it.
    pub(crate) fn lanes(&self, lanes: usize, episodes: usize) -> usize {
        let wanted = match self {
            Self::Folder(_) => lanes,
            Self::Server { concurrency, .. } => *concurrency as usize,
        };
        wanted.clamp(1, episodes.max(1))
    }

    /// Begins what can be done before the episode's turn: an import, but no connection. A server may take only one, and
    /// the episode before may still have it. With `patience` an import that takes longer is given up. What is secret
    /// has interpreters of its own.
    pub(crate) fn prepare(
        &self,
        engine: &Engine,
        scenario: &Scenario,
        (seed, core, is_secret): (u64, usize, bool),
        patience: Option<Duration>,
    ) -> Result<PendingPolicy, SessionError> {
        match self {
            Self::Folder(folder) => {
                let pools = engine.pools().map_err(|e| platform(&e))?;
                let pool = pools.of(is_secret).map_err(|e| platform(&e))?;
                let allowance = allowance(scenario);
                let order = LoadRequest { policy_dir: folder.clone(), seed, core: Some(core), allowance, patience };
                pool.prepare(order).map(PendingPolicy::Jailed).map_err(|e| platform(&e))
            }
            Self::Server { server, .. } => Ok(PendingPolicy::Server(server.clone())),
        }
    }
}

/// Returns the budget of a policy in an episode of the scenario.
fn allowance(scenario: &Scenario) -> ProcessBudget {
    let budget = &scenario.budget;
    ProcessBudget {
        import_cpu: Duration::from_secs_f64(budget.import_cpu_ms / 1e3),
        cpu_s: budget.most_cpu_s(scenario.control_steps()),
        memory_bytes: u64::from(budget.memory_mib) << 20,
    }
}

/// A policy on its way to its episode.
pub(crate) enum PendingPolicy {
    Jailed(PreparingPolicy),
    Server(PolicyServer),
    Connecting(PendingConnection),
}

/// The outcome of starting a policy.
pub(crate) enum PolicyStart {
    Ready(Box<dyn PolicyConnection>),
    Failed(Box<PolicyFailure>),
    /// Another process stopped or killed it before it was imported: to be tried again.
    Disturbed(String),
    /// Its import took longer than the caller's patience, and so much CPU time until then.
    GivenUp(Duration),
}

impl PendingPolicy {
    /// The episode's turn has come.
    pub(crate) fn begin(self, engine: &Engine) -> Result<Self, SessionError> {
        match self {
            Self::Server(server) => engine.remote().connect(&server).map(Self::Connecting).map_err(|e| platform(&e)),
            begun => Ok(begun),
        }
    }

    pub(crate) fn is_done(&mut self) -> bool {
        match self {
            Self::Jailed(prepared) => prepared.is_done(),
            Self::Server(_) => true,
            Self::Connecting(connecting) => connecting.is_done(),
        }
    }

    /// To be called after [`Self::begin`].
    pub(crate) fn wait(self) -> Result<PolicyStart, SessionError> {
        match self {
            Self::Jailed(prepared) => match prepared.wait() {
                Ok(LoadOutcome::Ready(policy)) => Ok(PolicyStart::Ready(policy)),
                Ok(LoadOutcome::Failed(failure)) => Ok(PolicyStart::Failed(failure)),
                Err(TakeError::Disturbed(evidence)) => Ok(PolicyStart::Disturbed(evidence)),
                Err(TakeError::GivenUp { cpu }) => Ok(PolicyStart::GivenUp(cpu)),
                Err(error) => Err(platform(&error)),
            },
            Self::Connecting(connecting) => match connecting.wait() {
                ConnectOutcome::Ready(policy) => Ok(PolicyStart::Ready(policy)),
                ConnectOutcome::Failed(failure) => Ok(PolicyStart::Failed(failure)),
            },
            Self::Server(_) => Err(SessionError::Platform("a policy server that nobody connected to".to_owned())),
        }
    }
}
