//! Well-meant policies, including those with mistakes.

use std::time::Duration;

use crate::jailed::common::{Answer, Bench, Driver};
use assay_model::PolicyErrorCode;
use assay_policy::{LoadOutcome, LoadRequest, PolicyConnection};
use assay_testkit::{PATIENCE, wait_for};

const FUNCTION: &str =
    "import numpy as np\ndef policy(observation):\n    return observation['qpos'][0, :7] + observation['time']\n";

#[test]
fn a_function_and_a_class_act() {
    let bench = Bench::new(1, |_| {});
    let mut driver = bench.begins("function", &[("policy.py", FUNCTION)]);
    for seq in 0..3 {
        let expected = (0..7).map(|n| f64::from(n) + f64::from(seq)).collect();
        assert_eq!(driver.step(seq), Answer::Action(expected));
    }
    assert!(driver.finish().exit.unwrap().is_success());

    let class = "
import numpy as np
from helper import WIDTH
class Policy:
    def __init__(self):
        self.kept = []
    def reset(self, *, seed, scenario, instruction):
        print('reset', seed, scenario, instruction)
    def act(self, observation):
        assert observation['instruction'] == 'reach' and observation['time_remaining'] == 10.0
        image = observation['images/top']
        assert image.shape == (2, 2, 3) and image.dtype == np.uint8 and image.flags.writeable and image[1, 1, 2] == 11
        depth = observation['depth/top']
        assert depth.shape == (2, 1) and depth.dtype == np.float32 and depth.flags.writeable and depth[1, 0] == 1.5
        self.kept.append(observation['qpos'])
        observation['qpos'] += 100.0 * len(self.kept)
        assert len({array[0, 0] for array in self.kept}) == len(self.kept), 'a kept array has changed'
        return [1, 2, 3, 4, 5, 6, True][:WIDTH]
    def close(self):
        print('closed')
";
    let mut driver = bench.begins("class", &[("policy.py", class), ("helper.py", "WIDTH = 7\n")]);
    for seq in 0..4 {
        assert_eq!(driver.step(seq), Answer::Action(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0]));
    }
    assert_eq!(driver.finish().log_tail, "reset 5 table reach\nclosed\n");
    bench.close();
}

#[test]
fn mistakes_before_the_first_step_are_reported_with_the_authors_lines() {
    let bench = Bench::new(2, |_| {});
    let failure = bench.fails("syntax", &[("policy.py", "def policy(observation):\n    return (1,\n")]);
    assert_eq!(failure.code, PolicyErrorCode::SyntaxError);
    assert!(failure.message.contains("policy.py, line 2") && !failure.traceback.contains("/policy/"), "{failure:?}");

    let files = [("policy.py", "import helper\n"), ("helper.py", "def f():\n    import torch\nf()\n")];
    let failure = bench.fails("import", &files);
    assert_eq!(
        (failure.code.as_str(), failure.message.as_str()),
        ("import_error", "ModuleNotFoundError: No module named 'torch'")
    );
    let expected = "Traceback (most recent call last):\n  File \"policy.py\", line 1, in <module>\n    import helper\n  \
                    File \"helper.py\", line 3, in <module>\n    f()\n  File \"helper.py\", line 2, in f\n    import torch\n\
                    ModuleNotFoundError: No module named 'torch'\n";
    assert_eq!(failure.traceback, expected);
    assert!(failure.log_tail.contains("helper.py"));

    assert_eq!(bench.fails("none", &[("policy.py", "x = 1\n")]).code, PolicyErrorCode::NoPolicy);
    let failure = bench.fails("raises", &[("policy.py", "print('before')\nraise SystemExit(3)\n")]);
    assert!(failure.code == PolicyErrorCode::ImportError && failure.message.contains("called exit"), "{failure:?}");
    assert!(failure.log_tail.starts_with("before\n"));
    bench.close();
}

#[test]
fn mistakes_in_a_step_are_reported() {
    let cases = [
        ("return [float('nan')] * 7", "bad_action", "action[0] is nan: every number of an action must be finite"),
        ("return [0, 0, 0, float('inf'), 0, 0, 0]", "bad_action", "action[3] is inf"),
        ("return [[0.0] * 7, [0, np.nan, 0, 0, 0, 0, 0]]", "bad_action", "actions[1][1] is nan"),
        ("return np.zeros(6)", "bad_action", "shape (6,), this scenario needs (7,), or (H, 7) for H actions in turn"),
        ("return np.zeros((7, 1))", "bad_action", "shape (7, 1)"),
        ("return np.zeros(10**7)", "bad_action", "shape (10000000,)"),
        ("return np.zeros((2, 8, 7))", "bad_action", "shape (2, 8, 7)"),
        ("return np.zeros((0, 7))", "bad_action", "0 actions in one answer; 1 to 1000 are allowed"),
        ("return np.zeros((1001, 7))", "bad_action", "1001 actions in one answer"),
        ("return 0.5", "bad_action", "shape ()"),
        ("return None", "bad_action", "None (does the policy return anything?)"),
        ("return {'action': np.zeros(7)}", "bad_action", "not a dict: return the array in it"),
        ("return (np.zeros(7), None)", "bad_action", "`model.predict` returns"),
        ("return (x for x in range(7))", "bad_action", "a generator"),
        ("return '0.3'", "bad_action", "the action must be numbers, not '0.3' (str)"),
        ("return ['a'] * 7", "bad_action", "action[0] is 'a' (str), not a number"),
        ("return [object()] * 7", "bad_action", "(object), not a number"),
        ("return [0.1j] * 7", "bad_action", "action[0] is 0.1j (complex), not a number"),
        ("import decimal; return [decimal.Decimal(1)] * 7", "bad_action", "(Decimal), not a number"),
        ("import fractions; return [fractions.Fraction(1)] * 7", "bad_action", "(Fraction), not a number"),
        ("return [np.timedelta64(1, 's')] * 7", "bad_action", "(timedelta64), not a number"),
        ("return [[1, 2], 3]", "bad_action", "can't be made an array"),
        ("return observation['nothing']", "exception", "KeyError: 'nothing'"),
        ("return policy(observation)", "exception", "RecursionError"),
        ("raise KeyboardInterrupt", "exception", "KeyboardInterrupt"),
        ("raise ValueError('caf' + chr(0xdce9))", "exception", "ValueError: caf\\udce9"),
        ("raise ValueError(chr(0x1f600) * 10**6)", "exception", "ValueError: \u{1f600}"),
        ("raise ValueError(chr(0) * 10**6)", "exception", "ValueError: "),
        (
            "raise ExceptionGroup('g', [ValueError('a')])",
            "exception",
            "ExceptionGroup: g (1 sub-exception): ValueError: a",
        ),
        ("import asyncio; asyncio.run(asyncio.sleep(0))", "exception", "an event loop of asyncio needs sockets"),
    ];
    let bench = Bench::new(2, |_| {});
    for (index, (body, code, message)) in cases.iter().enumerate() {
        let text = format!("import numpy as np\ndef policy(observation):\n    {body}\n");
        let (answer, _) = bench.step_of(&format!("case{index}"), &[("policy.py", &text)]);
        let fault = answer.fault();
        assert!(fault.code.as_str() == *code && fault.message.contains(message), "{body}: {fault:?}");
        if *code == "exception" {
            assert!(fault.traceback.contains("File \"policy.py\", line 3, in policy"), "{fault:?}");
            assert!(!fault.traceback.contains("runner.py"), "{fault:?}");
        }
    }
    let (answer, _) = bench.step_of("no_act", &[("policy.py", "class Policy:\n    pass\n")]);
    assert_eq!(answer.fault().code, PolicyErrorCode::NoPolicy);
    bench.close();
}

#[test]
fn each_form_of_an_answer_is_an_action() {
    let bench = Bench::new(2, |_| {});
    let number = |row: u8| vec![f64::from(row); 7];
    for (index, (answer, rows)) in [
        ("np.zeros(7)", 1),
        ("np.zeros((1, 7))", 1),
        ("[0.0] * 7", 1),
        ("(0.0,) * 7", 1),
        ("[[0.0] * 7]", 1),
        ("np.zeros(7, np.float16)", 1),
        ("[np.array(0.0)] * 7", 1),
        ("np.zeros(7, '>f8')", 1),
        ("np.array([0.0] * 7, dtype=object)", 1),
        ("np.arange(3.0)[:, None] * np.ones(7)", 3),
        ("(np.arange(3.0)[:, None] * np.ones(7))[None]", 3),
        ("[[float(row)] * 7 for row in range(3)]", 3),
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!("import numpy as np\ndef policy(observation):\n    return {answer}\n");
        let mut driver = bench.begins(&format!("form{index}"), &[("policy.py", &text)]);
        for step in 0..5_u8 {
            assert_eq!(driver.step(u32::from(step)), Answer::Action(number(step % rows)), "{answer}");
        }
        driver.finish();
    }
    bench.close();
}

#[test]
fn several_actions_are_executed_before_the_policy_is_asked_again() {
    let text = "
import numpy as np
def policy(observation):
    return observation['time'] + 10 * np.arange(3.0)[:, None] * np.ones(7)
";
    let bench = Bench::new(1, |_| {});
    let mut driver = bench.begins("chunks", &[("policy.py", text)]);
    for (step, expected) in (0..).zip([0.0, 10.0, 20.0, 3.0, 13.0]) {
        assert_eq!(driver.step(step), Answer::Action(vec![expected; 7]));
    }
    driver.finish();
    bench.close();
}

#[test]
fn reset_is_called_with_what_it_takes() {
    let bench = Bench::new(2, |_| {});
    for (index, (reset, got)) in [
        ("self", ""),
        ("self, seed=None, options=None", "seed, options"),
        ("self, seed, options", "seed, options"),
        ("self, seed, /", "seed"),
        ("self, seed, scenario, instruction", "seed, scenario, instruction"),
        ("self, *, instruction", "instruction"),
        ("self, task=None", "task"),
        ("self, **kwargs", "kwargs"),
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!(
            "class Policy:\n    def reset({reset}):\n        print(({got}))\n    def act(self, observation):\n        \
             return [0] * 7\n"
        );
        let mut driver = bench.begins(&format!("reset{index}"), &[("policy.py", &text)]);
        assert!(matches!(driver.step(0), Answer::Action(_)), "{reset}");
        driver.finish();
    }
    let text =
        "class Policy:\n    def reset(self, goal):\n        pass\n    def act(self, observation):\n        pass\n";
    let (answer, _) = bench.step_of("needs_more", &[("policy.py", text)]);
    let fault = answer.fault();
    assert_eq!(fault.message, "TypeError: reset() needs 'goal', but is called with seed, scenario, instruction");
    assert!(fault.traceback.contains("File \"policy.py\", line 2, in reset"), "{fault:?}");
    bench.close();
}

#[test]
fn generators_are_seeded_and_processes_share_nothing() {
    let text = "
import random, numpy as np
COUNT = 0
def policy(observation):
    global COUNT
    COUNT += 1
    return [random.random(), np.random.random(), hash('text') % 1000, COUNT, 0, 0, 0]
";
    let bench = Bench::new(2, |_| {});
    let dir = bench.policy("random", &[("policy.py", text)]);
    let first = |seed| {
        let mut driver = Driver::new(bench.pool().take(&dir, seed, None).unwrap());
        driver.begin();
        let answer = driver.step(0);
        driver.finish();
        answer
    };
    assert_eq!(first(7), first(7));
    assert_ne!(first(7), first(8));
    bench.close();
}

#[test]
fn the_next_policy_is_loaded_while_one_runs_and_a_dropped_one_leaves_nothing() {
    let bench = Bench::new(1, |_| {});
    let dir = bench.policy("p", &[("policy.py", FUNCTION)]);
    let mut driver = Driver::new(bench.pool().take(&dir, 1, None).unwrap());
    driver.begin();
    let next = bench.pool().prepare(bench.order(&dir, 2)).unwrap();
    let unused = bench.pool().prepare(bench.order(&dir, 3)).unwrap();
    assert!(matches!(driver.step(0), Answer::Action(_)));
    let mut second = Driver::new(next.wait().unwrap());
    assert_eq!(second.begin(), Answer::Ready);
    drop(unused);
    driver.finish();
    second.abort();
    bench.close();
}

#[test]
fn a_policy_outlives_its_pool() {
    let mut bench = Bench::new(1, |_| {});
    let mut driver = bench.begins("p", &[("policy.py", FUNCTION)]);
    bench.pool = None;
    assert!(matches!(driver.step(0), Answer::Action(_)));
    assert!(driver.process.is_running());
    driver.finish();
    let gone = || {
        !std::fs::read_dir(bench.folder.path())
            .unwrap()
            .any(|e| e.unwrap().file_name().to_string_lossy().starts_with("pool-"))
    };
    wait_for("the end of the pool's folder", PATIENCE, || gone().then_some(()));
}

#[test]
fn cpu_time_is_measured_from_outside() {
    let bench = Bench::new(1, |_| {});
    let text = "import time\ndef policy(observation):\n    end = time.process_time() + 0.05\n    while time.process_time() < end: pass\n    return [0] * 7\n";
    let mut driver = bench.begins("busy", &[("policy.py", text)]);
    let before = driver.process.cpu_time().unwrap();
    driver.step(0);
    let spent = driver.process.cpu_time().unwrap() - before;
    assert!(spent >= Duration::from_millis(50) && spent < Duration::from_millis(500), "{spent:?}");
    assert!(driver.process.activity().is_some());
    driver.finish();
    assert!(matches!(bench.load("again", &[("policy.py", FUNCTION)]), LoadOutcome::Ready(_)));
    bench.close();
}

#[test]
fn the_folder_of_a_killed_pool_is_removed_and_that_of_a_live_one_is_kept() {
    let bench = Bench::new(0, |config| {
        let mut gone = std::process::Command::new("/bin/true").spawn().unwrap();
        gone.wait().unwrap();
        std::fs::create_dir_all(config.work_dir.join(format!("pool-{}-x/slot-1", gone.id()))).unwrap();
        std::fs::create_dir(config.work_dir.join(format!("pool-{}-x", std::process::id()))).unwrap();
    });
    let own = format!("pool-{}-", std::process::id());
    let names =
        || std::fs::read_dir(bench.folder.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    assert!(names().filter(|name| name.starts_with("pool-")).all(|name| name.starts_with(&own)));
    assert_eq!(names().count(), 2);
    std::fs::remove_dir(bench.folder.path().join(format!("{own}x"))).unwrap();
    // A pool without idle members still starts one on request.
    assert!(matches!(bench.load("p", &[("policy.py", FUNCTION)]), LoadOutcome::Ready(_)));
    bench.close();
}

#[test]
fn a_pool_that_can_not_start_interpreters_says_why() {
    let bench = Bench::new(1, |config| config.runtime.root = std::path::PathBuf::from("/no/such/runtime").into());
    let dir = bench.policy("p", &[("policy.py", FUNCTION)]);
    let error = bench.pool().take(&dir, 1, None).unwrap_err();
    assert_eq!(
        std::error::Error::source(&error).unwrap().to_string(),
        "the jail's source /no/such/runtime does not exist"
    );
    bench.close();
}

#[test]
fn a_policy_has_what_its_scenario_allows_and_no_more() {
    let text = "
import resource
def policy(observation):
    try:
        bytearray(300 << 20)
    except MemoryError:
        return [resource.getrlimit(resource.RLIMIT_CPU)[1], resource.getrlimit(resource.RLIMIT_AS)[1], 1, 0, 0, 0, 0]
    return [0] * 7
";
    let bench = Bench::new(1, |config| config.limits.cpu_s = 100);
    let dir = bench.policy("p", &[("policy.py", text)]);
    for (asked_cpu_s, got_cpu_s) in [(7, 7.0), (1_000, 100.0)] {
        let mut order = bench.order(&dir, 1);
        order.allowance.cpu_s = asked_cpu_s;
        order.allowance.memory_bytes = 400 << 20;
        let mut driver = Driver::new(bench.pool().prepare(order).unwrap().wait().unwrap());
        driver.begin();
        let memory = f64::from(400_u32 << 20);
        assert_eq!(driver.step(0), Answer::Action(vec![got_cpu_s, memory, 1.0, 0.0, 0.0, 0.0, 0.0]));
        driver.finish();
    }
    bench.close();
}

#[test]
fn the_kernel_ends_a_policy_at_its_cpu_limit() {
    let text = "
def policy(observation):
    while True: pass
";
    let bench = Bench::new(1, |_| {});
    let dir = bench.policy("p", &[("policy.py", text)]);
    let mut order = bench.order(&dir, 1);
    order.allowance.cpu_s = 1;
    let mut driver = Driver::new(bench.pool().prepare(order).unwrap().wait().unwrap());
    driver.begin();
    assert_eq!(driver.step(0), Answer::Closed);
    assert_eq!(driver.finish().exit.unwrap().signal, Some(9));
    bench.close();
}

#[test]
fn an_import_has_the_cpu_time_of_its_scenario() {
    let text = "import time\nwhile time.process_time() < 100: pass\n";
    let bench = Bench::new(1, |_| {});
    let mut order = bench.order(&bench.policy("p", &[("policy.py", text)]), 1);
    order.allowance.import_cpu = Duration::from_millis(300);
    let LoadOutcome::Failed(failure) = bench.pool().prepare(order).unwrap().wait().unwrap() else {
        panic!("it was loaded")
    };
    assert!(
        failure.code == PolicyErrorCode::ImportTimeout && failure.message.contains("0.3 s of CPU time"),
        "{failure:?}"
    );
    bench.close();
}

#[test]
fn large_numbers_are_numbers() {
    let text = "def policy(observation):\n    return [1.5e308, 1.5e308, 0, 0, 0, 0, -1]\n";
    let bench = Bench::new(1, |_| {});
    let large = vec![1.5e308, 1.5e308, 0.0, 0.0, 0.0, 0.0, -1.0];
    assert_eq!(bench.step_of("large", &[("policy.py", text)]).0, Answer::Action(large));
    bench.close();
}

/// Actions of an answer, in turn: a policy without a declaration, one whose files declare `replan_steps`, an object that
/// does, and answers of one action.
#[test]
fn the_actions_of_an_answer_are_executed_in_turn() {
    let bench = Bench::new(1, |_| {});
    let plan = "def policy(o):\n    return [[10 * o['time'] + row] * 7 for row in range(3)]\n";
    let object = "class Policy:\n    replan_steps = 2\n    def act(self, o):\n        return [[10 * o['time'] + row] * 7 for row in range(3)]\n";
    let single = "def policy(o):\n    return [10 * o['time']] * 7\n";
    for (name, code, replan_steps, firsts, counts) in [
        ("all", plan, None, [0.0, 1.0, 2.0, 30.0], [3, 0, 0, 3]),
        ("declared", plan, Some(2), [0.0, 1.0, 20.0, 21.0], [3, 0, 3, 0]),
        ("object", object, None, [0.0, 1.0, 20.0, 21.0], [3, 0, 3, 0]),
        ("files first", object, Some(3), [0.0, 1.0, 2.0, 30.0], [3, 0, 0, 3]),
        ("single", single, Some(3), [0.0, 10.0, 20.0, 30.0], [1; 4]),
    ] {
        let order = LoadRequest { replan_steps, ..bench.order(&bench.policy(name, &[("policy.py", code)]), 1) };
        let mut driver = Driver::new(bench.pool().prepare(order).unwrap().wait().unwrap());
        assert_eq!(driver.begin(), Answer::Ready, "{name}");
        let found: Vec<Answer> = (0..4).map(|step| driver.step(step)).collect();
        assert_eq!(found, firsts.map(|first| Answer::Action(vec![first; 7])), "{name}");
        assert_eq!(driver.counts, counts, "{name}");
        driver.finish();
    }
    bench.close();
}
