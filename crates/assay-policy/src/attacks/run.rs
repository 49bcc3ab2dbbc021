//! Runs the attacks one after another, and checks that each leaves nothing behind.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use assay_jail::ExitReason;

use super::driver::{AttackAnswer, drive};
use super::{Attack, JailVariant, Table};
use crate::{
    IntakeError, IntakeLimits, LoadOutcome, PolicyConnection, PolicyEnd, PolicyProcess, Pool, PoolConfig, PoolError,
    TakeError, intake,
};

/// Maximum time for which traces of a jail may remain after its end, on a busy machine.
const GONE_LIMIT: Duration = Duration::from_secs(60);
/// The limit of an import, in CPU time and in time asleep.
const IMPORT_CPU: Duration = Duration::from_millis(500);
const IMPORT_WALL: Duration = Duration::from_secs(3);

/// The report of one attack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttackReport {
    /// Its outcome: `refused: NAME ERRNO`, `got: VALUE` (it succeeded), `killed by signal N`, `ended with status N`,
    /// `killed: flood`, `killed: no answer`, `protocol violation`, `fault: CODE`, `not loaded: CODE`.
    pub outcome: String,
    /// Its remains: processes, descriptors, files. Empty if there are none.
    pub left: Vec<String>,
    /// The end of its log.
    pub log: String,
    /// The jail that it met.
    pub variant: JailVariant,
}

impl AttackReport {
    /// Returns whether it had the expected outcome, and left nothing.
    #[must_use]
    pub fn holds(&self, attack: &Attack) -> bool {
        outcome_matches(&self.outcome, attack.expected(self.variant)) && self.left.is_empty()
    }
}

/// An internal error that prevented the attacks from running.
#[derive(Debug, thiserror::Error)]
pub enum AttackError {
    /// The table could not be read.
    #[error("could not read the table of attacks")]
    Table(#[from] toml::de::Error),
    /// The policy's files could not be written.
    #[error("could not write the files of an attack")]
    Files(#[source] std::io::Error),
    /// The intake of the policy failed.
    #[error("the intake of an attack failed")]
    Intake(#[from] IntakeError),
    /// The pool could not be started.
    #[error("could not start a pool for attacks")]
    Pool(#[from] PoolError),
    /// A jail could not be started.
    #[error("could not start an attack")]
    Take(#[from] TakeError),
}

/// Runs every attack for which `wanted` holds and reports its outcome. Returns the reason why policies were not forked,
/// if they were not. `config.size` is set to 0, so that after each
/// attack there is no process and no descriptor that was not there before; the calling process may do nothing else
/// meanwhile.
///
/// # Errors
/// [`AttackError`]: an attack could not be run. The outcome of an attack is in its report.
pub fn run(
    config: PoolConfig,
    wanted: &dyn Fn(&Attack) -> bool,
    report: &mut dyn FnMut(&Attack, &AttackReport),
) -> Result<Option<String>, AttackError> {
    let table = Table::load()?;
    let (work, isolation) = (config.work_dir.clone(), config.isolation);
    let config = PoolConfig { size: 0, ..config };
    let config = PoolConfig {
        load: crate::LoadLimits { import_cpu: IMPORT_CPU, import_wall: IMPORT_WALL, ..config.load },
        ..config
    };
    let pool = Pool::new(config)?;
    for attack in table.attacks.iter().filter(|attack| wanted(attack)) {
        let before = Traces::of(&work);
        let folder = tempfile::tempdir_in(&work).map_err(AttackError::Files)?;
        let (outcome, log) = make(&pool, attack, folder.path())?;
        drop(folder);
        let left = before.left(&work);
        let variant = JailVariant { isolation, is_forked: pool.cannot_fork().is_none() };
        report(attack, &AttackReport { outcome, left, log, variant });
    }
    Ok(pool.cannot_fork())
}

fn make(pool: &Pool, attack: &Attack, folder: &Path) -> Result<(String, String), AttackError> {
    let open = |path: &Path| fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755));
    open(folder).map_err(AttackError::Files)?;
    let source = folder.join("source");
    fs::create_dir(&source).map_err(AttackError::Files)?;
    for (name, text) in attack.files() {
        fs::write(source.join(name), text).map_err(AttackError::Files)?;
    }
    let policy = folder.join("policy");
    intake(&source, &policy, &IntakeLimits::default())?;
    Ok(match pool.take(&policy, 1, Some(0))? {
        LoadOutcome::Failed(failure) => (format!("not loaded: {}", failure.code), failure.log_tail),
        LoadOutcome::Ready(policy) => attempt(policy, attack.patience()),
    })
}

fn attempt(mut policy: Box<PolicyProcess>, patience: Duration) -> (String, String) {
    let nonce = policy.nonce();
    let Some(mut stream) = policy.take_stream() else { return ("no stream".to_owned(), String::new()) };
    let answer = drive(&mut stream, nonce, patience);
    drop(stream);
    let end = if answer == AttackAnswer::Silent { policy.abort() } else { policy.finish() };
    (outcome(&answer, &end), end.log_tail)
}

/// Returns true if `outcome` is the expected one. The form `got: ...` matches any value, which depends on the machine.
fn outcome_matches(outcome: &str, expected: &str) -> bool {
    match expected.strip_suffix("...") {
        Some(begin) => outcome.starts_with(begin),
        None => outcome == expected,
    }
}

fn outcome(answer: &AttackAnswer, end: &PolicyEnd) -> String {
    let exit = end.exit.as_ref();
    match answer {
        AttackAnswer::Fault(fault) => format!("fault: {}", assay_model::sanitise(fault.code.as_str(), 32)),
        AttackAnswer::Protocol => "protocol violation".to_owned(),
        AttackAnswer::Silent => "killed: no answer".to_owned(),
        AttackAnswer::Closed => match exit {
            Some(exit) if exit.reason == ExitReason::Flooded => "killed: flood".to_owned(),
            Some(exit) => match (exit.signal, exit.code) {
                (Some(signal), _) => format!("killed by signal {signal}"),
                (None, code) => format!("ended with status {}", code.unwrap_or(0)),
            },
            None => "closed".to_owned(),
        },
        AttackAnswer::Actions => match exit {
            Some(exit) if exit.reason == ExitReason::Killed => "killed: did not leave".to_owned(),
            _ => {
                let printed =
                    end.log_tail.lines().rev().find(|line| line.starts_with("refused:") || line.starts_with("got:"));
                printed.unwrap_or("harmless").trim().to_owned()
            }
        },
    }
}

/// The traces of this process: children, descriptors, files in the work folder, control groups.
struct Traces(BTreeSet<String>);

impl Traces {
    fn of(work: &Path) -> Self {
        let mut traces = BTreeSet::new();
        traces.extend(children().into_iter().map(|pid| format!("process {pid}")));
        traces.extend(names(Path::new("/proc/self/fd")).into_iter().map(|name| format!("descriptor {name}")));
        for folder in [work, Path::new("/sys/fs/cgroup")] {
            traces.extend(names(folder).into_iter().map(|name| format!("{}/{name}", folder.display())));
            for inner in names(folder).into_iter().filter(|name| name.starts_with("pool-")) {
                traces.extend(names(&folder.join(&inner)).into_iter().map(|name| format!("{inner}/{name}")));
            }
        }
        Self(traces)
    }

    /// Returns the traces that did not exist before, after giving killed processes a short time to end.
    fn left(&self, work: &Path) -> Vec<String> {
        let until = Instant::now() + GONE_LIMIT;
        loop {
            let left: Vec<_> = Self::of(work).0.difference(&self.0).cloned().collect();
            if left.is_empty() || Instant::now() > until {
                return left;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Returns the descendants of this process.
fn children() -> Vec<u32> {
    let parents: Vec<(u32, u32)> = names(Path::new("/proc"))
        .into_iter()
        .filter_map(|name| {
            let pid: u32 = name.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            let parent = stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()?;
            Some((pid, parent))
        })
        .collect();
    let mut family = vec![std::process::id()];
    let mut index = 0;
    while let Some(&parent) = family.get(index) {
        family.extend(parents.iter().filter(|(_, p)| *p == parent).map(|(pid, _)| *pid));
        index += 1;
    }
    family.split_off(1)
}
