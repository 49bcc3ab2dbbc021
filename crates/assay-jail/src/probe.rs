//! Checks of `assay doctor` for jails. Each one tries the feature that it checks.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use assay_model::{ErrorChain, Isolation};

use crate::{Jail, JailSpec, ProcessLimits, Profile, default_cache_root, jail_uid, native_program, ruleset};

const TRUE: &str = "/bin/true";
/// Maximum time of a program in a tried jail. It takes milliseconds; the limit only ends what hangs.
const TRY_LIMIT: Duration = Duration::from_secs(120);
const LANDLOCK_REMEDY: &str =
    "Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK, and landlock in lsm= of its command line";
/// The rights added by each version of Landlock.
const LANDLOCK_RIGHTS: [&str; 6] =
    ["files", "moves between folders", "truncation", "TCP", "device ioctls", "abstract sockets and signals to others"];
const APT: &str = "apt-get install bubblewrap";

/// One checked requirement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCheck {
    /// Short name.
    pub name: &'static str,
    /// True if it works.
    pub holds: bool,
    /// True if jails need it.
    pub required: bool,
    /// The finding.
    pub detail: String,
    /// The remedy if it does not hold; empty otherwise.
    pub remedy: String,
}

/// Checks everything that jails need.
#[must_use]
pub fn probe() -> Vec<HostCheck> {
    let (version, jail) = bubblewrap();
    let mut checks = vec![user(), version];
    if let Some(jail) = jail {
        checks.push(namespaces(&jail));
        checks.extend(Profile::ALL.map(|profile| whole_jail(&jail, profile)));
    }
    checks.extend([landlock(), weaker_tier(), limits(), cgroups()]);
    checks
}

/// Checks Landlock, which is an additional layer inside a jail and the basis of the weaker tier.
fn landlock() -> HostCheck {
    let found = match ruleset::abi() {
        0 => Err(("this kernel has none; jails rely on namespaces and filters".to_owned(), LANDLOCK_REMEDY)),
        abi => Ok(format!("ABI {abi}: {}", LANDLOCK_RIGHTS[..(abi as usize).min(LANDLOCK_RIGHTS.len())].join(", "))),
    };
    check("Landlock", false, found)
}

fn weaker_tier() -> HostCheck {
    let tried = Jail::of(Isolation::Landlock).map_err(|error| ErrorChain(&error).to_string());
    let found = tried.and_then(|jail| try_jail(&jail, Profile::Policy));
    let detail =
        "works; used only where namespaces don't, and for policies only with --accept-weaker-isolation landlock";
    check("jail without namespaces", false, found.map(|_| detail.to_owned()).map_err(|why| (why, LANDLOCK_REMEDY)))
}

fn check(name: &'static str, required: bool, found: Result<String, (String, &str)>) -> HostCheck {
    match found {
        Ok(detail) => HostCheck { name, holds: true, required, detail, remedy: String::new() },
        Err((detail, remedy)) => HostCheck { name, holds: false, required, detail, remedy: remedy.to_owned() },
    }
}

fn user() -> HostCheck {
    let uid = rustix::process::geteuid().as_raw();
    let detail = match jail_uid() {
        Some(nobody) => format!("running as root: jails run as uid {nobody}"),
        None => format!("running as uid {uid}: jails run as the same user"),
    };
    check("user", false, Ok(detail))
}

fn bubblewrap() -> (HostCheck, Option<Jail>) {
    let jail = match Jail::find() {
        Ok(jail) => jail,
        Err(error) => {
            return (check("bubblewrap", true, Err((ErrorChain(&error).to_string(), APT))), None);
        }
    };
    let program = jail.bubblewrap().unwrap_or(Path::new("bwrap"));
    let output = Command::new(program).arg("--version").output();
    let version = output.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned()).unwrap_or_default();
    let detail = format!("{version} at {}", program.display());
    let found = if is_recent(&version) { Ok(detail) } else { Err((detail, "bubblewrap 0.8 or newer is needed")) };
    (check("bubblewrap", true, found), Some(jail))
}

/// Returns true for version 0.8 or newer, which can forbid further user namespaces. The format is "bubblewrap 0.8.0".
fn is_recent(version: &str) -> bool {
    let mut numbers = version.rsplit(' ').next().unwrap_or_default().split('.').map(|part| part.parse::<u32>());
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (0, 8),
        _ => false,
    }
}

/// Checks bubblewrap alone, without filters or limits, to distinguish their failures from those of namespaces.
fn namespaces(jail: &Jail) -> HostCheck {
    let mut command = Command::new(jail.bubblewrap().unwrap_or(Path::new("bwrap")));
    command.args(["--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL"]);
    command.args(["--ro-bind", "/", "/", TRUE]).env_clear().current_dir("/");
    if let Some(uid) = jail_uid() {
        std::os::unix::process::CommandExt::uid(&mut command, uid);
        std::os::unix::process::CommandExt::gid(&mut command, uid);
    }
    let found = match command.output() {
        Ok(done) if done.status.success() => Ok("user, pid, network, mount, ipc and uts namespaces work".to_owned()),
        Ok(done) => Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()),
        Err(error) => Err(error.to_string()),
    };
    check("namespaces", true, found.map_err(|detail| (detail, namespaces_remedy())))
}

fn namespaces_remedy() -> &'static str {
    let is = |file: &str, value: &str| std::fs::read_to_string(file).is_ok_and(|text| text.trim() == value);
    if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        "sysctl -w kernel.unprivileged_userns_clone=1"
    } else if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile that lets bwrap use userns"
    } else if is("/proc/sys/user/max_user_namespaces", "0") {
        "sysctl -w user.max_user_namespaces=15000"
    } else {
        "in a container, allow user namespaces and mounts (docker: --security-opt seccomp=unconfined \
         --security-opt apparmor=unconfined, or --privileged)"
    }
}

/// Checks a complete jail: namespaces, filters, limits.
fn whole_jail(jail: &Jail, profile: Profile) -> HostCheck {
    let name = match profile {
        Profile::Policy => "jail for policies",
        Profile::Step => "jail for simulators",
        Profile::StepWithCameras => "jail for simulators with cameras",
        Profile::Render => "jail for renderers",
    };
    let remedy = "see the other checks; the kernel needs CONFIG_SECCOMP_FILTER";
    check(name, true, try_jail(jail, profile).map_err(|detail| (detail, remedy)))
}

pub(crate) fn try_jail(jail: &Jail, profile: Profile) -> Result<String, String> {
    let program = native_program(Path::new(TRUE), None, Path::new("/program"), &default_cache_root());
    let program = program.map_err(|error| ErrorChain(&error).to_string())?;
    let mut spec = JailSpec::new(profile, [program.path]);
    spec.binds = program.binds;
    spec.env = program.env;
    let mut child = jail.spawn(spec).map_err(|error| ErrorChain(&error).to_string())?;
    let exit = child.wait_deadline(TRY_LIMIT).unwrap_or_else(|| child.kill());
    if exit.is_success() {
        return Ok("a program ran under its filter and limits".to_owned());
    }
    let log = String::from_utf8_lossy(&child.output_tail()).trim().to_owned();
    Err(format!("the program ended with {exit} {log}"))
}

fn limits() -> HostCheck {
    let wanted = ProcessLimits::of(Profile::Render).address_space_bytes;
    let found = match rustix::process::getrlimit(rustix::process::Resource::As).maximum {
        Some(most) if most < wanted => Err((
            format!("the address space of assay's own processes is limited to {most} bytes"),
            "ulimit -v unlimited",
        )),
        _ => Ok("resource limits can be set as needed".to_owned()),
    };
    check("limits", true, found)
}

/// Reports control groups. They are not needed: a jail is one process, so resource limits bound all of it.
fn cgroups() -> HostCheck {
    let is_v2 = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
    let is_writable = rustix::fs::access("/sys/fs/cgroup", rustix::fs::Access::WRITE_OK).is_ok();
    let version = if is_v2 { "v2" } else { "v1 or none" };
    let can = if is_writable { "writable" } else { "not writable" };
    check("cgroups", false, Ok(format!("{version}, {can}; not used: resource limits bound a jail")))
}

#[cfg(test)]
mod tests {
    use super::is_recent;

    #[test]
    fn versions() {
        assert!(is_recent("bubblewrap 0.8.0") && is_recent("bubblewrap 0.11.0") && is_recent("bubblewrap 1.0"));
        assert!(!is_recent("bubblewrap 0.6.1") && !is_recent("") && !is_recent("bwrap"));
    }
}
