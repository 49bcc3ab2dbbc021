//! Two runtimes side by side: a policy in one sees nothing of the other, and libraries built for older systems load.

use std::path::{Path, PathBuf};

use assay_jail::{MemoryCopy, default_cache_root, stage_in_memory};
use assay_model::Isolation;
use assay_policy::{LoadRequest, PolicyConnection, Pool, PoolConfig};

use crate::jailed::common::{Answer, Bench, Driver, runtime_of, runtimes};

/// Looks for another runtime: its modules, `FILES` of the host below every root that a process can name, the list of
/// mounts, and `SECRETS` in everything that it can read of itself. Acts by the number of its own files that it can
/// open and the number of modules of `OWN` that it can import; fails at the first step with the list of what it found.
const LOOKS: &str = r#"
import ctypes, importlib, importlib.util, os, sys

found = []

def opens(path):
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True

def look(path):
    if opens(path):
        found.append('opened ' + path)
    for attempt in (os.listdir, os.readlink) if IS_LANDLOCKED else (os.listdir, os.readlink, os.lstat):
        try:
            attempt(path)
        except OSError:
            continue
        found.append(f'{attempt.__name__} of {path}')

own = sum(opens(path) for path in (os.path.join(sys.prefix, 'bin/python3'), os.path.dirname(os.__file__), os.__file__))
owned = sum(importlib.util.find_spec(name) is not None for name in OWN)
for name in OTHERS:
    try:
        importlib.import_module(name)
    except ImportError:
        continue
    found.append('imported ' + name)
up = '../' * 12
for path in FILES:
    for root in ['', '/policy/' + up, '/py/' + up, '/proc/self/root', '/proc/self/cwd/' + up, '/proc/1/root',
                 *(f'/proc/{pid}/root' for pid in PIDS), *(f'/proc/self/fd/{fd}/' + up for fd in range(16))]:
        look(root + path)
texts = {name: os.fsencode(repr(value)) for name, value in (
    ('environment', dict(os.environ)), ('path', sys.path), ('arguments', sys.orig_argv), ('modules', sys.modules))}
environment = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), 'environ')
index = 0
while environment and environment[index]:
    texts[f'variable {index}'] = environment[index]
    index += 1
for name in ('mountinfo', 'mounts', 'maps', 'environ', 'cmdline', 'status'):
    for process in ('self', 'thread-self', 1, os.getpid(), *PIDS):
        path = f'/proc/{process}/{name}'
        if opens(path):
            texts[path] = open(path, 'rb').read()
for name, text in texts.items():
    found += [f'{name} has {secret}' for secret in SECRETS if secret.encode() in text]

def policy(observation):
    assert not found, found
    return [float(own), float(owned)] + [0.0] * 5
"#;

/// A runtime of a host, with its copy in memory, and the modules that only it has.
struct Side {
    name: &'static str,
    only: &'static [&'static str],
    folder: PathBuf,
    root: PathBuf,
    memory: MemoryCopy,
}

impl Side {
    fn of(name: &'static str, only: &'static [&'static str]) -> Self {
        let root = runtime_of(name).root.to_path_buf();
        let memory = stage_in_memory(&root).unwrap();
        Self { name, only, folder: runtimes().join(name), root, memory }
    }

    /// Returns paths of the host that only this runtime has.
    fn files(&self) -> Vec<PathBuf> {
        let folders = [&self.folder, &self.root, &self.memory.path].map(PathBuf::as_path);
        let inside = ["", "manifest.json", "py/bin/python3", "py/lib", "lib/x86_64-linux-gnu/libc.so.6"];
        let files: Vec<_> = folders.iter().flat_map(|folder| inside.map(|name| folder.join(name))).collect();
        assert!(files.iter().all(|path| path.exists()), "{files:?}");
        files
    }

    /// Returns the names by which a text of the host mentions this runtime.
    fn mentions(&self) -> Vec<String> {
        [&self.folder, &self.root, &self.memory.path].map(|path| path.to_str().unwrap().to_owned()).to_vec()
    }
}

/// Returns a pool of this runtime beside the others of `bench`.
fn pool(bench: &Bench, name: &str, change: impl Fn(&mut PoolConfig)) -> Pool {
    let mut config = PoolConfig { runtime: runtime_of(name), ..bench.config() };
    change(&mut config);
    Pool::new(config).unwrap()
}

fn started(pool: &Pool, request: &LoadRequest) -> Driver {
    let mut driver = Driver::new(pool.prepare(request.clone()).unwrap().wait().unwrap());
    assert_eq!(driver.begin(), Answer::Ready);
    driver
}

/// Folders that contain runtimes, or other policies.
fn shared_folders(bench: &Bench, sides: &[Side; 2]) -> Vec<PathBuf> {
    let above = |path: &Path| path.parent().unwrap().to_owned();
    let [copy, base] = [&sides[1].memory.path, &sides[0].memory.path].map(|path| above(path));
    vec![runtimes(), above(&runtimes()), default_cache_root(), copy, base, bench.folder.path().to_owned()]
}

fn assert_apart(isolation: Isolation, forks: bool) {
    let bench = Bench::new(0, |_| {});
    let sides = [Side::of("base", &[]), Side::of("onnx", &["onnxruntime", "google.protobuf", "flatbuffers"])];
    let pools = [0, 1].map(|index: usize| {
        pool(&bench, sides[index].name, |config| (config.isolation, config.forks) = (isolation, forks))
    });
    let waits = bench.order(&bench.policy("waits", &[("policy.py", "def policy(o):\n    return [0.0] * 7\n")]), 1);
    let others = [0, 1].map(|index: usize| started(&pools[index], &waits));
    for (own, other) in [(0, 1), (1, 0)] {
        let mut files = sides[other].files();
        files.extend(shared_folders(&bench, &sides));
        files.push(waits.policy_dir.join("policy.py"));
        let own_modules = [&["numpy"], sides[own].only].concat();
        let pids = [i32::try_from(std::process::id()).unwrap(), others[other].process.pid().unwrap()];
        let python = |is: bool| if is { "True" } else { "False" };
        let head = format!(
            "FILES = {files:?}\nSECRETS = {:?}\nOTHERS = {:?}\nOWN = {:?}\nPIDS = {pids:?}\nIS_LANDLOCKED = {}\n",
            sides[other].mentions(),
            sides[other].only,
            own_modules,
            python(isolation == Isolation::Landlock)
        );
        let name = format!("looks-{own}");
        let request = bench.order(&bench.policy(&name, &[("policy.py", &(head + LOOKS))]), 1);
        let mut driver = started(&pools[own], &request);
        let modules = f64::from(u32::try_from(own_modules.len()).unwrap());
        let expected = vec![3.0, modules, 0.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(driver.step(0), Answer::Action(expected), "{} looks for {}", sides[own].name, sides[other].name);
        driver.finish();
    }
    assert_eq!(pools.each_ref().map(|pool| pool.cannot_fork().is_none()), [forks; 2]);
    drop((others, waits, pools));
    bench.close();
}

#[test]
fn a_forked_policy_sees_nothing_of_another_runtime() {
    assert_apart(Isolation::Namespaces, true);
}

#[test]
fn an_interpreter_of_its_own_sees_nothing_of_another_runtime() {
    assert_apart(Isolation::Namespaces, false);
}

/// Paths of the host have names in this tier, but cannot be opened.
#[test]
fn a_policy_without_namespaces_opens_nothing_of_another_runtime() {
    assert_apart(Isolation::Landlock, false);
}

/// Loads the libraries that glibc has merged into one and older programs name, and calls a function of each.
const OLD_NAMES: &str = "
import ctypes
FUNCTIONS = {
    'libdl.so.2': 'dlsym', 'libpthread.so.0': 'pthread_self', 'librt.so.1': 'clock_gettime', 'libutil.so.1': 'openpty',
    'libanl.so.1': 'getaddrinfo_a', 'libm.so.6': 'cos', 'libc.so.6': 'malloc',
}
loaded = [bool(getattr(ctypes.CDLL(name), function)) for name, function in FUNCTIONS.items()]

def policy(observation):
    return [float(each) for each in loaded]
";

#[test]
fn the_old_names_of_the_c_library_load_in_every_jail() {
    let bench = Bench::new(0, |_| {});
    let policy = bench.policy("old", &[("policy.py", OLD_NAMES)]);
    for (name, isolation, forks) in [
        ("base", Isolation::Namespaces, true),
        ("base", Isolation::Namespaces, false),
        ("base", Isolation::Landlock, false),
        ("onnx", Isolation::Namespaces, true),
    ] {
        let pool = pool(&bench, name, |config| (config.isolation, config.forks) = (isolation, forks));
        let request = bench.order(&policy, 1);
        let mut driver = started(&pool, &request);
        assert_eq!(driver.step(0), Answer::Action(vec![1.0; 7]), "{name}, {isolation:?}, forks: {forks}");
        driver.finish();
    }
    bench.close();
}
