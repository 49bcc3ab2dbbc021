//! The policy on this machine: jailed, or behind the address of a server.

use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::anyhow;
use assay_policy::PolicyConnection;
use assay_policy::remote::{CallBudget, ConnectOutcome, LinkHost, ServerEndpoint, StartFailure};
use assay_scenario::Scenario;
use assay_worker::{Cancel, Engine, PolicySource, SessionError, StartedPolicy, start_policy};

use super::arguments::ConnectArgs;
use crate::exit::{Failure, OrFail};
use crate::printing::complain;
use crate::source::{self, PolicyArgs, ResolvedPolicy};

/// Interval for polling a connection to a policy server.
const TICK: Duration = Duration::from_millis(1);

/// The policy, as the service's connection needs it.
pub(super) struct LocalPolicy<'a> {
    engine: &'a Engine,
    policy: ResolvedPolicy,
    /// The installed scenario; `None` for a policy server, which needs none.
    scenario: Option<Scenario>,
    cancel: &'a Cancel,
    /// True if progress is shown.
    tells: bool,
    served: u32,
    /// The reason why this machine could not start the policy.
    error: Option<SessionError>,
}

impl<'a> LocalPolicy<'a> {
    /// Finds the policy of the command. Its files are unpacked into `folder`.
    pub(super) fn find(
        arguments: &ConnectArgs,
        engine: &'a Engine,
        folder: &Path,
        cancel: &'a Cancel,
    ) -> Result<Self, Failure> {
        let options = &arguments.policy_server;
        if options.policy_concurrency > 1 {
            let message = "--policy-concurrency: a policy that connects serves one episode at a time";
            return Err(Failure::Usage(anyhow!(message)));
        }
        let address = arguments.policy.to_str().filter(|text| ServerEndpoint::has_scheme(text));
        let (policy, scenario) = match address {
            Some(_) if arguments.adapter.map().is_some() => {
                return Err(Failure::Usage(anyhow!("--adapter takes the folder of a checkpoint, not an address")));
            }
            // The service knows the scenario's own default.
            Some(address) => (source::server(address, options, None)?, None),
            None => {
                let scenario = crate::commands::verify::find(engine, &arguments.scenario)?;
                let args = PolicyArgs { server: options, models: &arguments.models, adapter: &arguments.adapter };
                let policy = source::find(&arguments.policy, args, (engine, &scenario), folder)?;
                engine.runs_policies().or_internal()?;
                (policy, Some(scenario))
            }
        };
        Ok(Self { engine, policy, scenario, cancel, tells: !arguments.json, served: 0, error: None })
    }

    /// Returns its name for the report.
    pub(super) fn name(&self) -> &str {
        &self.policy.name
    }

    /// Returns the error of this machine that ended the connection, if one did.
    pub(super) fn take_error(&mut self) -> Option<SessionError> {
        self.error.take()
    }

    fn try_start(&self, seed: u64) -> Result<StartedPolicy, SessionError> {
        match (&self.policy.source, &self.scenario) {
            (PolicySource::Server { server, .. }, _) => {
                let mut pending =
                    self.engine.remote().connect(server).map_err(|error| SessionError::Internal(Box::new(error)))?;
                while !pending.is_done() {
                    if self.cancel.is_cancelled() {
                        return Err(SessionError::Cancelled);
                    }
                    thread::sleep(TICK);
                }
                Ok(match pending.wait() {
                    ConnectOutcome::Ready(policy) => StartedPolicy::Ready(policy),
                    ConnectOutcome::Failed(failure) => StartedPolicy::Failed(failure),
                    ConnectOutcome::Elsewhere => return Err(SessionError::PolicyElsewhere),
                })
            }
            (source, Some(scenario)) => start_policy(self.engine, (source, scenario), seed, self.cancel),
            (_, None) => unreachable!("only a policy server has no scenario"),
        }
    }
}

impl LinkHost for LocalPolicy<'_> {
    fn start(&mut self, seed: u64) -> Result<Box<dyn PolicyConnection>, StartFailure> {
        match self.try_start(seed) {
            Ok(StartedPolicy::Ready(policy)) => Ok(policy),
            Ok(StartedPolicy::Failed(failure)) => Err(StartFailure::Policy(failure)),
            Err(error) => {
                self.error = Some(error);
                Err(StartFailure::Machine)
            }
        }
    }

    fn budget(&self) -> Option<CallBudget> {
        let budget = &self.scenario.as_ref()?.budget;
        let of = |ms: f64| Duration::from_secs_f64(ms / 1e3);
        Some(CallBudget { first: of(budget.first_cpu_ms), later: of(budget.hard_cpu_ms) })
    }

    fn ended(&mut self) {
        self.served += 1;
        if self.tells {
            complain!("assay: served episode {}", self.served);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}
