//! Measures the time that the jail adds to a step, in one run on one processor: round trips of an observation through a
//! jailed policy and its runner, against the same interpreter without a jail behind two pipes; and how much refilling a
//! pool slows a policy that acts on the same processor. Prints JSON.
//!
//! `cargo run --release -p assay-policy --example round_trip -- vendor/runtimes`

#![expect(clippy::print_stdout, reason = "prints its results")]

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use assay_jail::default_cache_root;
use assay_model::frame::{ArraySpec, Dtype, FrameKind, HEADER_BYTES, Init, frame};
use assay_policy::{LoadOutcome, PolicyConnection, PolicyProcess, PolicyStream, Pool, PoolConfig, RuntimeLibrary};

type RoundTripResult<T> = Result<T, Box<dyn std::error::Error>>;

const POLICY: &str = "import numpy as np\nA = np.zeros(7)\ndef policy(observation):\n    return A\n";
/// The minimal work of a policy behind a pipe: read an observation, make an array of it, write an action.
const BARE: &str = "
import os, sys
import numpy as np
size, action = int(sys.argv[1]), np.zeros(7)
def policy(observation):
    return action
while True:
    frame = bytearray(size)
    view = memoryview(frame)
    n = os.readv(0, (view,))
    while 0 < n < size:
        got = os.readv(0, (view[n:],))
        if got == 0:
            break
        n += got
    if n < size:
        break
    os.write(1, np.asarray(policy({'q': np.frombuffer(frame, 'u1')}), '<f8').tobytes())
";
const ACTION_DIM: u32 = 7;
const ACTION_BYTES: usize = 8 * ACTION_DIM as usize;
/// Time, and time remaining.
const TIMES_BYTES: usize = 16;
/// Both sides take turns, so that other load on the machine affects both.
const ROUNDS: usize = 20;
const STEPS: u32 = 500;
/// Maximum time to wait for a policy's answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// The work of a lane between two steps of a policy.
const PHYSICS: Duration = Duration::from_micros(100);
/// Steps of a whole episode of 10 s at 50 per second.
const EPISODE_STEPS: u32 = 500;
const EPISODES: usize = 15;
/// A lane's niceness, so that competing processes see the real one.
const LANE_NICE: i32 = 10;

fn main() -> RoundTripResult<()> {
    let runtimes = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("vendor/runtimes"), PathBuf::from);
    let library = RuntimeLibrary::new(vec![runtimes], default_cache_root());
    let base = library.base()?;
    let folder = tempfile::tempdir()?;
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let dir = folder.path().join("policy");
    std::fs::create_dir(&dir)?;
    std::fs::write(dir.join("policy.py"), POLICY)?;
    let config = PoolConfig::new(0, library.open(base.clone())?, folder.path());
    let free = Pool::new(config.clone())?;
    // Inherited by everything started after this: a pool, its interpreters, the bare one.
    rustix::thread::sched_setaffinity(None, &one_core())?;
    let pool = Pool::new(config)?;

    let small = vec![array("qpos", Dtype::F64, &[64])];
    let image = vec![array("qpos", Dtype::F64, &[64]), array("images/a", Dtype::U8, &[224, 224, 3])];
    let mut measured = serde_json::Map::new();
    for (name, arrays) in [("floats", small.clone()), ("image", image)] {
        let (jailed, bare) = compare(ready(&pool, &dir)?, arrays, &base.folder)?;
        measured.insert(name.to_owned(), serde_json::json!({ "jailed_us": jailed, "bare_us": bare }));
    }
    for (name, refilled) in [("refill_beside", &free), ("refill_on_same", &pool)] {
        let (alone, beside, refills) = refilling(refilled, &dir, &small)?;
        measured
            .insert(name.to_owned(), serde_json::json!({ "alone_ms": alone, "beside_ms": beside, "refills": refills }));
    }
    println!("{}", serde_json::Value::Object(measured));
    Ok(())
}

fn one_core() -> rustix::thread::CpuSet {
    let mut set = rustix::thread::CpuSet::new();
    set.set(0);
    set
}

fn ready(pool: &Pool, dir: &Path) -> RoundTripResult<Box<PolicyProcess>> {
    match pool.take(dir, 1, Some(0))? {
        LoadOutcome::Ready(process) => Ok(process),
        LoadOutcome::Failed(failure) => Err(format!("{failure:?}").into()),
    }
}

fn array(name: &str, dtype: Dtype, shape: &[u32]) -> ArraySpec {
    ArraySpec { name: name.to_owned(), dtype, shape: shape.to_vec() }
}

fn bytes_of(arrays: &[ArraySpec]) -> usize {
    let one = |array: &ArraySpec| {
        array.shape.iter().map(|n| *n as usize).product::<usize>() * if array.dtype == Dtype::F64 { 8 } else { 1 }
    };
    TIMES_BYTES + arrays.iter().map(one).sum::<usize>()
}

/// A jailed policy in an episode.
struct JailedPolicy {
    process: Box<PolicyProcess>,
    stream: PolicyStream,
    nonce: u64,
    seq: u32,
    payload: Vec<u8>,
}

impl JailedPolicy {
    fn begin(mut process: Box<PolicyProcess>, arrays: Vec<ArraySpec>) -> RoundTripResult<Self> {
        let mut stream = process.take_stream().ok_or("no stream")?;
        let (nonce, payload) = (process.nonce(), vec![0; bytes_of(&arrays)]);
        let init =
            Init { seed: 1, scenario: "s".to_owned(), instruction: None, observation: arrays, action_dim: ACTION_DIM };
        stream.write_all(&frame(FrameKind::Init, 0, nonce, &serde_json::to_vec(&init)?))?;
        stream.read_exact(&mut [0; HEADER_BYTES])?;
        Ok(Self { process, stream, nonce, seq: 0, payload })
    }

    fn step(&mut self) -> RoundTripResult<()> {
        self.stream.write_all(&frame(FrameKind::Observation, self.seq, self.nonce, &self.payload))?;
        // Like a lane, which reads the policy's clock while it waits.
        if !self.stream.is_readable(PATIENCE) {
            return Err("no answer".into());
        }
        self.stream.read_exact(&mut [0; HEADER_BYTES + ACTION_BYTES])?;
        self.seq += 1;
        Ok(())
    }

    fn end(mut self) -> RoundTripResult<()> {
        self.stream.write_all(&frame(FrameKind::Close, 0, self.nonce, &[]))?;
        self.process.finish();
        Ok(())
    }
}

/// The same interpreter, started through its loader, without a jail.
struct Bare {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    observation: Vec<u8>,
}

impl Bare {
    fn start(runtime: &Path, size: usize) -> RoundTripResult<Self> {
        let runtime = runtime.canonicalize()?;
        let mut child = Command::new(runtime.join("lib64/ld-linux-x86-64.so.2"))
            .arg("--library-path")
            .arg(runtime.join("lib/x86_64-linux-gnu"))
            .arg(runtime.join("py/bin/python3"))
            .args(["-B", "-P", "-s", "-c", BARE, &size.to_string()])
            .env_clear()
            .envs([("PYTHONHOME", runtime.join("py").as_os_str()), ("OPENBLAS_NUM_THREADS", "1".as_ref())])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (input, output) = (child.stdin.take().ok_or("no pipe")?, child.stdout.take().ok_or("no pipe")?);
        Ok(Self { child, input, output, observation: vec![0; size] })
    }

    fn step(&mut self) -> RoundTripResult<()> {
        self.input.write_all(&self.observation)?;
        Ok(self.output.read_exact(&mut [0; ACTION_BYTES])?)
    }

    fn end(mut self) -> RoundTripResult<()> {
        drop(self.input);
        self.child.wait()?;
        Ok(())
    }
}

/// Returns the microseconds of a round trip with and without a jail: the median of each round.
fn compare(
    process: Box<PolicyProcess>,
    arrays: Vec<ArraySpec>,
    runtime: &Path,
) -> RoundTripResult<(Vec<f64>, Vec<f64>)> {
    let mut bare = Bare::start(runtime, bytes_of(&arrays))?;
    let mut jailed = JailedPolicy::begin(process, arrays)?;
    let (mut jailed_us, mut bare_us) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        jailed_us.push(median_us(|| jailed.step())?);
        bare_us.push(median_us(|| bare.step())?);
    }
    jailed.end()?;
    bare.end()?;
    Ok((jailed_us, bare_us))
}

fn median_us(mut step: impl FnMut() -> RoundTripResult<()>) -> RoundTripResult<f64> {
    let mut times = Vec::new();
    for _ in 0..STEPS {
        let start = Instant::now();
        step()?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_unstable_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// Returns the milliseconds of episodes alone and of episodes during which an interpreter is started, in turns, and the
/// number of interpreters started.
fn refilling(pool: &Pool, dir: &Path, arrays: &[ArraySpec]) -> RoundTripResult<(Vec<f64>, Vec<f64>, u32)> {
    rustix::process::setpriority_process(None, LANE_NICE)?;
    let (is_wanted, is_over, refills) = (AtomicBool::new(false), AtomicBool::new(false), AtomicU32::new(0));
    let mut policy = JailedPolicy::begin(ready(pool, dir)?, arrays.to_vec())?;
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    std::thread::scope(|scope| -> RoundTripResult<()> {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // One interpreter per episode, like the pool of a busy lane.
                if is_wanted.swap(false, Ordering::Relaxed) && ready(pool, dir).is_ok() {
                    refills.fetch_add(1, Ordering::Relaxed);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        for _ in 0..EPISODES {
            alone.push(episode(&mut policy)?);
            let before = refills.load(Ordering::Relaxed);
            is_wanted.store(true, Ordering::Relaxed);
            beside.push(episode(&mut policy)?);
            while refills.load(Ordering::Relaxed) == before {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        is_over.store(true, Ordering::Relaxed);
        Ok(())
    })?;
    policy.end()?;
    Ok((alone, beside, refills.into_inner()))
}

fn episode(policy: &mut JailedPolicy) -> RoundTripResult<f64> {
    let start = Instant::now();
    for _ in 0..EPISODE_STEPS {
        let physics = Instant::now();
        while physics.elapsed() < PHYSICS {
            std::hint::spin_loop();
        }
        policy.step()?;
    }
    Ok(start.elapsed().as_secs_f64() * 1e3)
}
