//! Measures the CPU time of a start, from the request to the exit, of a policy that does nothing: forked, and as an
//! interpreter of its own. Counts the process, its fork server and this one. The fork server's own start, once for each
//! job, is printed apart. Prints a line of JSON for each runtime.
//!
//! `cargo run --release -p assay-policy --example starts -- vendor/runtimes target/runtimes`

#![expect(clippy::print_stdout, reason = "prints its results")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_jail::{ProcessLimits, Profile, default_cache_root};
use assay_policy::{
    LoadOutcome, LoadRequest, PolicyConnection, PolicyHome, Pool, PoolConfig, ProcessBudget, Runtime, RuntimeLibrary,
};
use serde_json::{Value, json};

type StartResult<T> = Result<T, Box<dyn std::error::Error>>;

const POLICY: &str = "def policy(observation):\n    return [0.0] * 7\n";
/// Enough that ticks of 10 ms do not matter.
const FORKED: u32 = 100;
const EXECUTED: u32 = 5;
/// Unit of the times in /proc/PID/stat.
const TICK_MS: u64 = 10;

fn main() -> StartResult<()> {
    let folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let library = RuntimeLibrary::new(folders, default_cache_root());
    let folder = tempfile::tempdir()?;
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let dir = folder.path().join("policy");
    std::fs::create_dir(&dir)?;
    std::fs::write(dir.join("policy.py"), POLICY)?;
    for installed in library.list().into_iter().filter(|runtime| runtime.current) {
        let name = installed.manifest.name.clone();
        let runtime = library.open(installed)?;
        let (forked, once, why) = of_runtime(&runtime, (folder.path(), &dir), true, FORKED)?;
        let (executed, _, _) = of_runtime(&runtime, (folder.path(), &dir), false, EXECUTED)?;
        let forked = if why.is_none() { json!(forked) } else { Value::Null };
        let row = json!({ "runtime": name, "forked_ms": forked, "executed_ms": executed, "once_ms": once });
        println!("{}", json!({ "start": row, "not_forked_because": why }));
    }
    Ok(())
}

/// Returns the CPU time of a start, that of the first one with the start of its fork server, in ms, and the reason why
/// processes were not forked.
fn of_runtime(
    runtime: &Runtime,
    (work, dir): (&Path, &Path),
    forks: bool,
    starts: u32,
) -> StartResult<(f64, f64, Option<String>)> {
    let pool = Pool::new(PoolConfig { forks, ..PoolConfig::new(0, runtime.clone(), work) })?;
    let home = PolicyHome::default();
    let before = cpu_time(None)?;
    let of_process = start(&pool, &home, dir)?;
    let once = of_process + cpu_time(home.fork_server())?.saturating_sub(before);
    let before = cpu_time(home.fork_server())?;
    let mut used = Duration::ZERO;
    for _ in 0..starts {
        used += start(&pool, &home, dir)?;
    }
    used += cpu_time(home.fork_server())?.saturating_sub(before);
    Ok((1e3 * used.as_secs_f64() / f64::from(starts), 1e3 * once.as_secs_f64(), pool.cannot_fork()))
}

/// Starts and ends a process; returns its CPU time.
fn start(pool: &Pool, home: &PolicyHome, dir: &Path) -> StartResult<Duration> {
    let limits = ProcessLimits::of(Profile::Policy);
    let allowance = ProcessBudget {
        import_cpu: Duration::from_secs(10),
        cpu_s: limits.cpu_s,
        memory_bytes: limits.address_space_bytes,
    };
    let (policy_dir, home) = (dir.to_owned(), home.clone());
    match pool
        .prepare(LoadRequest { policy_dir, home, seed: 1, core: None, allowance, replan_steps: None, patience: None })?
        .wait()?
    {
        LoadOutcome::Ready(process) => Ok(process.finish().exit.ok_or("no exit")?.cpu),
        LoadOutcome::Failed(failure) => Err(format!("{failure:?}").into()),
    }
}

/// Returns the CPU time of this process and of a fork server, without the processes that it forked.
fn cpu_time(server: Option<i32>) -> StartResult<Duration> {
    let own = ticks("self")?;
    Ok(own + server.map_or(Ok(Duration::ZERO), |pid| ticks(&pid.to_string()))?)
}

/// Returns the CPU time of a process, with the threads that have ended.
fn ticks(process: &str) -> StartResult<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let mut fields = text.rsplit_once(')').ok_or("no fields")?.1.split_whitespace().skip(11).map(str::parse::<u64>);
    let (user, system) = (fields.next().ok_or("no field")??, fields.next().ok_or("no field")??);
    Ok(Duration::from_millis(TICK_MS * (user + system)))
}
