//! The fork server of one policy, shared by the loads of all its episodes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use assay_jail::ForkError;

use super::error::TakeError;
use super::models::{PolicyModel, removed, total_bytes};
use super::shared::{IdleMember, PolicyServerProcess, PoolShared, Warm};
use crate::failure::killed_from_outside;

/// Maximum number of fork servers found dead before loading fails, because something kills them.
const MAX_DEAD: usize = 3;

/// The origin of one policy's processes: a fork server that starts with the policy's first load and ends with the last
/// clone of this value. The processes of one fork server share the layout of their address space and what its memory
/// held, so two accounts must never share one.
#[derive(Debug, Clone, Default)]
pub struct PolicyHome(Arc<HomeState>);

#[derive(Debug, Default)]
struct HomeState {
    models: Vec<PolicyModel>,
    server: Mutex<Option<PolicyServerProcess>>,
}

impl PartialEq for PolicyHome {
    /// Returns true for two clones of the same value.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for PolicyHome {}

impl PolicyHome {
    /// Creates the home of a policy with models that are not in its folder.
    #[must_use]
    pub fn with_models(models: Vec<PolicyModel>) -> Self {
        Self(Arc::new(HomeState { models, server: Mutex::default() }))
    }

    /// Returns the size of its models, in bytes.
    pub(super) fn model_bytes(&self) -> u64 {
        total_bytes(&self.0.models)
    }

    /// Returns the path of a model whose file was removed or replaced.
    pub(super) fn removed_model(&self) -> Option<PathBuf> {
        removed(&self.0.models)
    }

    /// Returns true if its policy has the same models as that of `other`.
    #[must_use]
    pub fn has_models_of(&self, other: &Self) -> bool {
        self.0.models == other.0.models
    }

    /// Returns the process id of its fork server, if it has one.
    #[must_use]
    pub fn fork_server(&self) -> Option<i32> {
        self.0.server.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(PolicyServerProcess::pid)
    }

    /// Returns a fresh process: forked, or an interpreter of the pool where forking is not possible.
    pub(super) fn member(
        &self,
        shared: &Arc<PoolShared>,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<IdleMember, TakeError> {
        let mut place = self.0.server.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut log, mut disturbed) = (String::new(), None);
        for _ in 0..MAX_DEAD {
            let own = place.take().filter(|server| server.is_of(shared) && shared.cannot_fork().is_none());
            let mut server = match own.map_or_else(|| shared.next(&self.0.models), |server| Ok(Warm::Server(server)))? {
                Warm::Interpreter(member) => return Ok(member),
                Warm::Server(server) => server,
            };
            match server.member(is_cancelled) {
                Ok(member) => {
                    *place = Some(server);
                    return Ok(member);
                }
                Err(ForkError::Impossible { why }) => shared.stop_forking(&why),
                Err(ForkError::Ended { .. }) if is_cancelled() => return Err(TakeError::Cancelled),
                Err(ForkError::Ended { exit, log: text }) => {
                    disturbed = killed_from_outside(&exit, None);
                    log = format!("{exit} {text}");
                }
                Err(ForkError::Spawn(error)) => {
                    // It can try again for the next load.
                    *place = Some(server);
                    return Err(error.into());
                }
            }
        }
        Err(disturbed.map_or(TakeError::Runner { log }, TakeError::Disturbed))
    }
}
