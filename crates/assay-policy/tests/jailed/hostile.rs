//! Policies that attack their jail: what each gets, and that nothing of it is left.

use std::time::{Duration, Instant};

use crate::common::{Answer, Bench, Driver};
use assay_jail::ExitReason;

/// A policy that tries something at its first step and returns 7 numbers: whether each attempt succeeded.
fn attempts(attempts: &[&str]) -> String {
    let mut text = String::from(
        "import os, sys, ctypes, threading\ndef can(attempt):\n    try:\n        return bool(attempt())\n    except BaseException as error:\n        print(type(error).__name__, error)\n        return False\nlibc = ctypes.CDLL(None, use_errno=True)\ndef policy(observation):\n    return [\n",
    );
    for attempt in attempts {
        text += &format!("        can(lambda: {attempt}),\n");
    }
    for _ in attempts.len()..7 {
        text += "        0,\n";
    }
    text + "    ]\n"
}

#[test]
fn nothing_of_the_host_is_in_reach() {
    let groups: [&[&str]; 6] = [
        &[
            "open('/etc/passwd')",
            "os.listdir('/proc')",
            "os.listdir('/sys')",
            "os.listdir('/home')",
            "open('/dev/kvm')",
            "os.listdir('/tmp')",
            "os.path.exists('/usr')",
        ],
        &[
            "open('/policy/new', 'w')",
            "open('/policy/policy.py', 'a')",
            "os.remove('/policy/policy.py')",
            "os.mkdir('/x')",
            "os.chmod('/policy/policy.py', 0o777)",
            "os.symlink('/', '/policy/s')",
            "os.rename('/policy/policy.py', '/policy/q')",
        ],
        &[
            "__import__('socket').socket(2, 1)",
            "__import__('socket').socket(2, 2)",
            "__import__('socket').socket(10, 1)",
            "__import__('socket').socket(1, 1)",
            "__import__('socket').socket(16, 3)",
            "__import__('socket').socketpair()",
            "__import__('socket').socket(17, 3)",
        ],
        &[
            "os.fork() >= 0",
            "__import__('subprocess').run(['/py/bin/python3', '-c', '1'])",
            "os.posix_spawn('/py/bin/python3', ['p'], {}) > 0",
            "libc.vfork() > 0",
            "libc.syscall(435, 0, 0) > 0",
            "__import__('multiprocessing').Process(target=print).start() is None",
            "os.forkpty()",
        ],
        &[
            "libc.kill(1, 0) == 0",
            "libc.syscall(319, b'x', 0) > 0",
            "os.memfd_create('x')",
            "os.setuid(0) is None",
            "os.nice(-5)",
            "os.sched_setaffinity(0, {0, 1}) is None",
            "libc.prctl(4, 1, 0, 0, 0) == 0",
        ],
        &[
            "len([v for v in os.environ if v not in ('PYTHONHASHSEED PYTHONUTF8 LANG TZ OPENBLAS_NUM_THREADS OMP_NUM_THREADS MKL_NUM_THREADS NUMEXPR_NUM_THREADS OPENBLAS_CORETYPE NPY_DISABLE_CPU_FEATURES PWD LC_CTYPE').split()])",
            "os.listdir('/runner') != ['runner.py']",
            "os.getuid() != 65534",
            "os.getpid() != 1",
            "__import__('resource').setrlimit(__import__('resource').RLIMIT_AS, (-1, -1)) is None",
            "open('/dev/null').read() or open('/dev/urandom', 'wb', 0).write(b'') ",
            "os.open('/dev/sda', 0)",
        ],
    ];
    let bench = Bench::new(2, |_| {});
    for (index, group) in groups.iter().enumerate() {
        let (answer, end) = bench.step_of(&format!("group{index}"), &[("policy.py", &attempts(group))]);
        assert_eq!(answer, Answer::Action(vec![0.0; 7]), "{group:?}\n{}", end.log_tail);
    }
    bench.close();
}

#[test]
fn calls_that_nothing_honest_makes_end_the_process() {
    let bench = Bench::new(2, |_| {});
    let calls = [
        "libc.ptrace(0, 0, 0, 0)",
        "libc.unshare(0x10000000)",
        "libc.mount(b'a', b'/', b'tmpfs', 0, 0)",
        "libc.syscall(425, 1, 0)",
        "libc.process_vm_readv(1, 0, 0, 0, 0, 0)",
    ];
    for (index, call) in calls.iter().enumerate() {
        let (answer, end) = bench.step_of(&format!("call{index}"), &[("policy.py", &attempts(&[call]))]);
        let exit = end.exit.unwrap();
        assert_eq!((answer, exit.signal, exit.reason), (Answer::Closed, Some(31), ExitReason::Signalled), "{call}");
    }
    let failure = bench.fails("at_import", &[("policy.py", "import ctypes\nctypes.CDLL(None).ptrace(0, 0, 0, 0)\n")]);
    assert!(failure.code == "exited" && failure.message.contains("system call"), "{failure:?}");
    bench.close();
}

#[test]
fn threads_memory_and_descriptors_are_bounded() {
    let text = "
import os, threading
def policy(observation):
    count = 0
    try:
        while count < 5000:
            threading.Thread(target=threading.Event().wait, daemon=True).start()
            count += 1
    except RuntimeError:
        pass
    fds = 0
    try:
        while fds < 5000:
            os.dup(2)
            fds += 1
    except OSError:
        pass
    return [count, fds, 0, 0, 0, 0, 0]
";
    let bench = Bench::new(1, |_| {});
    let (answer, _) = bench.step_of("many", &[("policy.py", text)]);
    let Answer::Action(counts) = answer else { panic!("{answer:?}") };
    assert!(counts[0] > 0.0 && counts[0] < 16.0 && counts[1] > 0.0 && counts[1] < 64.0, "{counts:?}");

    let text = "def policy(observation):\n    return bytearray(8 << 30)\n";
    assert_eq!(bench.step_of("memory", &[("policy.py", text)]).0.fault().code, "memory");
    bench.close();
}

#[test]
fn what_does_not_end_is_ended() {
    let bodies = [
        "while True: pass",
        "time.sleep(1000)",
        "[signal.signal(s, signal.SIG_IGN) for s in (2, 15, 1)] and [None for _ in iter(int, 1)]",
        "threading.Event().wait()",
    ];
    let bench = Bench::new(2, |_| {});
    for (index, body) in bodies.iter().enumerate() {
        let text = format!("import time, signal, threading\ndef policy(observation):\n    {body}\n");
        let mut driver = bench.begins(&format!("endless{index}"), &[("policy.py", &text)]);
        driver.deadline = Duration::from_millis(200);
        assert_eq!(driver.step(0), Answer::Silent, "{body}");
        let start = Instant::now();
        assert_eq!(driver.abort().exit.unwrap().reason, ExitReason::Killed, "{body}");
        assert!(start.elapsed() < Duration::from_millis(500), "{body}: {:?}", start.elapsed());
    }
    let text = "class Policy:\n    def act(self, observation):\n        return [0] * 7\n    def close(self):\n        while True: pass\n";
    let (answer, end) = bench.step_of("close", &[("policy.py", text)]);
    assert_eq!((answer, end.exit.unwrap().reason), (Answer::Action(vec![0.0; 7]), ExitReason::Killed));
    bench.close();
}

#[test]
fn an_import_that_does_not_end_is_ended() {
    let bench = Bench::new(2, |config| {
        config.load.import_cpu = Duration::from_millis(300);
        config.load.import_wall = Duration::from_millis(1500);
    });
    let failure = bench.fails("loop", &[("policy.py", "while True: pass\n")]);
    assert!(failure.code == "import_timeout" && failure.message.contains("CPU time"), "{failure:?}");
    let failure = bench.fails("sleep", &[("policy.py", "import time\ntime.sleep(1000)\n")]);
    assert!(failure.code == "import_timeout" && failure.message.contains("wait"), "{failure:?}");
    bench.close();
}

#[test]
fn floods_are_stopped() {
    let bench = Bench::new(2, |_| {});
    let text =
        "def policy(observation):\n    for _ in range(1024):\n        print('x' * (1 << 20))\n    return [0] * 7\n";
    let (answer, end) = bench.step_of("flood", &[("policy.py", text)]);
    assert_eq!((answer, end.exit.unwrap().reason), (Answer::Closed, ExitReason::Flooded));
    assert!(end.log_tail.len() <= 64 * 1024 && end.log_tail.trim_end().ends_with('x'));
    let failure = bench.fails("flood2", &[("policy.py", "while True:\n    print('y' * 1000)\n")]);
    assert_eq!(failure.code, "log_flood");
    bench.close();
}

#[test]
fn forged_frames_have_no_effect() {
    let bench = Bench::new(2, |_| {});
    // The stream is descriptor 3 or so: a policy can find it, and write what it likes.
    let forge = |what: &str| {
        format!(
            "import os, struct\ndef policy(observation):\n    for fd in range(3, 20):\n        try: os.write(fd, {what})\n        except OSError: pass\n    return [0] * 7\n"
        )
    };
    let frame = |kind: u8, seq: u32, length: u32, payload: &str| {
        format!("struct.pack('<4sBBHIIQ', b'ASY1', {kind}, 0, 0, {seq}, {length}, 99) + {payload}")
    };
    let cases = [
        ("nonce", frame(7, 0, 56, "bytes(56)"), Answer::Forged(assay_model::frame::Kind::Action)),
        ("ready", frame(5, 0, 0, "b''"), Answer::Forged(assay_model::frame::Kind::Ready)),
        ("length", frame(7, 0, u32::MAX, "b''"), Answer::Garbage),
        ("garbage", "b'x' * 100".to_owned(), Answer::Garbage),
    ];
    for (name, what, expected) in cases {
        assert_eq!(bench.step_of(name, &[("policy.py", &forge(&what))]).0, expected, "{name}");
    }
    let at_import = forge("b'x' * 100").replace("def policy(observation):", "def f():") + "f()\n";
    assert_eq!(bench.fails("import", &[("policy.py", &at_import)]).code, "protocol");
    let forged = forge(&frame(3, 0, 2, "b'{}'")).replace("def policy(observation):", "def f():") + "f()\n";
    assert_eq!(bench.fails("loaded", &[("policy.py", &forged)]).code, "protocol");
    bench.close();
}

#[test]
fn closing_descriptors_and_leaving_are_ends_like_others() {
    let bench = Bench::new(2, |_| {});
    let text = "import os\ndef policy(observation):\n    os.closerange(0, 64)\n    return [0] * 7\n";
    assert_eq!(bench.step_of("closes", &[("policy.py", text)]).0, Answer::Closed);
    let text = "import os\ndef policy(observation):\n    os._exit(7)\n";
    let (answer, end) = bench.step_of("leaves", &[("policy.py", text)]);
    assert_eq!((answer, end.exit.unwrap().code), (Answer::Closed, Some(7)));
    let text = "import sys\ndef policy(observation):\n    sys.exit('enough')\n";
    let fault = bench.step_of("exit", &[("policy.py", text)]).0.fault();
    assert!(fault.code == "exception" && fault.message.contains("called exit"), "{fault:?}");
    let text = "import ctypes\ndef policy(observation):\n    ctypes.string_at(0)\n";
    let (answer, end) = bench.step_of("crash", &[("policy.py", text)]);
    assert_eq!((answer, end.exit.unwrap().signal), (Answer::Closed, Some(11)));
    bench.close();
}

#[test]
fn files_of_a_policy_never_stand_in_for_a_library() {
    let evil = "raise RuntimeError('shadowed')\n";
    let files: Vec<(&str, &str)> = vec![
        (
            "policy.py",
            "import numpy, json, random, os, csv, sitecustomize_not\ndef policy(observation):\n    return [0] * 7\n",
        ),
        ("numpy.py", evil),
        ("json.py", evil),
        ("random.py", evil),
        ("os.py", evil),
        ("csv.py", evil),
        ("sitecustomize.py", evil),
        ("usercustomize.py", evil),
        ("evil.pth", "import nothing\n"),
        ("sitecustomize_not.py", ""),
    ];
    let bench = Bench::new(1, |_| {});
    assert_eq!(bench.step_of("shadow", &files).0, Answer::Action(vec![0.0; 7]));
    bench.close();
}

#[test]
fn a_pickle_runs_inside_and_harms_nobody() {
    let text = "
import pickle
class Evil:
    def __reduce__(self):
        return (eval, (\"__import__('os').system('id > /tmp/x') or 3\",))
def policy(observation):
    return [pickle.loads(pickle.dumps(Evil()))] + [0] * 6
";
    let bench = Bench::new(1, |_| {});
    let (answer, _) = bench.step_of("pickle", &[("policy.py", text)]);
    // 127 << 8: system() could not start a shell.
    assert_eq!(answer, Answer::Action(vec![32512.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]));
    bench.close();
}

#[test]
fn terminal_tricks_do_not_reach_the_reader() {
    let text = "raise ValueError('\\x1b[2Jgone\\u202e' + 'x' * 100000)\n";
    let bench = Bench::new(1, |_| {});
    let failure = bench.fails("escape", &[("policy.py", text)]);
    assert!(failure.message.starts_with("ValueError: gonexxx") && failure.message.len() <= 2048, "{failure:?}");
    assert!(!failure.log_tail.contains('\u{1b}') && failure.traceback.len() <= 16 * 1024);
    bench.close();
}

#[test]
fn a_lane_that_dies_ends_its_policy() {
    let bench = Bench::new(1, |_| {});
    let driver: Driver = bench.begins("p", &[("policy.py", "def policy(observation):\n    return [0] * 7\n")]);
    drop(driver.stream);
    let end = assay_policy::PolicyConnection::finish(driver.process);
    assert!(end.exit.unwrap().is_success());
    bench.close();
}
