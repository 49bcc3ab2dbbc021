//! Host user that runs jails.

/// An unprivileged host user, for jails that root starts: resource limits and namespaces do not restrain root.
const NOBODY: u32 = 65534;

/// Returns the host user that jails run as if this process is root; otherwise they run as its own user.
#[must_use]
pub fn jail_uid() -> Option<u32> {
    rustix::process::geteuid().is_root().then_some(NOBODY)
}
