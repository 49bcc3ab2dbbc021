//! A lane's jail, with Python in place of the lane: it must be able to read a policy's CPU clock by its pid and to
//! receive a policy's socket in a message, and nothing else.

use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use crate::jailed::common::Bench;
use assay_jail::{Bind, Jail, JailSpec, Profile};
use assay_policy::PolicyConnection;
use assay_testkit::PATIENCE;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

const LANE: &str = "
import os, socket, sys, time
control = socket.socket(fileno=0)
data, rights, _, _ = control.recvmsg(64, socket.CMSG_SPACE(4))
fd = int.from_bytes(rights[0][2], 'little')
pid = int(data)
clock = time.clock_gettime(((~pid) << 3) | 2)
os.write(fd, b'hello policy')
def can(attempt):
    try:
        return bool(attempt())
    except OSError:
        return False
results = [
    clock > 0,
    can(lambda: os.kill(pid, 0) is None),
    can(lambda: os.sched_setaffinity(pid, {0}) is None),
    can(lambda: socket.socket()),
    can(lambda: open(f'/proc/{pid}/status')),
    can(lambda: os.pidfd_open(pid)),
]
control.send(repr(results).encode())
";

#[test]
fn a_lane_reads_the_clock_and_takes_the_socket_and_nothing_else() {
    let bench = Bench::new(1, |_| {});
    let driver = bench.begins("p", &[("policy.py", "def policy(observation):\n    return [0] * 7\n")]);
    let (mut control, remote_end) = UnixStream::pair().unwrap();
    let (mut policy_end, lane_end) = UnixStream::pair().unwrap();
    let mut spec = JailSpec::new(Profile::Step, ["/py/bin/python3", "-I", "-S", "-c", LANE]);
    spec.binds = vec![Bind::read_only(&*crate::jailed::common::runtime().root, "/")];
    spec.stdin = Some(remote_end.into());
    let mut lane = Jail::find().unwrap().spawn(spec).unwrap();

    send_with(&control, driver.process.pid().unwrap().to_string().as_bytes(), &lane_end);
    let exit = lane.wait_deadline(PATIENCE).unwrap_or_else(|| lane.kill());
    assert!(exit.is_success(), "{exit:?} {}", String::from_utf8_lossy(&lane.output_tail()));
    control.write_all(b"").unwrap();
    let mut output = String::new();
    control.read_to_string(&mut output).unwrap();
    assert_eq!(output, "[True, False, False, False, False, False]");
    let mut word = [0; 12];
    policy_end.read_exact(&mut word).unwrap();
    assert_eq!(&word, b"hello policy");
    driver.finish();
    bench.close();
}

fn send_with(stream: &UnixStream, bytes: &[u8], passed: &impl AsFd) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    let fds = [passed.as_fd()];
    assert!(rights.push(SendAncillaryMessage::ScmRights(&fds)));
    sendmsg(stream, &[IoSlice::new(bytes)], &mut rights, SendFlags::empty()).unwrap();
}
