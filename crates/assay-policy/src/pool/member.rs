//! One warm interpreter: its process, its end of the stream, its slot.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use assay_jail::{Bind, Child, JailSpec, Profile, SpawnError};
use assay_model::Isolation;

use super::filler::PoolShared;
use super::slot::Slot;
use crate::stream::PolicyStream;

/// The file that speaks frames on the policy's side, part of this program so that the two always fit.
pub(super) const RUNNER: &str = include_str!("../../../../python/runner/runner.py");
/// Its name in its folder.
pub(super) const RUNNER_NAME: &str = "runner.py";
/// Its arguments: the policy's folder, and how many threads it may have.
const COMMAND: [&str; 6] = ["/py/bin/python3", "-B", "-P", "-s", "/runner/runner.py", "/policy"];
/// Threads of a policy.
const THREADS: &str = "16";
/// For a tier in which the limit would count what others do as the same user: memory bounds them there.
const THREADS_UNCOUNTED: &str = "0";

/// The whole environment. Threads and kernels of the linear algebra are fixed, so that results are the same on every
/// processor of the last ten years; hash seeds too.
const ENVIRONMENT: [(&str, &str); 11] = [
    // Told, because a tier without namespaces starts the interpreter by the loader's name.
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

/// One interpreter. Fields drop in this order: first the process ends, then its folder goes, then the pool's thread
/// (whose death would kill the process) may end.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) child: Child,
    pub(super) slot: Slot,
    _lease: PoolLease,
}

/// Keeps the pool's thread alive.
#[derive(Debug)]
pub(super) struct PoolLease(Arc<PoolShared>);

impl PoolLease {
    pub(super) fn new(shared: &Arc<PoolShared>) -> Self {
        shared.leases.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(shared))
    }
}

impl Drop for PoolLease {
    fn drop(&mut self) {
        self.0.leases.fetch_sub(1, Ordering::SeqCst);
        self.0.wake();
    }
}

/// A member that nobody has yet: it may still be importing numpy.
#[derive(Debug)]
pub(super) struct IdleMember {
    pub(super) stream: PolicyStream,
    pub(super) member: Member,
}

/// Starts an interpreter. To be called by the pool's thread.
pub(super) fn start(shared: &Arc<PoolShared>, number: u64) -> Result<IdleMember, SpawnError> {
    let failed = |doing| move |source| SpawnError::Io { doing, source };
    let slot = Slot::make(shared.root().join(format!("slot-{number}"))).map_err(failed("make a slot"))?;
    let (stream, theirs) = PolicyStream::pipes().map_err(failed("make pipes"))?;
    let threads = if shared.jail.isolation() == Isolation::Namespaces { THREADS } else { THREADS_UNCOUNTED };
    let mut spec = spec(shared, &slot, threads);
    (spec.stdin, spec.stdout) = (Some(theirs.stdin), Some(theirs.stdout));
    let child = shared.jail.spawn(spec)?;
    Ok(IdleMember { stream, member: Member { child, slot, _lease: PoolLease::new(shared) } })
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
