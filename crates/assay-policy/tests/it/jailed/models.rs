//! Models outside a policy's folder: its jails see them, unchanged and shared, and no other jail does.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use assay_model::{Isolation, PolicyErrorCode};
use assay_policy::{LoadOutcome, LoadRequest, PolicyConnection, PolicyHome, PolicyModel, PoolConfig};
use assay_testkit::{PATIENCE, wait_for};

use crate::jailed::common::{Answer, Bench, Driver};

const MIB: u64 = 1 << 20;

/// Reads two models, tries to change one in every way that a file can be changed, and looks for others. Acts by: the
/// first number of each model, the number of changes that succeeded, the number of links, and the files that it finds.
const READS: &str = "
import os
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
first, second = os.path.join(here, 'nets', 'deep', 'first.npy'), os.path.join(here, 'second.npy')
numbers = [float(np.load(path, mmap_mode='r')[0]) for path in (first, second)]
changes = 0
for change in (
    lambda: open(first, 'r+b'), lambda: open(first, 'ab'), lambda: os.truncate(first, 1), lambda: os.unlink(first),
    lambda: os.rename(first, second), lambda: os.chmod(first, 0o666), lambda: os.utime(first),
    lambda: os.link(first, os.path.join(here, 'third')), lambda: np.load(first, mmap_mode='r+'),
    lambda: open(os.path.join(here, 'nets', 'fourth'), 'wb'),
):
    try:
        change()
        changes += 1
    except (OSError, ValueError):
        pass
found = sum(len(files) for _, _, files in os.walk(here))

def policy(observation):
    return [*numbers, float(changes), float(os.stat(first).st_nlink), float(found), float(os.getpid()), 0.0]
";

/// Writes an array of NumPy's format with `numbers` in a folder that jails can reach.
fn array(bench: &Bench, name: &str, numbers: &[f64]) -> PathBuf {
    let path = bench.folder.path().join(name);
    let mut file = BufWriter::new(File::create(&path).unwrap());
    let head = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({},), }}", numbers.len());
    let head = format!("{head:<117}\n");
    file.write_all(b"\x93NUMPY\x01\x00").unwrap();
    file.write_all(&u16::try_from(head.len()).unwrap().to_le_bytes()).unwrap();
    file.write_all(head.as_bytes()).unwrap();
    for number in numbers {
        file.write_all(&number.to_le_bytes()).unwrap();
    }
    file.flush().unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    path
}

fn model(path: &str, host: &std::path::Path) -> PolicyModel {
    PolicyModel::new(path, host).unwrap()
}

fn request(bench: &Bench, name: &str, text: &str, models: Vec<PolicyModel>) -> LoadRequest {
    let order = bench.order(&bench.policy(name, &[("policy.py", text), ("nets/readme.txt", "nets")]), 1);
    LoadRequest { home: PolicyHome::with_models(models), ..order }
}

fn act(bench: &Bench, order: &LoadRequest) -> Vec<f64> {
    let mut driver = started(bench, order);
    match driver.step(0) {
        Answer::Action(action) => action,
        other => panic!("{other:?}"),
    }
}

fn started(bench: &Bench, order: &LoadRequest) -> Driver {
    let mut driver = Driver::new(bench.pool().prepare(order.clone()).unwrap().wait().unwrap());
    assert_eq!(driver.begin(), Answer::Ready);
    driver
}

fn assert_reads(change: impl FnOnce(&mut PoolConfig), can_fork: bool) {
    let bench = Bench::new(1, change);
    let (first, second) = (array(&bench, "a", &[3.5, 1.0]), array(&bench, "b", &[-2.25]));
    let models = vec![model("nets/deep/first.npy", &first), model("second.npy", &second)];
    let order = request(&bench, "reads", READS, models);
    for episode in 0..2 {
        let seen = act(&bench, &order);
        assert_eq!(seen[..5], [3.5, -2.25, 0.0, 1.0, 4.0], "episode {episode}");
    }
    assert_eq!(bench.pool().cannot_fork().is_none(), can_fork);
    // Another policy of the same pool has its own files only.
    let counts =
        "import os\n\ndef policy(observation):\n    return [sum(len(f) for _, _, f in os.walk('/policy'))] * 7\n";
    let other = request(&bench, "other", counts, Vec::new());
    assert!(act(&bench, &other)[0] <= 2.0);
    assert_eq!(fs::read(&first).unwrap().len(), 128 + 16);
    drop((order, other));
    bench.close();
}

#[test]
fn forked_policies_read_their_models_and_cannot_change_them() {
    assert_reads(|_| {}, true);
}

#[test]
fn interpreters_of_their_own_read_their_models_and_cannot_change_them() {
    assert_reads(|config| config.forks = false, false);
}

#[test]
fn policies_without_namespaces_read_their_models_and_cannot_change_them() {
    assert_reads(|config| config.isolation = Isolation::Landlock, false);
}

/// Maps a model and reads all of it.
const MAPS: &str = "
import numpy as np
weights = np.load('/policy/net.npy', mmap_mode='r')
total = float(weights.sum())

def policy(observation):
    return [total] * 7
";

/// Returns a field of the mapping of a file with this inode in `/proc/PID/smaps`, in KiB.
fn of_mapping(driver: &Driver, inode: u64, field: &str) -> u64 {
    let pid = driver.process.pid().unwrap();
    let text = fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap();
    let inode = inode.to_string();
    let mapping = text.lines().skip_while(|line| line.split_whitespace().nth(4) != Some(&inode));
    let line = mapping.skip(1).find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Size of the shared model, and number of the processes that map it: less than in `tools/test-long models`.
const SHARED_MIB: (&str, usize) = ("ASSAY_MODEL_MIB", 64);
const READERS: (&str, usize) = ("ASSAY_MODEL_READERS", 4);

/// Returns the number in an environment variable, or the usual one.
fn setting((name, usual): (&str, usize)) -> usize {
    std::env::var(name).map_or(usual, |number| number.parse().unwrap())
}

#[test]
fn the_processes_of_a_policy_share_the_pages_of_its_models() {
    let (mib, readers) = (setting(SHARED_MIB), setting(READERS));
    let numbers = mib << 17;
    let bench = Bench::new(1, |_| {});
    let big = array(&bench, "big", &vec![1.0; numbers]);
    let about = fs::metadata(&big).unwrap();
    assert!(about.blocks() * 512 >= about.len(), "the file has holes");
    let order = request(&bench, "maps", MAPS, vec![model("net.npy", &big)]);
    // Two policies of the same account, each with its own fork server.
    let again = LoadRequest { home: PolicyHome::with_models(vec![model("net.npy", &big)]), ..order.clone() };
    let orders = std::iter::repeat_n(&order, readers - 1).chain([&again]);
    let mut drivers: Vec<Driver> = orders.map(|order| started(&bench, order)).collect();
    let read = f64::from(u32::try_from(numbers).unwrap());
    assert!(drivers.iter_mut().all(|driver| driver.step(0) == Answer::Action(vec![read; 7])));
    let sum = |field| drivers.iter().map(|driver| of_mapping(driver, about.ino(), field)).sum::<u64>() >> 10;
    let (each, shared, mib) = (sum("Rss:"), sum("Pss:"), u64::try_from(mib).unwrap());
    eprintln!("{readers} processes map a model of {mib} MiB: {each} MiB in sum, {shared} MiB of memory");
    // The kernel may have taken some pages back from one of them: they count in neither sum.
    assert!(each >= u64::try_from(readers).unwrap() * mib * 9 / 10 && shared <= mib + mib / 50);
}

#[test]
fn models_larger_than_the_memory_of_a_policy_can_be_mapped() {
    let bench = Bench::new(1, |_| {});
    let big = array(&bench, "big", &[7.0]);
    fs::set_permissions(&big, fs::Permissions::from_mode(0o644)).unwrap();
    let about = File::options().write(true).open(&big).unwrap();
    about.set_len(3 << 30).unwrap();
    let maps = "
import mmap
with open('/policy/net.npy', 'rb') as file:
    view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
try:
    own = bytearray(6 << 30)
except MemoryError:
    own = b''

def policy(observation):
    return [len(view) / 2**30, len(own), view[-1], 0.0, 0.0, 0.0, 0.0]
";
    let order = request(&bench, "large", maps, vec![model("net.npy", &big)]);
    assert_eq!(act(&bench, &order)[..3], [3.0, 0.0, 0.0]);
    assert!(about.metadata().unwrap().len() > 2048 * MIB);
}

/// Tries to get more memory than its budget in every way that the address space of its models would allow. Acts by the
/// number of attempts that succeeded, and that number without models.
const HOARDS: &str = "
import ctypes, mmap
MIB = 1 << 20
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
PRIVATE, SHARED, ANONYMOUS, GROWS_DOWN = 2, 1, 0x20, 0x100

def maps(flags):
    return libc.mmap(None, ctypes.c_size_t(700 * MIB), 3, flags, -1, ctypes.c_long(0)) != ctypes.c_void_p(-1).value

got = [maps(PRIVATE | ANONYMOUS), maps(SHARED | ANONYMOUS), maps(SHARED | 2 | ANONYMOUS)]
got += [maps(PRIVATE | ANONYMOUS | GROWS_DOWN), maps(PRIVATE | ANONYMOUS | 0x20000 | GROWS_DOWN)]
try:
    kept = bytearray(700 * MIB)
    got.append(True)
except MemoryError:
    pass
small = libc.mmap(None, ctypes.c_size_t(MIB), 3, SHARED | ANONYMOUS, -1, ctypes.c_long(0)) != ctypes.c_void_p(-1).value

def policy(observation):
    return [float(sum(got)), float(small)] + [0.0] * 5
";

#[test]
fn the_address_space_of_models_is_no_memory_for_anything_else() {
    for forks in [true, false] {
        let bench = Bench::new(1, |config| config.forks = forks);
        let big = array(&bench, "big", &[7.0]);
        fs::set_permissions(&big, fs::Permissions::from_mode(0o644)).unwrap();
        File::options().write(true).open(&big).unwrap().set_len(2 << 30).unwrap();
        let mut order = request(&bench, "hoards", HOARDS, vec![model("net.npy", &big)]);
        order.allowance.memory_bytes = 512 * MIB;
        assert_eq!(act(&bench, &order)[..2], [0.0, 0.0], "forks: {forks}");
        let mut without = request(&bench, "without", HOARDS, Vec::new());
        without.allowance.memory_bytes = 512 * MIB;
        assert_eq!(act(&bench, &without)[..2], [0.0, 1.0], "the limit of address space counts all of it");
    }
}

#[test]
fn a_removed_model_ends_its_policy_and_not_the_forking_of_others() {
    let bench = Bench::new(1, |_| {});
    let counts = "def policy(observation):\n    return [1.0] * 7\n";
    let (gone, kept) = (array(&bench, "gone", &[1.0]), array(&bench, "kept", &[2.0]));
    let order = request(&bench, "running", counts, vec![model("net.npy", &gone)]);
    let waiting = request(&bench, "waiting", counts, vec![model("net.npy", &gone)]);
    assert_eq!(act(&bench, &order)[0], 1.0);
    fs::remove_file(&gone).unwrap();
    for order in [&order, &waiting] {
        let found = bench.pool().prepare(order.clone()).unwrap().wait();
        assert!(found.is_err(), "a policy without its model was loaded");
    }
    assert_eq!(bench.pool().cannot_fork(), None);
    assert_eq!(act(&bench, &request(&bench, "other", counts, vec![model("net.npy", &kept)]))[0], 1.0);
    assert_eq!(bench.pool().cannot_fork(), None);
}

#[test]
fn a_model_is_read_into_memory_before_a_policy_sees_it() {
    let bench = Bench::new(1, |_| {});
    let big = array(&bench, "big", &vec![1.0; 6 << 20]);
    let file = File::open(&big).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let resident = || {
        let run = std::process::Command::new("fincore").args(["-b", "-n", "-o", "RES"]).arg(&big).output().unwrap();
        String::from_utf8(run.stdout).unwrap().trim().parse::<u64>().unwrap()
    };
    assert!(resident() < 40 * MIB, "the file was not evicted");
    let counts = "def policy(observation):\n    return [1.0] * 7\n";
    act(&bench, &request(&bench, "reads", counts, vec![model("net.npy", &big)]));
    assert!(resident() >= 48 * MIB, "{} bytes", resident());
}

/// Writes much memory at one of three times and makes it read-only, so that the kernel's limit of writable memory does
/// not count it.
const HIDES: &str = "
import ctypes
import mmap
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
STEP = 32 << 20

def write():
    for _ in range(20):
        place = libc.mmap(None, ctypes.c_size_t(STEP), 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        assert place != ctypes.c_void_p(-1).value, 'no memory'
        ctypes.memset(place, 1, STEP)
        assert libc.mprotect(ctypes.c_void_p(place), ctypes.c_size_t(STEP), 1) == 0
    time.sleep(20)

def later():
    time.sleep(0.5)
    write()

if WHEN == 'importing':
    write()
if WHEN == 'waiting':
    threading.Thread(target=later, daemon=True).start()

def policy(observation):
    if WHEN == 'acting':
        write()
    return [0.0] * 7
";

/// Returns a request of a policy with 256 MiB and a model, which adds address space.
fn hiding(bench: &Bench, when: &str) -> LoadRequest {
    let big = bench.folder.path().join("big");
    File::create(&big).unwrap().set_len(1024 * MIB).unwrap();
    let text = HIDES.replace("WHEN", &format!("'{when}'"));
    let mut order = request(bench, "hides", &text, vec![model("net.npy", &big)]);
    order.allowance.memory_bytes = 256 * MIB;
    order
}

#[test]
fn memory_that_was_written_and_made_read_only_counts() {
    let bench = Bench::new(1, |_| {});
    let mut driver = started(&bench, &hiding(&bench, "acting"));
    assert_eq!(driver.step(0), Answer::Closed);
    let failure = driver.finish().failure().unwrap();
    assert_eq!(failure.code, PolicyErrorCode::Memory, "{failure:?}");
    bench.close();
}

#[test]
fn memory_that_an_import_wrote_and_made_read_only_counts() {
    let bench = Bench::new(1, |_| {});
    match bench.pool().prepare(hiding(&bench, "importing")).unwrap().wait().unwrap() {
        LoadOutcome::Failed(failure) => assert_eq!(failure.code, PolicyErrorCode::Memory, "{failure:?}"),
        LoadOutcome::Ready(_) => panic!("it was imported"),
    }
    bench.close();
}

/// A loaded policy waits until the episode before its own has ended.
#[test]
fn memory_that_a_waiting_policy_wrote_and_made_read_only_counts() {
    let bench = Bench::new(1, |_| {});
    let mut driver = Driver::new(bench.pool().prepare(hiding(&bench, "waiting")).unwrap().wait().unwrap());
    wait_for("the end of the policy", PATIENCE, || (!driver.process.is_running()).then_some(()));
    let failure = driver.finish().failure().unwrap();
    assert_eq!(failure.code, PolicyErrorCode::Memory, "{failure:?}");
    bench.close();
}
