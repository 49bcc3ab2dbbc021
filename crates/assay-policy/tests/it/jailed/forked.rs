//! Policies that a fork server starts: they are as separate as interpreters of their own, and behave like them.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use assay_policy::{LoadOutcome, LoadRequest, PolicyConnection, PolicyHome, Pool, TakeError};
use assay_testkit::{PATIENCE, wait_for};

use crate::jailed::common::{Answer, Bench, Driver};

/// Acts by everything that a runtime could do differently: random numbers, sums, a Fourier transform, order of a set.
const VARIED: &str = "
import random
import numpy as np
state = [random.random(), np.random.rand(), np.random.randn()]
words = {'alpha', 'beta', 'gamma', 'delta', 'epsilon'}
order = float(list(words).index('gamma'))
matrix = np.random.rand(64, 64)

def policy(observation):
    value = np.linalg.svd(matrix)[1].sum() + np.abs(np.fft.fft(matrix[0])).sum()
    return [state[0], state[1], state[2], order, value, float(matrix.sum()), random.random()]
";

fn order(bench: &Bench, name: &str, text: &str, seed: u64) -> LoadRequest {
    bench.order(&bench.policy(name, &[("policy.py", text)]), seed)
}

fn load(pool: &Pool, order: &LoadRequest) -> Driver {
    Driver::new(pool.prepare(order.clone()).unwrap().wait().unwrap())
}

/// Returns the first action of a policy.
fn act(pool: &Pool, order: &LoadRequest) -> Vec<f64> {
    let mut driver = load(pool, order);
    assert_eq!(driver.begin(), Answer::Ready);
    match driver.step(0) {
        Answer::Action(action) => action,
        other => panic!("{other:?}"),
    }
}

fn seeded(request: &LoadRequest, seed: u64) -> LoadRequest {
    LoadRequest { seed, ..request.clone() }
}

#[test]
fn a_forked_policy_acts_like_an_interpreter_of_its_own() {
    let (forked, executed) = (Bench::new(1, |_| {}), Bench::new(1, |config| config.forks = false));
    let (a, b) = (order(&forked, "varied", VARIED, 7), order(&executed, "varied", VARIED, 7));
    let first = act(forked.pool(), &a);
    assert_eq!(forked.pool().cannot_fork(), None);
    assert!(executed.pool().cannot_fork().is_some());
    assert_eq!(first, act(executed.pool(), &b));
    assert_eq!(first, act(forked.pool(), &a), "the second process of a fork server is like the first");
    let (other, same) = (act(forked.pool(), &seeded(&a, 8)), act(executed.pool(), &seeded(&b, 8)));
    assert!(other == same && other[0] != first[0] && other[1] != first[1] && other[2] != first[2]);
}

#[test]
fn nothing_of_one_process_reaches_the_next() {
    const LEAVES: &str = "
import gc, os, sys
import numpy
seen = float(hasattr(numpy, 'left'))
numpy.left = True
sys.modules['json'].left = True
pid = float(os.getpid())

def policy(observation):
    return [seen, pid, 0.0, 0.0, 0.0, 0.0, 0.0]
";
    let bench = Bench::new(1, |_| {});
    let order = order(&bench, "leaves", LEAVES, 1);
    // Two at once, then a third.
    let (mut one, mut two) = (load(bench.pool(), &order), load(bench.pool(), &order));
    for driver in [&mut one, &mut two] {
        assert_eq!(driver.begin(), Answer::Ready);
        assert_eq!(driver.step(0), Answer::Action(vec![0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]));
    }
    drop((one, two));
    assert_eq!(act(bench.pool(), &order)[0], 0.0);
    assert_eq!(bench.pool().cannot_fork(), None);
}

/// The address of an object of the runtime, and unpredictable numbers that no seed determines.
const ADDRESS: &str = "
import os, uuid
import numpy as np

def policy(observation):
    fresh = [uuid.uuid4().int % 2**50, np.random.default_rng().integers(2**50), int.from_bytes(os.urandom(6), 'big')]
    return [float(id(np)), *map(float, fresh), 0.0, 0.0, 0.0]
";

#[test]
fn processes_of_one_home_share_a_layout_and_no_secret_and_other_homes_share_nothing() {
    let bench = Bench::new(2, |_| {});
    let own = order(&bench, "address", ADDRESS, 1);
    let (a, b) = (act(bench.pool(), &own), act(bench.pool(), &own));
    assert_eq!(a[0], b[0], "both come from the same fork server");
    assert!((1..4).all(|index| a[index] != b[index]), "{a:?} {b:?}");
    let layouts: BTreeSet<u64> = (0..3)
        .map(|_| act(bench.pool(), &LoadRequest { home: PolicyHome::default(), ..own.clone() })[0].to_bits())
        .collect();
    assert!(layouts.len() > 1 && !layouts.contains(&a[0].to_bits()), "{layouts:?}");
}

#[test]
fn a_fork_server_survives_what_its_children_do() {
    let bench = Bench::new(1, |_| {});
    let good = order(&bench, "good", VARIED, 3);
    let expected = act(bench.pool(), &good);
    for (name, text) in [
        ("crashes", "import ctypes\nctypes.string_at(0)"),
        ("exits", "import os\nos._exit(70)"),
        ("floods", "while True:\n    print('x' * 4096)"),
        ("is killed", "import ctypes\nctypes.CDLL(None).syscall(101, 0, 0, 0, 0)"),
        ("eats", "data = [bytearray(1 << 26) for _ in range(100)]"),
    ] {
        let order = LoadRequest { home: good.home.clone(), ..order(&bench, &name.replace(' ', "-"), text, 1) };
        match bench.pool().prepare(order).unwrap().wait().unwrap() {
            LoadOutcome::Failed(_) => {}
            LoadOutcome::Ready(_) => panic!("{name} was loaded"),
        }
    }
    assert_eq!(act(bench.pool(), &good), expected);
    assert_eq!(bench.pool().cannot_fork(), None, "what a policy does says nothing about forking");
}

/// Asserts that `condition` holds for a time in which a pool would have started another fork server: some multiple of the
/// time that this machine took for one.
#[track_caller]
fn stays_for(time: Duration, condition: impl Fn() -> bool) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        assert!(condition());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_pool_for_one_policy_keeps_no_fork_server_for_others() {
    let bench = Bench::new(3, |config| config.policies = Some(1));
    let (one, other) = (order(&bench, "one", VARIED, 3), order(&bench, "other", VARIED, 3));
    let began = Instant::now();
    let first = act(bench.pool(), &one);
    stays_for(3 * began.elapsed(), || bench.pool().idle() == 0);
    assert_eq!(act(bench.pool(), &other), first, "who needs one gets it");
}

#[test]
fn idle_fork_servers_of_a_pool_are_limited() {
    let bench = Bench::new(3, |config| config.servers = 1);
    let began = Instant::now();
    let first = act(bench.pool(), &order(&bench, "one", VARIED, 3));
    let took = began.elapsed();
    let idle = || bench.pool().idle() == 1;
    wait_for("the next one", PATIENCE, || idle().then_some(()));
    stays_for(3 * took, idle);
    assert_eq!(act(bench.pool(), &order(&bench, "other", VARIED, 3)), first);
}

#[test]
fn a_killed_fork_server_is_replaced_and_its_children_live_on() {
    let bench = Bench::new(0, |_| {});
    let order = order(&bench, "good", VARIED, 3);
    let mut child = load(bench.pool(), &order);
    assert_eq!(bench.pool().cannot_fork(), None);
    let server = order.home.fork_server().unwrap();
    let pid = rustix::process::Pid::from_raw(server).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    // It stays a zombie until the pool sees its end.
    let is_dead = || {
        let stat = std::fs::read_to_string(format!("/proc/{server}/stat")).unwrap_or_default();
        stat.is_empty() || stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
    };
    wait_for("the end of the fork server", PATIENCE, || is_dead().then_some(()));
    assert_eq!(child.begin(), Answer::Ready);
    assert!(matches!(child.step(0), Answer::Action(_)));
    let again = act(bench.pool(), &order);
    assert_eq!(again.len(), 7);
    assert_ne!(order.home.fork_server(), Some(server));
    assert_eq!(bench.pool().cannot_fork(), None);
}

#[test]
fn a_process_with_many_open_files_can_fork() {
    // More than a policy may open, and all the numbers that a fork server uses itself.
    let _open: Vec<_> = (0..200).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
    let bench = Bench::new(1, |_| {});
    let order = order(&bench, "good", VARIED, 3);
    assert_eq!(act(bench.pool(), &order), act(bench.pool(), &order));
    assert_eq!(bench.pool().cannot_fork(), None);
}

/// Acts by the number of the fork server's variables whose values are in the memory that the kernel filled first.
const INITIAL: &str = "
import ctypes, os, re
libc = ctypes.CDLL(None)
libc.getenv.restype = ctypes.c_void_p
pages = {libc.getenv(name.encode()) & ~4095 for name in os.environ if libc.getenv(name.encode())}
# The highest page is that of the stack.
found = re.findall(rb'ASSAY_FORK_SERVER[A-Z_]*=[^\\0]', ctypes.string_at(max(pages), 4096))

def policy(observation):
    return [float(len(found)), float(len(pages))] + [0.0] * 5
";

#[test]
fn a_forked_policy_cannot_read_the_settings_of_its_fork_server() {
    let bench = Bench::new(1, |_| {});
    let seen = act(bench.pool(), &order(&bench, "initial", INITIAL, 1));
    assert!(seen[0] == 0.0 && seen[1] > 0.0, "{seen:?}");
    assert_eq!(bench.pool().cannot_fork(), None);
}

/// Acts by the seed that PyTorch got.
const SEEDED: &str =
    "import torch\n\ndef policy(observation):\n    return [float(torch.seeds[-1]), len(torch.seeds)] + [0.0] * 5\n";

#[test]
fn the_generator_of_pytorch_is_seeded_in_each_process() {
    let bench = Bench::new(0, |_| {});
    let stand_in = "import sys, types\ntorch = types.ModuleType('torch')\ntorch.seeds = []\n\
                    torch.manual_seed = torch.seeds.append\nsys.modules['torch'] = torch\n";
    let root = bench.changed_runtime("torch", stand_in);
    let request = order(&bench, "seeded", SEEDED, 5);
    for forks in [true, false] {
        let mut config = bench.config();
        (config.runtime.root, config.forks) = (root.clone().into(), forks);
        let pool = Pool::new(config).unwrap();
        let home = PolicyHome::default();
        for (seed, acts) in [(5, 5.0), (6, 6.0)] {
            let request = LoadRequest { home: home.clone(), ..seeded(&request, seed) };
            assert_eq!(act(&pool, &request)[..2], [acts, 1.0], "forks: {forks}");
        }
    }
    bench.close();
}

/// A child of the fork server that cannot make its jail says whether that may pass (exit status 71) or not (70).
#[test]
fn a_shortage_in_a_child_does_not_end_the_forking_and_a_missing_feature_does() {
    let bench = Bench::new(0, |_| {});
    let good = bench.policy("good", &[("policy.py", VARIED)]);
    for (errno, may_pass) in [("EMFILE", true), ("ENOSPC", true), ("EPERM", false)] {
        let refuses = format!(
            "import errno, os\nreal = os.open\ndef refuse(path, *more, **named):\n    if str(path).endswith('uid_map'): raise \
             OSError(errno.{errno}, 'refused')\n    return real(path, *more, **named)\nos.open = refuse\n"
        );
        let mut config = bench.config();
        config.runtime.root = bench.changed_runtime(errno, &refuses).into();
        let pool = Pool::new(config).unwrap();
        match (pool.take(&good, 1, None), may_pass) {
            (Err(TakeError::Disturbed(why)), true) => {
                assert!(why.contains("the machine was short of something: could not become a user"), "{why}");
                assert_eq!(pool.cannot_fork(), None);
            }
            (Ok(LoadOutcome::Ready(policy)), false) => {
                assert!(policy.pid().is_some());
                let why = pool.cannot_fork().unwrap();
                assert!(why.contains("could not become a user") && why.contains("refused"), "{why}");
            }
            (other, _) => panic!("{errno}: {other:?}"),
        }
    }
    bench.close();
}
