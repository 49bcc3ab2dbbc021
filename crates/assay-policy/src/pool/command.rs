//! The command line of the runner.

/// The interpreter and its arguments, the last of them the policy's folder; the number of threads and the modules to
/// import before the policy follow.
pub(super) const COMMAND: [&str; 6] = ["/py/bin/python3", "-B", "-P", "-s", "/runner/runner.py", "/policy"];
/// Threads of a policy.
pub(super) const THREADS: &str = "16";
