//! Channels between the jails of two accounts: two policies that have agreed on a way to pass bits, and a referee that
//! gives each its turn, which is more than they have in a service. Every channel is first shown to work between two
//! ordinary processes, so that a jail does not pass the test because of a broken channel.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use assay_model::Isolation;

use crate::jailed::common::{Answer, Bench, Driver};

/// The message. A random reading separates its ones from its zeros once in 6,435 times.
const MESSAGE: [bool; 16] = {
    const O: bool = false;
    const I: bool = true;
    [I, O, O, I, I, I, O, I, O, O, I, O, I, I, O, O]
};
/// Commands, as in `channels.py`.
const ARM: u32 = 0;
const MEASURE: u32 = 1;
const SEND: u32 = 2;
const KINDS: u32 = 4;

/// Maximum number of attempts of two ordinary processes.
const TRIES: usize = 12;

/// Work between two processes of one user.
const OPEN_OUTSIDE: [&str; 9] = [
    "Futex:wake",
    "Futex:wake_by_bits",
    "Futex:requeue",
    "Futex:wake_after_operation",
    "Futex:end_of_thread",
    "Futex:death_of_owner",
    "Lock",
    "RangeLock",
    "Name:library",
];
/// Depend on the machine's load or kernel, or work nowhere today.
const OTHERS: [&str; 15] = [
    "Futex:wake_the_new_way",
    "Reading:residency",
    "Reading:access",
    "Reading:st_ino",
    "Opening:st_nlink",
    "Opening:st_ctime_ns",
    "Name:/runner/",
    "Name:/dev/",
    "Device",
    "Memory",
    "Disk",
    "Threads",
    "Descriptors",
    "Pipes",
    "Processes",
];

/// Stay open in the tier without mounts of its own (`docs/threat-model.md`): times of reading at most once a file and
/// day, missing names as often as one likes.
const OPEN_IN_WEAKER: [&str; 2] = ["Reading:access", "Name:library"];

/// Returns a number that both ends of a pair share with no earlier pair, because the kernel remembers names.
fn nonce() -> u64 {
    static PAIRS: AtomicU64 = AtomicU64::new(0);
    u64::from(std::process::id()) << 32 | PAIRS.fetch_add(1, Ordering::Relaxed)
}

/// Returns the program of both ends, whose waits are `pace` times as long as necessary on a quiet machine.
fn source(channel: &str, jailed: bool, nonce: u64, pace: u32) -> String {
    let jailed = if jailed { "True" } else { "False" };
    let constants = format!("CHANNEL, CHANNEL_JAILED, NONCE, CHANNEL_PACE = {channel:?}, {jailed}, {nonce}, {pace}");
    format!("{constants}\n{}", include_str!("channels.py"))
}

/// One end of a channel.
trait End {
    fn obey(&mut self, command: u32) -> f64;
}

struct Jailed(Driver, u32);

impl End for Jailed {
    fn obey(&mut self, command: u32) -> f64 {
        self.1 += 1;
        match self.0.step(self.1 * KINDS + command) {
            Answer::Action(action) => action[0],
            other => panic!("{other:?}"),
        }
    }
}

struct Outside {
    child: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Outside {
    /// Starts both ends. The program is written before either starts: written again for the second, it would be cut to
    /// nothing while the first reads it.
    fn start_pair(bench: &Bench, channel: &str, pace: u32) -> [Self; 2] {
        let path = bench.folder.path().join("outside.py");
        std::fs::write(&path, source(channel, false, nonce(), pace)).unwrap();
        [(); 2].map(|()| Self::start(&path))
    }

    fn start(program: &Path) -> Self {
        let mut command = Command::new("python3");
        let mut child = command.arg(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (ask, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, ask, answers }
    }
}

impl End for Outside {
    fn obey(&mut self, command: u32) -> f64 {
        writeln!(self.ask, "{command}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        line.trim().parse().unwrap_or_else(|error| panic!("the program answered {line:?} ({error})"))
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Passes the message. Returns each bit with the value measured for it.
fn pass(sender: &mut dyn End, receiver: &mut dyn End) -> Vec<(bool, f64)> {
    let pass_one = |bit: bool| {
        receiver.obey(ARM);
        sender.obey(SEND + u32::from(bit));
        (bit, receiver.obey(MEASURE))
    };
    MESSAGE.into_iter().map(pass_one).collect()
}

/// Returns true if some threshold separates all ones from all zeros.
fn is_received(readings: &[(bool, f64)]) -> bool {
    let of = |wanted: bool| readings.iter().filter(move |(bit, _)| *bit == wanted).map(|(_, reading)| *reading);
    let least = |wanted| of(wanted).fold(f64::INFINITY, f64::min);
    let most = |wanted| of(wanted).fold(f64::NEG_INFINITY, f64::max);
    most(false) < least(true) || most(true) < least(false)
}

fn jailed(bench: &Bench, channel: &str) -> Vec<(bool, f64)> {
    let name = |end: &str| format!("{}-{end}", channel.replace([':', '/'], "-"));
    let source = source(channel, true, nonce(), 1);
    let begin = |end| Jailed(bench.begins(&name(end), &[("policy.py", &source)]), 0);
    let (mut sender, mut receiver) = (begin("sender"), begin("receiver"));
    let readings = pass(&mut sender, &mut receiver);
    sender.0.abort();
    receiver.0.abort();
    readings
}

fn assert_no_channel(isolation: Isolation) {
    let bench = Bench::new(0, |config| config.isolation = isolation);
    let open: Vec<_> = OPEN_OUTSIDE
        .iter()
        .chain(&OTHERS)
        .map(|channel| (channel, jailed(&bench, channel)))
        .filter(|(_, readings)| is_received(readings))
        .filter(|(channel, _)| isolation == Isolation::Namespaces || !OPEN_IN_WEAKER.contains(channel))
        .collect();
    assert!(open.is_empty(), "in the tier {isolation}: {open:?}");
    bench.close();
}

#[test]
fn every_channel_works_between_ordinary_processes() {
    let bench = Bench::new(0, |_| {});
    for channel in OPEN_OUTSIDE {
        // A timing channel needs a moment without disturbance by other processes, or more time for each bit.
        let tries = (0..TRIES).map(|tried| {
            let [mut sender, mut receiver] = Outside::start_pair(&bench, channel, 1 << (tried / 2));
            pass(&mut sender, &mut receiver)
        });
        let failed: Vec<_> = tries.take_while(|readings| !is_received(readings)).collect();
        assert!(failed.len() < TRIES, "{channel} proves nothing: {failed:?}");
    }
    bench.close();
}

#[test]
fn no_channel_works_between_two_jails() {
    assert_no_channel(Isolation::Namespaces);
}

#[test]
fn no_channel_works_between_two_jails_of_the_weaker_tier() {
    assert_no_channel(Isolation::Landlock);
}

/// The number of a file's links would tell how many policies run.
#[test]
fn no_file_that_a_jail_sees_of_its_policy_has_a_link_elsewhere() {
    let bench = Bench::new(0, |_| {});
    let source = "import os\n\ndef policy(observation):\n    \
                  files = [p for p in ('/policy/policy.py', '/runner/runner.py') if os.path.exists(p)]\n    \
                  return [float(max(os.stat(p).st_nlink for p in files))] + [0.0] * 6\n";
    let (mut one, mut other) =
        (bench.begins("one", &[("policy.py", source)]), bench.begins("other", &[("policy.py", source)]));
    for driver in [&mut one, &mut other] {
        assert!(matches!(driver.step(0), Answer::Action(action) if action[0] == 1.0));
    }
    one.abort();
    other.abort();
    bench.close();
}
