//! Starts the fork servers of a pool, and forks from them.

use std::path::PathBuf;
use std::sync::Arc;

use assay_jail::{Bind, ForkError, ForkServer, ForkServerSpec, ForkStreams, JailSpec, Profile, SpawnError};

use super::command::{COMMAND, THREADS};
use super::models::{PolicyModel, total_bytes};
use super::shared::{IdleMember, Member, PolicyServerProcess, PoolLease, PoolShared};
use super::slot::{ServerFolder, Slot};
use crate::stream::PolicyStream;

impl PolicyServerProcess {
    /// Starts a fork server. Called by the pool's thread only.
    pub(super) fn start(shared: &Arc<PoolShared>, number: u64, models: &[PolicyModel]) -> Result<Self, SpawnError> {
        let failed = |doing| move |source| SpawnError::Io { doing, source };
        let path = shared.root().join(format!("server-{number}"));
        let folder = ServerFolder::make(path).map_err(failed("create a fork server's folder"))?;
        let mut program = program(shared, folder.runner());
        program.limits.address_space_bytes = program.limits.address_space_bytes.saturating_add(total_bytes(models));
        let files = models.iter().map(PolicyModel::bind).collect();
        let spec = ForkServerSpec { program, slots: folder.slots(), files };
        let process = ForkServer::start(&shared.jail, spec)?;
        Ok(Self {
            process,
            spare: None,
            folder: Arc::new(folder),
            models: models.to_vec(),
            children: 0,
            shared: Arc::clone(shared),
            _lease: PoolLease::new(shared),
        })
    }

    /// Returns a process that waits for a policy: the spare one, or one that is forked now.
    pub(super) fn member(&mut self, is_cancelled: &dyn Fn() -> bool) -> Result<IdleMember, ForkError> {
        self.spare.take().map_or_else(|| self.fork(is_cancelled), |spare| Ok(*spare))
    }

    /// Forks a process that waits for a policy.
    pub(super) fn fork(&mut self, is_cancelled: &dyn Fn() -> bool) -> Result<IdleMember, ForkError> {
        let failed = |doing| move |source| SpawnError::Io { doing, source };
        if let Err(error) = self.process.process().compete() {
            tracing::warn!(%error, "could not raise priority of a fork server");
        }
        self.process.wait_ready(self.shared.config.load.start_wall, is_cancelled)?;
        self.children += 1;
        let path = self.folder.slots().join(format!("slot-{}", self.children));
        let slot = Slot::of_server(path, &self.folder).map_err(failed("create a slot"))?;
        slot.make_places(&self.models, true).map_err(failed("make places for models"))?;
        let (stream, ends) = PolicyStream::pipes().map_err(failed("create pipes"))?;
        let streams = ForkStreams { stdin: ends.stdin, stdout: ends.stdout };
        let child = self.process.fork(&slot.policy(), &streams)?;
        Ok(IdleMember { stream, member: Member::new(&self.shared, child, slot), is_forked: true })
    }
}

fn program(shared: &PoolShared, runner: PathBuf) -> JailSpec {
    let mut spec = JailSpec::new(Profile::Policy, COMMAND);
    let runtime = &shared.config.runtime.manifest;
    spec.argv.push(THREADS.into());
    spec.argv.extend(runtime.imports.iter().map(Into::into));
    spec.binds = vec![Bind::read_only(shared.runtime_root(), "/"), Bind::read_only(runner, "/runner")];
    spec.env = runtime.environment();
    // As bubblewrap sets it.
    spec.env.push(("PWD".to_owned(), "/".to_owned()));
    spec.limits = shared.config.limits;
    spec.limits.address_space_bytes += runtime.address_space_bytes;
    spec
}
