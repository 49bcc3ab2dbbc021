//! Inspects a jailed policy from outside: each fence is checked on its own, even if several stop the same attack.

use std::fs;
use std::path::Path;

use assay_jail::{ProcessLimits, Profile, can_nest_user_namespace};
use assay_model::Isolation;

use super::AttackError;
use crate::{IntakeLimits, LoadOutcome, PolicyConnection, Pool, PoolConfig, intake};

const HARMLESS: &str = "def policy(observation):\n    return [0.0] * 7\n";
/// The namespaces that a policy does not share.
const NAMESPACES: [&str; 6] = ["user", "pid", "net", "ipc", "uts", "mnt"];

/// The filter of allowed calls, the filter of calls that end a process, and the runner's own seal. A forked process
/// also has that of its fork server.
const FILTERS: u32 = 3;
const NESTING: &str = "further user namespaces";
const NO_NESTING: &str = "can't be made";
/// An empty set as `/proc` shows it.
const NO_CAPABILITIES: &str = "0000000000000000";
/// Threads of a policy, which the kernel counts as processes of its user.
const THREADS: u64 = 16;

/// The state of one fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FenceCheck {
    /// Its name.
    pub name: String,
    /// The value found.
    pub found: String,
    /// The required value.
    pub expected: String,
    /// True if the tier is known to lack it.
    pub is_weaker: bool,
}

impl FenceCheck {
    /// Returns whether it holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.found == self.expected
    }

    fn new(name: &str, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { name: name.to_owned(), found: found.into(), expected: expected.into(), is_weaker: false }
    }

    /// Marks a fence that a tier without namespaces does not have.
    fn of_namespaces(self, isolation: Isolation) -> Self {
        match isolation {
            Isolation::Namespaces => self,
            Isolation::Landlock | Isolation::None => {
                Self { is_weaker: !self.holds(), expected: self.found.clone(), ..self }
            }
        }
    }
}

/// Starts a policy and checks the fences around it.
///
/// # Errors
/// [`AttackError`]: it cannot be started.
pub fn fences(config: PoolConfig) -> Result<Vec<FenceCheck>, AttackError> {
    let limits = ProcessLimits::of(Profile::Policy);
    let isolation = config.isolation;
    let folder = tempfile::tempdir_in(&config.work_dir).map_err(AttackError::Files)?;
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .map_err(AttackError::Files)?;
    let (source, policy) = (folder.path().join("policy.py"), folder.path().join("policy"));
    fs::write(&source, HARMLESS).map_err(AttackError::Files)?;
    intake(&source, &policy, &IntakeLimits::default())?;
    let pool = Pool::new(PoolConfig { size: 0, ..config })?;
    let mut process = match pool.take(&policy, 1, None)? {
        LoadOutcome::Ready(process) => process,
        LoadOutcome::Failed(failure) => return Ok(vec![FenceCheck::new("a harmless policy", failure.message, "runs")]),
    };
    let pid = process.pid().unwrap_or_default();
    let proc = format!("/proc/{pid}");
    let proc = Path::new(&proc);
    let mut fences = namespaces(proc);
    fences.push(nesting(pid, isolation));
    fences.push(FenceCheck::new(
        "capabilities it could get",
        status_field(&read(proc, "status"), "CapBnd"),
        NO_CAPABILITIES,
    ));
    fences.push(mounts(proc));
    fences.push(resource(proc, ("Max processes", THREADS)));
    fences = fences.into_iter().map(|fence| fence.of_namespaces(isolation)).collect();
    fences.extend(status(proc, pool.cannot_fork().is_none()));
    fences.push(session(proc));
    fences.extend(resources(proc, &limits));
    drop(process.take_stream());
    process.finish();
    Ok(fences)
}

fn namespaces(proc: &Path) -> Vec<FenceCheck> {
    let of = |proc: &Path, name: &str| fs::read_link(proc.join("ns").join(name)).ok();
    NAMESPACES
        .map(|name| {
            let (policy, own) = (of(proc, name), of(Path::new("/proc/self"), name));
            let found = match policy {
                None => "unknown",
                Some(_) if policy == own => "shared with assay",
                Some(_) => "its own",
            };
            FenceCheck::new(&format!("{name} namespace"), found, "its own")
        })
        .into()
}

/// Checks whether the policy could create a user namespace if no filter forbade it.
fn nesting(pid: i32, isolation: Isolation) -> FenceCheck {
    if isolation != Isolation::Namespaces {
        return FenceCheck::new(NESTING, "as on the host", NO_NESTING);
    }
    let found = match can_nest_user_namespace(pid) {
        Ok(true) => "can be made".to_owned(),
        Ok(false) => NO_NESTING.to_owned(),
        Err(error) => format!("unknown: {error}"),
    };
    FenceCheck::new(NESTING, found, NO_NESTING)
}

fn read(proc: &Path, name: &str) -> String {
    fs::read_to_string(proc.join(name)).unwrap_or_default()
}

fn status(proc: &Path, is_forked: bool) -> Vec<FenceCheck> {
    let policy = read(proc, "status");
    let own = read(Path::new("/proc/self"), "status");
    let field = |name| status_field(&policy, name);
    // A container may already have applied a filter.
    let inherited: u32 = status_field(&own, "Seccomp_filters").parse().unwrap_or(0);
    let root = if field("Uid") == "0" { "root" } else { "an ordinary user" };
    vec![
        FenceCheck::new("user", root, "an ordinary user"),
        FenceCheck::new("capabilities", field("CapEff"), NO_CAPABILITIES),
        FenceCheck::new("no new privileges", field("NoNewPrivs"), "1"),
        FenceCheck::new(
            "system call filters",
            field("Seccomp_filters"),
            (inherited + FILTERS + u32::from(is_forked)).to_string(),
        ),
    ]
}

fn status_field(status: &str, name: &str) -> String {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or("unknown").split_whitespace().next().unwrap_or_default().to_owned()
}

/// Checks that it has a session of its own, and so no terminal.
fn session(proc: &Path) -> FenceCheck {
    let of = |proc: &Path| {
        let stat = fs::read_to_string(proc.join("stat")).unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default();
        fields.split_whitespace().nth(3).map(str::to_owned)
    };
    let found = if of(proc) == of(Path::new("/proc/self")) { "shared with assay" } else { "its own" };
    FenceCheck::new("session", found, "its own")
}

/// Checks that every file system it sees is read-only, except for the two devices.
fn mounts(proc: &Path) -> FenceCheck {
    let text = read(proc, "mountinfo");
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
    FenceCheck::new("writable mounts", found, "")
}

fn resources(proc: &Path, limits: &ProcessLimits) -> Vec<FenceCheck> {
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
    rows.map(|row| resource(proc, row)).into()
}

fn resource(proc: &Path, (name, expected): (&str, u64)) -> FenceCheck {
    let text = read(proc, "limits");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    // Soft limit, hard limit, unit.
    let found: Vec<_> = line.split_whitespace().take(2).collect();
    FenceCheck::new(&name.to_lowercase(), found.join(" "), format!("{expected} {expected}"))
}
