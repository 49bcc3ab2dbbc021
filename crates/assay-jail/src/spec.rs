//! Description of a process to run in a jail.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use crate::{ProcessLimits, Profile};

/// A file or folder of the host that the jail sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bind {
    /// Path on the host. If this process is root, the jail's user must be able to reach it: see
    /// [`crate::stage_readable`].
    pub host: PathBuf,
    /// Absolute path in the jail.
    pub inside: PathBuf,
    /// True if the jail may write to it.
    pub writable: bool,
}

impl Bind {
    /// Creates a read-only bind.
    pub fn read_only(host: impl Into<PathBuf>, inside: impl Into<PathBuf>) -> Self {
        Self { host: host.into(), inside: inside.into(), writable: false }
    }

    /// Creates a writable bind. The host's folder must belong to the jail's user: see [`crate::give_to_jail`].
    pub fn writable(host: impl Into<PathBuf>, inside: impl Into<PathBuf>) -> Self {
        Self { host: host.into(), inside: inside.into(), writable: true }
    }
}

/// One process to run in a jail.
#[derive(Debug)]
pub struct JailSpec {
    /// Namespaces and system calls.
    pub profile: Profile,
    /// The program's path in the jail, and its arguments.
    pub argv: Vec<OsString>,
    /// The files that it sees, mounted in this order. Without a bind on `/`, the root is an empty read-only folder.
    pub binds: Vec<Bind>,
    /// Its whole environment. A value that begins with `/` is a path in the jail.
    pub env: Vec<(String, String)>,
    /// Its resource limits.
    pub limits: ProcessLimits,
    /// Its descriptor 0; `/dev/null` if `None`. No other descriptor is inherited; 2 is its log.
    pub stdin: Option<OwnedFd>,
    /// Its descriptor 1; its log if `None`.
    pub stdout: Option<OwnedFd>,
    /// Pins it to one processor.
    pub core: Option<usize>,
    /// Its niceness, 0 to 19.
    pub nice: i32,
    /// True if the program applies the Landlock ruleset whose descriptor [`SEAL_VARIABLE`] names to itself, before it
    /// reads anything untrusted. (It cannot be applied earlier: a sealed process may not mount.)
    pub seals_itself: bool,
}

/// Environment variable with the descriptor of the ruleset that a program must apply to itself; unset if the kernel has
/// no Landlock.
pub const SEAL_VARIABLE: &str = "ASSAY_SEAL_FD";

impl JailSpec {
    /// Creates a spec with the profile's limits and without binds.
    #[must_use]
    pub fn new(profile: Profile, argv: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        // The service has priority over its lanes, and a lane over its policy: a policy with many busy threads delays
        // only itself.
        let nice = if profile == Profile::Policy { 15 } else { 10 };
        Self {
            profile,
            argv: argv.into_iter().map(Into::into).collect(),
            binds: Vec::new(),
            env: Vec::new(),
            limits: ProcessLimits::of(profile),
            stdin: None,
            stdout: None,
            core: None,
            nice,
            seals_itself: false,
        }
    }
}
