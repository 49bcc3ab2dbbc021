//! A small driver that exchanges frames like a lane, with real jails and the real Python.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_jail::default_cache_root;
use assay_model::frame::{
    ArraySpec, Dtype, FrameKind, HEADER_BYTES, Header, Init, MAX_REPLY_BYTES, PolicyFault, frame,
};
use assay_policy::{
    IntakeLimits, LoadOutcome, LoadRequest, PolicyConnection, PolicyEnd, PolicyFailure, PolicyHome, PolicyProcess,
    PolicyStream, Pool, PoolConfig, ProcessBudget, Runtime, RuntimeLibrary, intake,
};
use assay_testkit::PATIENCE;

pub(crate) const ACTION_DIM: u32 = 7;

/// A pool in its own folder, and policies next to it.
pub(crate) struct Bench {
    pub(crate) pool: Option<Pool>,
    pub(crate) folder: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new(size: usize, change: impl FnOnce(&mut PoolConfig)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Created with mode 0700, but the jail's user must be able to enter it when the tests run as root.
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let mut config = PoolConfig::new(size, runtime(), folder.path());
        change(&mut config);
        Self { pool: Some(Pool::new(config).unwrap()), folder }
    }

    /// Returns the configuration of a pool in the same folder.
    pub(crate) fn config(&self) -> PoolConfig {
        PoolConfig::new(0, runtime(), self.folder.path())
    }

    pub(crate) fn pool(&self) -> &Pool {
        self.pool.as_ref().unwrap()
    }

    /// Copies the runtime and adds a program that its interpreters run when they start. Returns its root.
    pub(crate) fn changed_runtime(&self, name: &str, start: &str) -> PathBuf {
        let root = self.folder.path().join(name);
        let copied = std::process::Command::new("cp").arg("-a").arg(&*self.config().runtime.root).arg(&root).status();
        assert!(copied.unwrap().success());
        let mut found = std::fs::read_dir(root.join("py/lib")).unwrap().map(|entry| entry.unwrap().path());
        let library = found.find(|path| path.join("os.py").is_file()).unwrap();
        std::fs::write(library.join("sitecustomize.py"), start).unwrap();
        root
    }

    /// Returns a request to load a policy with the limits of the pool.
    pub(crate) fn order(&self, policy_dir: &Path, seed: u64) -> LoadRequest {
        let limits = assay_jail::ProcessLimits::of(assay_jail::Profile::Policy);
        let allowance = ProcessBudget {
            import_cpu: Duration::from_secs(10),
            cpu_s: limits.cpu_s,
            memory_bytes: limits.address_space_bytes,
        };
        let home = PolicyHome::default();
        let policy_dir = policy_dir.to_owned();
        LoadRequest { policy_dir, home, seed, core: None, allowance, replan_steps: None, patience: None }
    }

    /// Creates a policy of several files.
    pub(crate) fn policy(&self, name: &str, files: &[(&str, &str)]) -> PathBuf {
        let source = self.folder.path().join(format!("{name}.src"));
        std::fs::create_dir(&source).unwrap();
        for (file, text) in files {
            let path = source.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let dest = self.folder.path().join(name);
        intake(&source, &dest, &IntakeLimits::default()).unwrap();
        dest
    }

    pub(crate) fn load(&self, name: &str, files: &[(&str, &str)]) -> LoadOutcome {
        self.pool().take(&self.policy(name, files), 1, Some(0)).unwrap()
    }

    pub(crate) fn fails(&self, name: &str, files: &[(&str, &str)]) -> PolicyFailure {
        match self.load(name, files) {
            LoadOutcome::Failed(failure) => *failure,
            LoadOutcome::Ready(_) => panic!("{name} was loaded"),
        }
    }

    /// Loads a policy and begins its episode; it answers INIT with READY.
    pub(crate) fn begins(&self, name: &str, files: &[(&str, &str)]) -> Driver {
        let mut driver = Driver::new(self.load(name, files));
        assert_eq!(driver.begin(), Answer::Ready, "{name}");
        driver
    }

    /// Runs one step of a policy. Returns its answer, and how it ended.
    pub(crate) fn step_of(&self, name: &str, files: &[(&str, &str)]) -> (Answer, PolicyEnd) {
        let mut driver = Driver::new(self.load(name, files));
        let answer = match driver.begin() {
            Answer::Ready => driver.step(0),
            other => other,
        };
        (answer, driver.finish())
    }

    /// Drops the pool, and checks that no process and no folder of it is left.
    pub(crate) fn close(mut self) {
        self.pool = None;
        let left: Vec<_> = std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("pool-"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// Returns the runtime `base`.
pub(crate) fn runtime() -> Runtime {
    runtime_of("base")
}

/// Returns a runtime of the repository.
pub(crate) fn runtime_of(name: &str) -> Runtime {
    let library = RuntimeLibrary::new(vec![runtimes()], default_cache_root());
    library.open(library.current(&name.parse().unwrap()).unwrap()).unwrap()
}

/// Returns the folder of the repository's runtimes.
pub(crate) fn runtimes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vendor/runtimes").canonicalize().unwrap()
}

/// The answer of a policy.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    Ready,
    Action(Vec<f64>),
    Fault(PolicyFault),
    /// A frame that does not answer the request.
    Forged(FrameKind),
    /// No frame at all.
    Garbage,
    Closed,
    Silent,
}

impl Answer {
    pub(crate) fn fault(self) -> PolicyFault {
        match self {
            Self::Fault(fault) => fault,
            other => panic!("{other:?}"),
        }
    }
}

/// The lane's side of a policy.
pub(crate) struct Driver {
    pub(crate) process: Box<PolicyProcess>,
    pub(crate) stream: PolicyStream,
    pub(crate) deadline: Duration,
    /// Numbers of actions in the answers that its actions begin, 0 for later ones.
    pub(crate) counts: Vec<u16>,
}

impl Driver {
    pub(crate) fn new(load: LoadOutcome) -> Self {
        let mut process = match load {
            LoadOutcome::Ready(process) => process,
            LoadOutcome::Failed(failure) => panic!("{failure:?}"),
        };
        let stream = process.take_stream().unwrap();
        Self { process, stream, deadline: PATIENCE, counts: Vec::new() }
    }

    pub(crate) fn begin(&mut self) -> Answer {
        let array = ArraySpec { name: "qpos".to_owned(), dtype: Dtype::F64, shape: vec![8, 8] };
        let image = ArraySpec { name: "images/top".to_owned(), dtype: Dtype::U8, shape: vec![2, 2, 3] };
        let depth = ArraySpec { name: "depth/top".to_owned(), dtype: Dtype::F32, shape: vec![2, 1] };
        let init = Init {
            seed: 5,
            scenario: "table".to_owned(),
            instruction: Some("reach".to_owned()),
            observation: vec![array, image, depth],
            action_dim: ACTION_DIM,
        };
        self.send(FrameKind::Init, 0, &serde_json::to_vec(&init).unwrap());
        self.receive(0, FrameKind::Ready)
    }

    /// Sends observation `seq`: time `seq`, qpos 0.0, 1.0, ... , image bytes 0, 1, ..., depths 0.5 and 1.5.
    pub(crate) fn step(&mut self, seq: u32) -> Answer {
        let numbers = [f64::from(seq), 10.0].into_iter().chain((0..64).map(f64::from));
        let depths = [0.5_f32, 1.5].into_iter().flat_map(f32::to_le_bytes);
        let payload: Vec<u8> = numbers.flat_map(f64::to_le_bytes).chain(0..12).chain(depths).collect();
        self.send(FrameKind::Observation, seq, &payload);
        self.receive(seq, FrameKind::Action)
    }

    pub(crate) fn send(&mut self, kind: FrameKind, seq: u32, payload: &[u8]) {
        // A dead policy is detected when its answer is received.
        drop(self.stream.write_all(&frame(kind, seq, self.process.nonce(), payload)));
    }

    fn receive(&mut self, seq: u32, expected: FrameKind) -> Answer {
        let end = Instant::now() + self.deadline;
        let mut bytes = [0; HEADER_BYTES];
        if let Some(bad) = self.fill(&mut bytes, end) {
            return bad;
        }
        let Ok(header) = Header::decode(&bytes, MAX_REPLY_BYTES) else { return Answer::Garbage };
        let mut payload = vec![0; header.length as usize];
        if let Some(bad) = self.fill(&mut payload, end) {
            return bad;
        }
        if header.kind == FrameKind::Action {
            self.counts.push(header.actions);
        }
        let is_expected = header.nonce == self.process.nonce() && header.seq == seq;
        match header.kind {
            FrameKind::Ready if is_expected && expected == FrameKind::Ready => Answer::Ready,
            FrameKind::Action
                if is_expected && expected == FrameKind::Action && payload.len() == 8 * ACTION_DIM as usize =>
            {
                Answer::Action(payload.chunks(8).map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap())).collect())
            }
            FrameKind::Error if is_expected => Answer::Fault(serde_json::from_slice(&payload).unwrap()),
            other => Answer::Forged(other),
        }
    }

    fn fill(&mut self, mut rest: &mut [u8], end: Instant) -> Option<Answer> {
        while !rest.is_empty() {
            let left = end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            if !self.stream.is_readable(left) {
                return Some(Answer::Silent);
            }
            match self.stream.read(rest) {
                Ok(0) => return Some(Answer::Closed),
                Ok(n) => rest = &mut rest[n..],
                Err(_) => return Some(Answer::Closed),
            }
        }
        None
    }

    /// Ends the policy as a lane and its worker would, and checks that nothing of the process is left.
    pub(crate) fn finish(mut self) -> PolicyEnd {
        self.send(FrameKind::Close, 0, &[]);
        self.end(|process| process.finish())
    }

    pub(crate) fn abort(self) -> PolicyEnd {
        self.end(|process| process.abort())
    }

    fn end(self, how: impl FnOnce(Box<PolicyProcess>) -> PolicyEnd) -> PolicyEnd {
        let pid = self.process.pid().unwrap();
        drop(self.stream);
        let end = how(self.process);
        assert!(!Path::new(&format!("/proc/{pid}")).exists(), "the process is still there");
        end
    }
}
