//! A jailed policy seen from outside: which fences stand around it. What several fences stop shows here, one by one.

use std::fs;
use std::path::Path;

use assay_jail::{Limits, Profile};

use super::AttackError;
use crate::{IntakeLimits, Load, PolicyConnection, Pool, PoolConfig, intake};

const HARMLESS: &str = "def policy(observation):\n    return [0.0] * 7\n";
/// Namespaces that a policy has of its own.
const NAMESPACES: [&str; 6] = ["user", "pid", "net", "ipc", "uts", "mnt"];

/// The list of what is allowed, and the list of what ends a process.
const FILTERS: u32 = 2;

/// One fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// Which.
    pub name: String,
    /// What stands there.
    pub found: String,
    /// What has to.
    pub expected: String,
}

impl Fence {
    /// Whether it stands.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.found == self.expected
    }

    fn new(name: &str, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { name: name.to_owned(), found: found.into(), expected: expected.into() }
    }
}

/// Starts a policy and looks at the fences around it.
///
/// # Errors
/// [`AttackError`]: it can't be started.
pub fn fences(config: PoolConfig) -> Result<Vec<Fence>, AttackError> {
    let limits = Limits::of(Profile::Policy);
    let folder = tempfile::tempdir_in(&config.work_dir).map_err(AttackError::Files)?;
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .map_err(AttackError::Files)?;
    let (source, policy) = (folder.path().join("policy.py"), folder.path().join("policy"));
    fs::write(&source, HARMLESS).map_err(AttackError::Files)?;
    intake(&source, &policy, &IntakeLimits::default())?;
    let pool = Pool::new(PoolConfig { size: 0, ..config })?;
    let mut process = match pool.take(&policy, 1, None)? {
        Load::Ready(process) => process,
        Load::Failed(failure) => return Ok(vec![Fence::new("a harmless policy", failure.message, "runs")]),
    };
    let proc = format!("/proc/{}", process.pid().unwrap_or_default());
    let mut fences = namespaces(Path::new(&proc));
    fences.extend(status(Path::new(&proc)));
    fences.push(session(Path::new(&proc)));
    fences.extend(mounts(Path::new(&proc)));
    fences.extend(resources(Path::new(&proc), &limits));
    drop(process.take_stream());
    process.finish();
    Ok(fences)
}

fn namespaces(proc: &Path) -> Vec<Fence> {
    let of = |proc: &Path, name: &str| fs::read_link(proc.join("ns").join(name)).ok();
    NAMESPACES
        .map(|name| {
            let (theirs, ours) = (of(proc, name), of(Path::new("/proc/self"), name));
            let found = match theirs {
                None => "unknown",
                Some(_) if theirs == ours => "ours",
                Some(_) => "its own",
            };
            Fence::new(&format!("{name} namespace"), found, "its own")
        })
        .into()
}

fn status(proc: &Path) -> Vec<Fence> {
    let theirs = fs::read_to_string(proc.join("status")).unwrap_or_default();
    let ours = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name| status_field(&theirs, name);
    // A container may have given us a filter already.
    let inherited: u32 = status_field(&ours, "Seccomp_filters").parse().unwrap_or(0);
    let root = if field("Uid") == "0" { "root" } else { "an ordinary user" };
    vec![
        Fence::new("user", root, "an ordinary user"),
        Fence::new("capabilities", field("CapEff"), "0000000000000000"),
        Fence::new("capabilities it could get", field("CapBnd"), "0000000000000000"),
        Fence::new("no new privileges", field("NoNewPrivs"), "1"),
        Fence::new("system call filters", field("Seccomp_filters"), (inherited + FILTERS).to_string()),
    ]
}

fn status_field(status: &str, name: &str) -> String {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or("unknown").split_whitespace().next().unwrap_or_default().to_owned()
}

/// A session of its own has no terminal to type on.
fn session(proc: &Path) -> Fence {
    let of = |proc: &Path| {
        let stat = fs::read_to_string(proc.join("stat")).unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default();
        fields.split_whitespace().nth(3).map(str::to_owned)
    };
    let found = if of(proc) == of(Path::new("/proc/self")) { "ours" } else { "its own" };
    Fence::new("session", found, "its own")
}

/// Everything it sees of file systems is read-only, but for the two devices.
fn mounts(proc: &Path) -> Vec<Fence> {
    let text = fs::read_to_string(proc.join("mountinfo")).unwrap_or_default();
    let mut writable: Vec<&str> = text
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ').skip(4);
            let (place, options) = (fields.next()?, fields.next()?);
            (!options.split(',').any(|option| option == "ro") && !place.starts_with("/dev/")).then_some(place)
        })
        .collect();
    writable.sort_unstable();
    let found = if text.is_empty() { "unknown".to_owned() } else { writable.join(" ") };
    vec![Fence::new("writable mounts", found, "")]
}

fn resources(proc: &Path, limits: &Limits) -> Vec<Fence> {
    let text = fs::read_to_string(proc.join("limits")).unwrap_or_default();
    let rows = [
        ("Max address space", limits.address_space_bytes),
        ("Max cpu time", limits.cpu_s),
        ("Max open files", limits.nofile),
        ("Max file size", limits.fsize_bytes),
        ("Max stack size", limits.stack_bytes),
        ("Max core file size", 0),
        ("Max locked memory", 0),
        ("Max msgqueue size", 0),
    ];
    rows.map(|(name, expected)| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        // Soft limit, hard limit, unit.
        let found: Vec<_> = line.split_whitespace().take(2).collect();
        Fence::new(&name.to_lowercase(), found.join(" "), format!("{expected} {expected}"))
    })
    .into()
}
