//! Runs a test again in namespaces of its own, with which all that it changes in the system disappears.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Returns true if this user may run a shell command in new namespaces (arguments of `unshare`).
pub(crate) fn allows(namespaces: &[&str], command: &str) -> bool {
    let tried = Command::new("unshare").args(namespaces).args(["sh", "-c", command]).output();
    tried.is_ok_and(|tried| tried.status.success())
}

/// Runs the test `name` (its path, as printed by the test harness) of this test program in new namespaces, after the
/// shell commands `before`. The variable tells it that it runs there.
///
/// # Panics
/// Panics if the test fails there.
#[track_caller]
pub(crate) fn run_again(name: &str, namespaces: &[&str], before: &str, (variable, value): (&str, &Path)) {
    let script = format!("{before} && exec \"$@\"");
    let mut command = Command::new("unshare");
    command.args(namespaces).args(["sh", "-c", &script, "sh"]).arg(std::env::current_exe().unwrap());
    let done = command.args(["--exact", name, "--nocapture"]).env(variable, value).output().unwrap();
    let (output, log) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success() && output.contains("1 passed"), "in namespaces of its own: {output}\n{log}");
    eprint!("{log}");
}

/// Returns the command that starts a program as an ordinary user, if this process is root only in a user namespace of
/// its own: neither jails nor PostgreSQL run as such a root.
pub(crate) fn ordinary_user() -> &'static [&'static str] {
    let users = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let is_alone = users.split_whitespace().collect::<Vec<_>>()[..] != ["0", "0", "4294967295"];
    match is_alone && rustix::process::getuid().is_root() {
        true => &["unshare", "--user", "--map-user=1000", "--map-group=1000"],
        false => &[],
    }
}
