//! Runs one untrusted process in a jail: bubblewrap namespaces, Landlock, a seccomp allow-list, resource limits, and
//! supervision until nothing of it is left. Where user namespaces are switched off there is a weaker tier without them
//! ([`Isolation`](assay_model::Isolation)), in the same type.
//!
//! [`Jail::spawn`] takes a [`JailSpec`] and gives a [`Child`]. What the child may do follows from its [`Profile`]: the
//! system calls are data in `filters/*.json`, one reason a line. What a jailed program does wrong is told by its
//! [`Exit`], never by an error.
//!
//! **Spawn only from threads that live as long as the children**: `PR_SET_PDEATHSIG`, which kills a child when we die,
//! follows the *thread* that spawned it. A blocking pool's thread that ends takes its children along.
//!
//! Only x86-64 Linux: the filters list its system calls.

mod bwrap;
mod child;
mod child_setup;
mod clocks;
mod exit;
mod filter;
mod inspect;
mod jail;
mod limits;
mod memory;
mod namespaces;
mod orphans;
mod output;
mod priority;
mod probe;
mod profile;
mod program;
mod ruleset;
mod spawn;
mod spec;
mod stage;
mod without_namespaces;

pub use child::Child;
pub use clocks::Activity;
pub use exit::{Exit, ExitReason};
pub use filter::FilterError;
pub use inspect::can_nest_user_namespace;
pub use jail::{Jail, JailError, Strongest};
pub use limits::ProcessLimits;
pub use memory::{InMemory, MEMORY_VARIABLE, MemoryError, stage_in_memory};
pub use orphans::sweep_orphans;
pub use output::{FLOOD_BYTES, TAIL_BYTES};
pub use probe::{HostCheck, probe};
pub use profile::Profile;
pub use program::{Program, ProgramError, library_closure, native_program};
pub use spawn::{SpawnError, jail_uid};
pub use spec::{Bind, JailSpec, SEAL_VARIABLE};
pub use stage::{Closed, StageError, check_reachable, default_cache_root, give_to_jail, stage_readable};
