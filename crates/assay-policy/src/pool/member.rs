//! Starts an interpreter: its command, its environment, its jail.

use std::sync::Arc;

use assay_jail::{Bind, JailSpec, Profile, SpawnError};
use assay_model::Isolation;

use super::shared::{IdleMember, Member, PoolShared};
use super::slot::Slot;
use crate::stream::PolicyStream;

/// The interpreter and its arguments, the last of them the policy's folder; the number of threads follows.
const COMMAND: [&str; 6] = ["/py/bin/python3", "-B", "-P", "-s", "/runner/runner.py", "/policy"];
/// Threads of a policy.
const THREADS: &str = "16";
/// The limit for a tier in which it would count other processes of the same user: there, memory bounds the threads.
const THREADS_UNCOUNTED: &str = "0";

/// The whole environment. The threads and kernels of the linear algebra libraries are fixed, so that results are the
/// same on every processor of the last ten years; so are hash seeds.
const ENVIRONMENT: [(&str, &str); 11] = [
    // A tier without namespaces starts the interpreter through the loader, so Python cannot find its home by itself.
    ("PYTHONHOME", "/py"),
    ("PYTHONHASHSEED", "0"),
    ("PYTHONUTF8", "1"),
    ("LANG", "C.UTF-8"),
    ("TZ", "UTC"),
    ("OPENBLAS_NUM_THREADS", "1"),
    ("OMP_NUM_THREADS", "1"),
    ("MKL_NUM_THREADS", "1"),
    ("NUMEXPR_NUM_THREADS", "1"),
    ("OPENBLAS_CORETYPE", "Haswell"),
    ("NPY_DISABLE_CPU_FEATURES", "X86_V4 AVX512_ICL AVX512_SPR"),
];

/// Starts an interpreter. Called by the pool's thread only.
pub(super) fn start(shared: &Arc<PoolShared>, number: u64) -> Result<IdleMember, SpawnError> {
    let failed = |doing| move |source| SpawnError::Io { doing, source };
    let slot = Slot::make(shared.root().join(format!("slot-{number}"))).map_err(failed("create a slot"))?;
    let (stream, member_ends) = PolicyStream::pipes().map_err(failed("create pipes"))?;
    let threads = if shared.jail.isolation() == Isolation::Namespaces { THREADS } else { THREADS_UNCOUNTED };
    let mut spec = spec(shared, &slot, threads);
    (spec.stdin, spec.stdout) = (Some(member_ends.stdin), Some(member_ends.stdout));
    let child = shared.jail.spawn(spec)?;
    Ok(IdleMember { stream, member: Member::new(shared, child, slot) })
}

fn spec(shared: &PoolShared, slot: &Slot, threads: &str) -> JailSpec {
    let mut spec = JailSpec::new(Profile::Policy, COMMAND);
    spec.argv.push(threads.into());
    spec.seals_itself = true;
    spec.binds = vec![
        Bind::read_only(shared.runtime_root(), "/"),
        Bind::read_only(slot.runner(), "/runner"),
        Bind::read_only(slot.policy(), "/policy"),
    ];
    spec.env = ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    spec.limits = shared.config.limits;
    spec
}
