//! Runs one untrusted process in a jail: bubblewrap namespaces, Landlock, a seccomp allow-list, resource limits, and
//! supervision until its end. Where user namespaces are disabled, there is a weaker tier without them
//! ([`Isolation`](assay_model::Isolation)), in the same type.
//!
//! [`Jail::spawn`] takes a [`JailSpec`] and returns a [`Child`]. Its [`Profile`] determines what the child may do: the
//! system calls are data in `filters/*.json`, with a reason on each line. Faults of a jailed program are reported by
//! its
//! [`Exit`], never by an error.
//!
//! **Spawn only from threads that live as long as the children**: `PR_SET_PDEATHSIG`, which kills a child when this
//! process dies, follows the *thread* that spawned it. A thread of a blocking pool kills its children when it ends.
//!
//! Only x86-64 Linux: the filters list its system calls.

mod bwrap;
mod child;
mod child_setup;
mod clocks;
mod copies;
mod exit;
mod filter;
mod fork_server;
mod inspect;
mod jail;
mod limits;
mod memory;
mod memory_file;
mod memory_watch;
mod namespaces;
mod orphans;
mod output;
mod priority;
mod probe;
mod profile;
mod program;
mod reachable;
mod ruleset;
mod sleep_watch;
mod spawn;
mod spawn_error;
mod spec;
mod stage;
mod strongest;
mod tree;
mod untrusted_folder;
mod user;
mod wait;
mod without_namespaces;
mod work_limit;

pub use child::Child;
pub use clocks::Activity;
pub use copies::JailPath;
pub use exit::{Exit, ExitReason};
pub use filter::FilterError;
pub use fork_server::{ForkError, ForkServer, ForkServerSpec, ForkStreams, MAX_FORK_FILES};
pub use inspect::can_nest_user_namespace;
pub use jail::{Jail, JailError};
pub use limits::ProcessLimits;
pub use memory::{MEMORY_VARIABLE, MemoryCopy, MemoryError, stage_in_memory};
pub use orphans::sweep_orphans;
pub use output::{FLOOD_BYTES, TAIL_BYTES};
pub use probe::{HostCheck, probe};
pub use profile::Profile;
pub use program::{Program, ProgramError, library_closure, native_program};
pub use reachable::{ClosedPath, StageError, check_reachable};
pub use sleep_watch::SleepWatch;
pub use spawn_error::SpawnError;
pub use spec::{Bind, JailSpec, SEAL_VARIABLE};
pub use stage::{default_cache_root, give_to_jail, open_to_jail, stage_lasting, stage_readable};
pub use strongest::StrongestJail;
pub use untrusted_folder::{NewFile, UntrustedFolder, read_untrusted};
pub use user::jail_uid;
pub use work_limit::{LEAST_SHARE, WorkEnd, WorkLimit, WorkWatch};
