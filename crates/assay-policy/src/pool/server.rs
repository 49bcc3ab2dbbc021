//! Starts the fork servers of a pool, and forks from them.

use std::path::PathBuf;
use std::sync::Arc;

use assay_jail::{Bind, ForkError, ForkServer, ForkServerSpec, ForkStreams, JailSpec, Profile, SpawnError};

use super::command::{COMMAND, THREADS};
use super::shared::{IdleMember, Member, PolicyServerProcess, PoolLease, PoolShared};
use super::slot::{ServerFolder, Slot};
use crate::stream::PolicyStream;

impl PolicyServerProcess {
    /// Starts a fork server. Called by the pool's thread only.
    pub(super) fn start(shared: &Arc<PoolShared>, number: u64) -> Result<Self, SpawnError> {
        let failed = |doing| move |source| SpawnError::Io { doing, source };
        let path = shared.root().join(format!("server-{number}"));
        let folder = ServerFolder::make(path).map_err(failed("create a fork server's folder"))?;
        let spec = ForkServerSpec { program: program(shared, folder.runner()), slots: folder.slots() };
        let process = ForkServer::start(&shared.jail, spec)?;
        Ok(Self {
            process,
            folder: Arc::new(folder),
            children: 0,
            shared: Arc::clone(shared),
            _lease: PoolLease::new(shared),
        })
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
