//! Measures the cost of a jailed policy: taking one from the warm pool, and the round trip of a step on one core.
//!
//! `cargo run --release -p assay-policy --example latency -- vendor/runtimes`

#![expect(clippy::print_stdout, reason = "prints its results")]

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_jail::default_cache_root;
use assay_model::frame::{ArraySpec, Dtype, FrameKind, HEADER_BYTES, Init, frame};
use assay_policy::{
    LoadOutcome, LoadRequest, PolicyConnection, PolicyHome, PolicyProcess, Pool, PoolConfig, ProcessBudget,
    RuntimeLibrary,
};

type LatencyResult<T> = Result<T, Box<dyn std::error::Error>>;

const POLICY: &str = "import numpy as np\nA = np.zeros(7)\ndef policy(observation):\n    return A\n";
const ACTION_DIM: u32 = 7;
const STEPS: u32 = 5000;
const TAKES: usize = 20;

fn main() -> LatencyResult<()> {
    let runtimes = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("vendor/runtimes"), PathBuf::from);
    let library = RuntimeLibrary::new(vec![runtimes], default_cache_root());
    let folder = tempfile::tempdir()?;
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let dir = folder.path().join("policy");
    std::fs::create_dir(&dir)?;
    std::fs::write(dir.join("policy.py"), POLICY)?;

    let config = PoolConfig::new(2, library.open(library.base()?)?, folder.path());
    let pool = Pool::new(config)?;
    let cold = Instant::now();
    ready(&pool, &dir, &PolicyHome::default())?.finish();
    println!("first take, cold:        {:8.2} ms", millis(cold.elapsed()));

    let mut takes = Vec::new();
    for _ in 0..TAKES {
        // Long enough for the pool to be warm again.
        std::thread::sleep(Duration::from_millis(400));
        // Its fork server lives as long as its job, so its end is not part of a take.
        let home = PolicyHome::default();
        let start = Instant::now();
        let process = ready(&pool, &dir, &home)?;
        takes.push(start.elapsed());
        process.finish();
    }
    report("take from a warm pool", &mut takes);

    let mut churn = Vec::new();
    for _ in 0..TAKES {
        let start = Instant::now();
        ready(&pool, &dir, &PolicyHome::default())?.finish();
        churn.push(start.elapsed());
    }
    report("take and end, back to back", &mut churn);

    rustix::thread::sched_setaffinity(None, &one_core())?;
    for (name, arrays) in [
        ("step, 64 floats", vec![array("qpos", Dtype::F64, &[64])]),
        ("step, and an image", vec![array("qpos", Dtype::F64, &[64]), array("images/a", Dtype::U8, &[224, 224, 3])]),
    ] {
        report(name, &mut steps(ready(&pool, &dir, &PolicyHome::default())?, arrays)?);
    }
    Ok(())
}

fn one_core() -> rustix::thread::CpuSet {
    let mut set = rustix::thread::CpuSet::new();
    set.set(0);
    set
}

fn ready(pool: &Pool, dir: &Path, home: &PolicyHome) -> LatencyResult<Box<PolicyProcess>> {
    let allowance = ProcessBudget { import_cpu: Duration::from_secs(10), cpu_s: 60, memory_bytes: 2 << 30 };
    let (policy_dir, home) = (dir.to_owned(), home.clone());
    match pool
        .prepare(LoadRequest {
            policy_dir,
            home,
            seed: 1,
            core: Some(0),
            allowance,
            replan_steps: None,
            patience: None,
        })?
        .wait()?
    {
        LoadOutcome::Ready(process) => Ok(process),
        LoadOutcome::Failed(failure) => Err(format!("{failure:?}").into()),
    }
}

fn array(name: &str, dtype: Dtype, shape: &[u32]) -> ArraySpec {
    ArraySpec { name: name.to_owned(), dtype, shape: shape.to_vec() }
}

/// Returns the round trips of a whole episode, and ends `process`.
fn steps(mut process: Box<PolicyProcess>, observation: Vec<ArraySpec>) -> LatencyResult<Vec<Duration>> {
    let mut stream = process.take_stream().ok_or("no stream")?;
    let nonce = process.nonce();
    let bytes = |spec: &ArraySpec| {
        spec.shape.iter().map(|n| *n as usize).product::<usize>() * if spec.dtype == Dtype::F64 { 8 } else { 1 }
    };
    let payload = vec![0; 16 + observation.iter().map(bytes).sum::<usize>()];
    let init = Init { seed: 1, scenario: "s".to_owned(), instruction: None, observation, action_dim: ACTION_DIM };
    stream.write_all(&frame(FrameKind::Init, 0, nonce, &serde_json::to_vec(&init)?))?;
    stream.read_exact(&mut [0; HEADER_BYTES])?;
    let mut times = Vec::new();
    for seq in 0..STEPS {
        let start = Instant::now();
        stream.write_all(&frame(FrameKind::Observation, seq, nonce, &payload))?;
        stream.read_exact(&mut [0; HEADER_BYTES + 8 * ACTION_DIM as usize])?;
        times.push(start.elapsed());
    }
    stream.write_all(&frame(FrameKind::Close, 0, nonce, &[]))?;
    process.finish();
    Ok(times)
}

fn report(name: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |share: usize| millis(times[(times.len() - 1) * share / 100]);
    println!("{name:26} median {:8.4} ms, p95 {:8.4}, p99 {:8.4}, max {:8.4}", at(50), at(95), at(99), at(100));
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
