//! Properties that the table of attacks (`attacks/attacks.toml`) does not show: time limits, the part of a log that is
//! kept, and the messages for the author.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::jailed::common::{Answer, Bench, Driver};
use assay_jail::ExitReason;
use assay_model::PolicyErrorCode;
use assay_policy::{LoadRequest, TakeError};
use assay_testkit::{Jailed, PATIENCE, jailed, wait_for};

/// Stopping a policy that waits for something takes at least this long: `close()` has as much time.
const PROMPT: Duration = Duration::from_millis(500);
/// Number of attempts to see a prompt end: each may wait for a processor, but one that runs into a limit always does.
const ATTEMPTS: usize = 20;

/// Returns a policy that makes attempts at its first step and returns 7 numbers: whether each attempt succeeded.
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
fn forbidden_system_calls_end_the_process() {
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
    assert!(failure.code == PolicyErrorCode::Exited && failure.message.contains("system call"), "{failure:?}");
    bench.close();
}

#[test]
fn steps_that_do_not_end_are_stopped() {
    let bodies = [
        "while True: pass",
        "time.sleep(1000)",
        "[signal.signal(s, signal.SIG_IGN) for s in (2, 15, 1)] and [None for _ in iter(int, 1)]",
        "threading.Event().wait()",
    ];
    let bench = Bench::new(2, |_| {});
    for (index, body) in bodies.iter().enumerate() {
        let text = format!("import time, signal, threading\ndef policy(observation):\n    {body}\n");
        let dir = bench.policy(&format!("endless{index}"), &[("policy.py", &text)]);
        let took = (0..ATTEMPTS).map(|_| abort_of_an_endless_step(&bench, &dir)).find(|took| *took < PROMPT);
        assert!(took.is_some(), "{body}: it was not stopped at once");
    }
    let text = "class Policy:\n    def act(self, observation):\n        return [0] * 7\n    def close(self):\n        while True: pass\n";
    let (answer, end) = bench.step_of("close", &[("policy.py", text)]);
    assert_eq!((answer, end.exit.unwrap().reason), (Answer::Action(vec![0.0; 7]), ExitReason::Killed));
    bench.close();
}

/// Returns how long it takes to stop the policy.
fn abort_of_an_endless_step(bench: &Bench, dir: &Path) -> Duration {
    let mut driver = Driver::new(bench.pool().take(dir, 1, Some(0)).unwrap());
    assert_eq!(driver.begin(), Answer::Ready);
    driver.deadline = Duration::from_millis(200);
    assert_eq!(driver.step(0), Answer::Silent);
    let start = Instant::now();
    assert_eq!(driver.abort().exit.unwrap().reason, ExitReason::Killed);
    start.elapsed()
}

#[test]
fn an_import_that_does_not_end_is_stopped() {
    let bench = Bench::new(2, |config| {
        config.load.import_cpu = Duration::from_millis(300);
        config.load.import_wall = Duration::from_millis(1500);
    });
    let failure = bench.fails("loop", &[("policy.py", "while True: pass\n")]);
    assert!(failure.code == PolicyErrorCode::ImportTimeout && failure.message.contains("CPU time"), "{failure:?}");
    let failure = bench.fails("sleep", &[("policy.py", "import time\ntime.sleep(1000)\n")]);
    assert!(failure.code == PolicyErrorCode::ImportTimeout && failure.message.contains("wait"), "{failure:?}");
    bench.close();
}

#[test]
fn an_import_that_was_stopped_from_outside_or_abandoned_is_not_the_policys_fault() {
    let bench = Bench::new(0, |config| config.load.import_wall = Duration::from_secs(3));
    let dir = bench.policy("sleeps", &[("policy.py", "import time\ntime.sleep(1000)\n")]);
    let order = bench.order(&dir, 1);
    let loading = bench.pool().prepare(order.clone()).unwrap();
    // The policy is in the slot once the interpreter has sent HELLO.
    wait_for("an import", PATIENCE, || {
        let folders = std::fs::read_dir(bench.folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let mut pools = folders.filter(|folder| folder.file_name().unwrap().to_string_lossy().starts_with("pool-"));
        pools.any(|pool| pool.join("server-1/slots/slot-1/policy/policy.py").is_file()).then_some(())
    });
    let processes = jailed(bench.folder.path(), &[]);
    let server = order.home.fork_server().unwrap();
    let mut policies = processes.iter().filter(|process| process.command.starts_with("/py/bin/python3"));
    policies.find(|process| process.pid != server).unwrap().stop();
    assert!(matches!(loading.wait(), Err(TakeError::Disturbed(_))));

    drop(order);
    let order = LoadRequest { patience: Some(Duration::from_millis(100)), ..bench.order(&dir, 2) };
    assert!(matches!(bench.pool().prepare(order).unwrap().wait(), Err(TakeError::GivenUp { .. })));
    bench.close();
}

#[test]
fn waiting_threads_do_not_extend_the_import_limit() {
    let bench = Bench::new(1, |_| {});
    // Fourteen threads without the interpreter's lock on one processor: in each second of wall-clock time they wait for
    // thirteen.
    let text = "import hashlib, threading, time\nblock = bytes(1 << 20)\nend = time.monotonic() + 1\n\
                def spin():\n    while time.monotonic() < end:\n        hashlib.sha256(block).digest()\n\
                threads = [threading.Thread(target=spin) for _ in range(14)]\n\
                [thread.start() for thread in threads]\n[thread.join() for thread in threads]\ntime.sleep(60)\n";
    let dir = bench.policy("spins", &[("policy.py", text)]);
    let patience = Some(Duration::from_millis(1500));
    let order = LoadRequest { patience, core: Some(0), ..bench.order(&dir, 1) };
    let given_up = || {
        let began = Instant::now();
        let given_up = bench.pool().prepare(order.clone()).unwrap().wait();
        assert!(matches!(given_up, Err(TakeError::GivenUp { .. })), "{given_up:?}");
        began.elapsed()
    };
    // The threads' waiting alone is 13 s or more.
    let took = (0..ATTEMPTS).map(|_| given_up()).find(|took| *took < Duration::from_secs(10));
    assert!(took.is_some(), "the waiting of threads extends the limit");
    drop(order);
    bench.close();
}

#[test]
fn an_interpreter_that_is_not_sealed_gets_no_policy() {
    let bench = Bench::new(0, |_| {});
    let dir = bench.policy("harmless", &[("policy.py", "def policy(observation):\n    return [0] * 7\n")]);
    // A Python that loses the ruleset before the runner sees it.
    let loses = "import os\nos.environ.pop('ASSAY_SEAL_FD', None)\nput = os._Environ.__setitem__\n\
                 os._Environ.__setitem__ = lambda self, key, value: None if key == 'ASSAY_SEAL_FD' else put(self, key, value)\n";
    let root = bench.changed_runtime("python", loses);
    for forks in [true, false] {
        let mut config = bench.config();
        (config.runtime.root, config.forks) = (root.clone().into(), forks);
        let has_landlock = assay_jail::Jail::of(config.isolation).unwrap().has_landlock();
        let pool = assay_policy::Pool::new(config).unwrap();
        match pool.take(&dir, 1, None) {
            Err(TakeError::Runner { log }) => assert!(has_landlock && log.contains("did not seal itself"), "{log}"),
            other => assert!(!has_landlock, "a policy was loaded: {}", other.is_ok()),
        }
        assert_eq!(pool.cannot_fork().is_none(), forks);
    }
    bench.close();
}

#[test]
fn interpreters_killed_from_outside_are_not_the_runners_fault() {
    let bench = Bench::new(0, |_| {});
    let dir = bench.policy("harmless", &[("policy.py", "def policy(observation):\n    return [0] * 7\n")]);
    let is_over = AtomicBool::new(false);
    let taken = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                let found = jailed(bench.folder.path(), &[]);
                found.iter().filter(|process| process.is_interpreter()).for_each(Jailed::kill);
            }
        });
        let taken = bench.pool().take(&dir, 1, None);
        is_over.store(true, Ordering::SeqCst);
        taken
    });
    match taken {
        Err(TakeError::Disturbed(evidence)) => assert!(evidence.contains("killed from outside"), "{evidence}"),
        other => panic!("{other:?}"),
    }
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
    assert_eq!(failure.code, PolicyErrorCode::LogFlood);
    bench.close();
}

#[test]
fn closing_descriptors_and_exiting_are_reported_as_failures() {
    let bench = Bench::new(2, |_| {});
    let text = "import os\ndef policy(observation):\n    os.closerange(0, 64)\n    return [0] * 7\n";
    assert_eq!(bench.step_of("closes", &[("policy.py", text)]).0, Answer::Closed);
    let text = "import os\ndef policy(observation):\n    os._exit(7)\n";
    let (answer, end) = bench.step_of("leaves", &[("policy.py", text)]);
    assert_eq!((answer, end.exit.unwrap().code), (Answer::Closed, Some(7)));
    let text = "import sys\ndef policy(observation):\n    sys.exit('enough')\n";
    let fault = bench.step_of("exit", &[("policy.py", text)]).0.fault();
    assert!(fault.code == PolicyErrorCode::Exception && fault.message.contains("called exit"), "{fault:?}");
    let text = "import ctypes\ndef policy(observation):\n    ctypes.string_at(0)\n";
    let (answer, end) = bench.step_of("crash", &[("policy.py", text)]);
    assert_eq!((answer, end.exit.unwrap().signal), (Answer::Closed, Some(11)));
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
