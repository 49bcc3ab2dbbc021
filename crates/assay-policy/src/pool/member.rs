//! Starts an interpreter: its command, its environment, its jail.

use std::sync::Arc;

use assay_jail::{Bind, JailSpec, Profile, SpawnError};
use assay_model::Isolation;

use super::command::{COMMAND, THREADS};
use super::models::{PolicyModel, total_bytes};
use super::shared::{IdleMember, Member, PoolShared};
use super::slot::Slot;
use crate::stream::PolicyStream;

/// The limit for a tier in which it would count other processes of the same user: there, memory bounds the threads.
const THREADS_UNCOUNTED: &str = "0";

/// Starts an interpreter. Called by the pool's thread only.
pub(super) fn start(shared: &Arc<PoolShared>, number: u64, models: &[PolicyModel]) -> Result<IdleMember, SpawnError> {
    let failed = |doing| move |source| SpawnError::Io { doing, source };
    let slot = Slot::make(shared.root().join(format!("slot-{number}"))).map_err(failed("create a slot"))?;
    let (stream, member_ends) = PolicyStream::pipes().map_err(failed("create pipes"))?;
    let has_namespaces = shared.jail.isolation() == Isolation::Namespaces;
    slot.make_places(models, has_namespaces).map_err(failed("make places for models"))?;
    let threads = if has_namespaces { THREADS } else { THREADS_UNCOUNTED };
    let mut spec = spec(shared, &slot, threads);
    spec.binds.extend(models.iter().map(PolicyModel::bind));
    spec.limits.address_space_bytes = spec.limits.address_space_bytes.saturating_add(total_bytes(models));
    (spec.stdin, spec.stdout) = (Some(member_ends.stdin), Some(member_ends.stdout));
    let child = shared.jail.spawn(spec)?;
    Ok(IdleMember { stream, member: Member::new(shared, child, slot), is_forked: false })
}

fn spec(shared: &PoolShared, slot: &Slot, threads: &str) -> JailSpec {
    let mut spec = JailSpec::new(Profile::Policy, COMMAND);
    let runtime = &shared.config.runtime.manifest;
    spec.argv.push(threads.into());
    spec.argv.extend(runtime.imports.iter().map(Into::into));
    spec.seals_itself = true;
    spec.binds = vec![
        Bind::read_only(shared.runtime_root(), "/"),
        Bind::read_only(slot.runner(), "/runner"),
        Bind::read_only(slot.policy(), "/policy"),
    ];
    spec.env = runtime.environment();
    spec.limits = shared.config.limits;
    spec.limits.address_space_bytes += runtime.address_space_bytes;
    spec
}
