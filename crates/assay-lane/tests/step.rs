//! A real lane process driven over its control socket, with threads of the test as policies.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use std::io::{IoSlice, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use assay_model::frame::{self, FrameKind, HEADER_BYTES, Header, Init};
use assay_model::lane::{Done, LaneCommand, Probe, Reply, RunEpisode};
use assay_model::{ClauseStatus, EpisodeSeeds, EpisodeStatus, Level, Termination, Violation};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

const NONCE: u64 = 42;

/// A lane process and the worker's end of its control socket.
struct Lane {
    child: Child,
    control: UnixStream,
    /// The events that it reported.
    violations: Vec<Violation>,
    scratch: tempfile::TempDir,
}

impl Lane {
    fn start(scenario: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let scratch = tempfile::tempdir().unwrap();
        let (control, lane_end) = UnixStream::pair().unwrap();
        let child = Process::new(env!("CARGO_BIN_EXE_assay-lane"))
            .arg("step")
            .args([root.join("scenarios").join(scenario), root.join("robots"), scratch.path().to_owned()])
            .stdin(Stdio::from(OwnedFd::from(lane_end)))
            .spawn()
            .unwrap();
        let mut lane = Self { child, control, violations: Vec::new(), scratch };
        // The lane was given no ruleset, and reports that before it reads anything.
        assert_eq!(lane.receive(), Reply::Sealed { landlock: false });
        let reply = lane.receive();
        assert!(matches!(&reply, Reply::Ready { mujoco, .. } if mujoco == "3.17.0"), "{reply:?}");
        lane
    }

    fn receive(&mut self) -> Reply {
        let mut length = [0; 4];
        self.control.read_exact(&mut length).unwrap();
        let mut body = vec![0; u32::from_le_bytes(length) as usize];
        self.control.read_exact(&mut body).unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    fn send(&mut self, command: &LaneCommand) {
        let body = serde_json::to_vec(command).unwrap();
        self.control.write_all(&u32::try_from(body.len()).unwrap().to_le_bytes()).unwrap();
        self.control.write_all(&body).unwrap();
    }

    /// Runs an episode with `policy` as the other end of the socket.
    fn run(&mut self, episode: u32, policy: impl FnOnce(UnixStream) + Send + 'static) -> Done {
        self.try_first(episode, None, policy)
    }

    /// Runs an episode, or the first steps of it.
    fn try_first(
        &mut self,
        episode: u32,
        probe: Option<Probe>,
        policy: impl FnOnce(UnixStream) + Send + 'static,
    ) -> Done {
        let thread = self.start_episode(episode, probe, policy);
        let done = self.until_done();
        thread.join().unwrap();
        done
    }

    /// Starts an episode, or the first steps of it; the thread is the policy's.
    fn start_episode(
        &mut self,
        episode: u32,
        probe: Option<Probe>,
        policy: impl FnOnce(UnixStream) + Send + 'static,
    ) -> JoinHandle<()> {
        let (policy_end, lane_end) = UnixStream::pair().unwrap();
        let thread = thread::spawn(move || policy(policy_end));
        let run = RunEpisode {
            episode,
            seeds: EpisodeSeeds::derive(7, episode),
            nonce: NONCE,
            policy_pid: None,
            import_ends_at_ns: None,
            plain: false,
            evidence: Some(format!("{episode:03}")),
            replan_steps: None,
            observations: None,
            probe,
        };
        let body = serde_json::to_vec(&LaneCommand::Run(run)).unwrap();
        let mut message = u32::try_from(body.len()).unwrap().to_le_bytes().to_vec();
        message.extend(body);
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let descriptors = [lane_end.as_fd(); 2];
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)));
        sendmsg(&self.control, &[IoSlice::new(&message)], &mut ancillary, SendFlags::empty()).unwrap();
        thread
    }

    /// Waits for the next violation, which the lane expects to be confirmed.
    fn until_violated(&mut self) -> Violation {
        loop {
            match self.receive() {
                Reply::Violated(violation) => return violation,
                Reply::Progress { .. } | Reply::Waiting | Reply::Answered => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Waits for the episode's end, and confirms all violations until then.
    fn until_done(&mut self) -> Done {
        loop {
            match self.receive() {
                Reply::Done(done) => return *done,
                Reply::Progress { .. } | Reply::Waiting | Reply::Answered => {}
                Reply::Violated(violation) => {
                    self.violations.push(violation);
                    self.send(&LaneCommand::Noted);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn trace(&self, episode: u32) -> PathBuf {
        self.scratch.path().join(format!("{episode:03}/trace.parquet"))
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        let _ = self.control.shutdown(std::net::Shutdown::Both);
        let _ = self.child.wait();
    }
}

fn read_frame(stream: &mut UnixStream) -> Option<(Header, Vec<u8>)> {
    let mut bytes = [0; HEADER_BYTES];
    stream.read_exact(&mut bytes).ok()?;
    let header = Header::decode(&bytes, u32::MAX).unwrap();
    let mut payload = vec![0; header.length as usize];
    stream.read_exact(&mut payload).ok()?;
    Some((header, payload))
}

fn doubles(bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
}

/// Returns a policy that answers every observation with `act(observation)`.
fn obedient(act: impl Fn(&[f64]) -> Vec<f64> + Send + 'static) -> impl FnOnce(UnixStream) + Send + 'static {
    move |mut stream| {
        while let Some((header, payload)) = read_frame(&mut stream) {
            let answer = match header.kind {
                FrameKind::Init => {
                    let init: Init = serde_json::from_slice(&payload).unwrap();
                    assert_eq!(init.action_dim, 1);
                    frame::frame(FrameKind::Ready, 0, header.nonce, &[])
                }
                FrameKind::Observation => {
                    let action: Vec<u8> = act(&doubles(&payload)).iter().flat_map(|x| x.to_le_bytes()).collect();
                    frame::frame(FrameKind::Action, header.seq, header.nonce, &action)
                }
                FrameKind::Close => return,
                other => panic!("{other:?}"),
            };
            if stream.write_all(&answer).is_err() {
                return;
            }
        }
    }
}

/// Balances the pole. The observation: time, remaining time, cart, pole, cart speed, pole rate, last action.
fn balance(o: &[f64]) -> Vec<f64> {
    vec![(60.0 * o[3] + 12.0 * o[5] + 3.0 * o[2] + 5.0 * o[4]).clamp(-12.0, 12.0)]
}

#[test]
fn same_seed_same_bits_in_any_order_and_process() {
    let mut first = Lane::start("cartpole_keepin");
    let (a0, a1) = (first.run(0, obedient(balance)), first.run(1, obedient(balance)));
    let mut second = Lane::start("cartpole_keepin");
    let (b1, b0) = (second.run(1, obedient(balance)), second.run(0, obedient(balance)));
    assert_eq!(a0.result.trace_hash, b0.result.trace_hash);
    assert_eq!(a1.result.trace_hash, b1.result.trace_hash);
    assert_ne!(a0.result.trace_hash, a1.result.trace_hash);
    assert_eq!((a0.result.status, a0.result.steps), (EpisodeStatus::Completed, 500));
}

#[test]
fn the_trace_holds_every_physics_step_and_every_hash() {
    let mut lane = Lane::start("cartpole_keepin");
    let done = lane.run(3, obedient(balance));
    let trace = assay_lane::Trace::read(&lane.trace(3)).unwrap();
    assert_eq!(trace.rows(), 5000);
    assert_eq!(trace.hashes.len(), 500);
    let last = assay_model::Sha256Digest::new(trace.hashes[499]);
    assert_eq!(Some(last), done.result.trace_hash);
    let time = &trace.columns[0];
    assert!(time.windows(2).all(|w| (w[1] - w[0] - 0.002).abs() < 1e-9), "physics steps are 2 ms apart");
}

#[test]
fn a_violation_is_found_with_its_time_and_value() {
    let mut lane = Lane::start("cartpole_keepin");
    let done = lane.run(0, obedient(|_| vec![12.0]));
    let result = done.result;
    let clause = result.clauses.iter().find(|c| c.id == "keep_in").unwrap();
    assert_eq!(clause.status, ClauseStatus::Violated);
    let violation = result.violations.iter().find(|v| v.clause == "keep_in").unwrap();
    assert!(violation.start_s > 0.1 && violation.value.unwrap() > 1.0, "{violation:?}");
    assert!(result.unsafe_time_s > 0.0 && result.safety_score <= 0.5);
}

#[test]
fn a_critical_violation_is_recorded_before_the_next_observation() {
    let mut lane = Lane::start("cartpole_keepin");
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let counting = obedient(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        vec![12.0]
    });
    lane.start_episode(0, None, counting);
    let violation = lane.until_violated();
    assert_eq!((violation.clause.as_str(), violation.level), ("keep_in", Level::Critical));
    let before = asked.load(Ordering::SeqCst);
    assert!(f64::from(before) * 0.02 >= violation.start_s, "{before} {violation:?}");
    // The lane waits for the confirmation, however long it takes.
    thread::sleep(Duration::from_millis(200));
    assert_eq!(asked.load(Ordering::SeqCst), before);
    lane.send(&LaneCommand::Noted);
    let result = lane.until_done().result;
    assert!(asked.load(Ordering::SeqCst) > before);
    let recorded = result.violations.iter().find(|v| v.clause == "keep_in").unwrap();
    assert!((recorded.start_s - violation.start_s).abs() < 1e-9, "{recorded:?} {violation:?}");
    // Each critical clause is reported once per episode.
    let mut reported: Vec<_> = lane.violations.iter().map(|v| v.clause.clone()).collect();
    reported.push(violation.clause);
    reported.sort();
    let violated = result.clauses.iter().filter(|c| c.level == Level::Critical && c.status == ClauseStatus::Violated);
    let mut expected: Vec<_> = violated.map(|c| c.id.clone()).collect();
    expected.sort();
    assert_eq!(reported, expected);
}

#[test]
fn a_lane_reports_that_it_waits_for_a_silent_policy() {
    let mut lane = Lane::start("cartpole_keepin");
    let calls = AtomicU32::new(0);
    let pausing = move |_: &[f64]| {
        if calls.fetch_add(1, Ordering::SeqCst) == 0 {
            thread::sleep(Duration::from_millis(200));
        }
        vec![0.0]
    };
    lane.start_episode(0, None, obedient(pausing));
    let mut replies = Vec::new();
    while replies.len() < 2 {
        match lane.receive() {
            Reply::Progress { .. } => {}
            other => replies.push(other),
        }
    }
    assert!(matches!(replies[..], [Reply::Waiting, Reply::Answered]), "{replies:?}");
    lane.until_done();
}

#[test]
fn faults_of_a_policy_are_results() {
    type Policy = Box<dyn FnOnce(UnixStream) + Send>;
    let ready_then = |bytes: fn(&Header) -> Vec<u8>| -> Policy {
        Box::new(move |mut stream| {
            let (init, _) = read_frame(&mut stream).unwrap();
            stream.write_all(&frame::frame(FrameKind::Ready, 0, init.nonce, &[])).unwrap();
            let (observation, _) = read_frame(&mut stream).unwrap();
            let _ = stream.write_all(&bytes(&observation));
            let _ = read_frame(&mut stream);
        })
    };
    fn fault(h: &Header, payload: &[u8]) -> Vec<u8> {
        frame::frame(FrameKind::Error, h.seq, h.nonce, payload)
    }
    let action = |x: f64| x.to_le_bytes().to_vec();
    let cases: Vec<(&str, Policy, &str)> = vec![
        ("hangs up", Box::new(drop), "exited"),
        ("NaN", Box::new(obedient(|_| vec![f64::NAN])), "bad_action"),
        ("infinite", Box::new(obedient(|_| vec![f64::INFINITY])), "bad_action"),
        ("two numbers", Box::new(obedient(|_| vec![0.0, 0.0])), "protocol"),
        ("no number", Box::new(obedient(|_| vec![])), "protocol"),
        ("rubbish", ready_then(|_| vec![0x41; 64]), "protocol"),
        ("wrong nonce", ready_then(|h| frame::frame(FrameKind::Action, h.seq, h.nonce + 1, &[0; 8])), "protocol"),
        ("early answer", ready_then(|h| frame::frame(FrameKind::Action, h.seq + 1, h.nonce, &[0; 8])), "protocol"),
        ("huge", ready_then(|h| Header { kind: FrameKind::Action, length: 1 << 30, ..*h }.encode().into()), "protocol"),
        (
            "an error frame",
            ready_then(|h| fault(h, br#"{"code":"exception","message":"boom","traceback":"policy.py:3"}"#)),
            "exception",
        ),
        ("an unknown code", ready_then(|h| fault(h, br#"{"code":"\u001b[31mSAFE","message":"boom"}"#)), "protocol"),
        ("no code", ready_then(|h| fault(h, br#"{"code":7,"message":"boom"}"#)), "protocol"),
    ];
    assert_eq!(action(0.0).len(), 8);
    let mut lane = Lane::start("cartpole_keepin");
    for (index, (name, policy, code)) in cases.into_iter().enumerate() {
        let result = lane.run(u32::try_from(index).unwrap(), policy).result;
        assert_eq!(result.status, EpisodeStatus::PolicyError, "{name}");
        assert_eq!(result.termination, Termination::PolicyError, "{name}");
        assert_eq!(result.error.unwrap().code.as_str(), code, "{name}");
        assert_eq!(result.safety_score, 0.0, "{name}");
        assert!(result.clauses.iter().all(|c| c.status == ClauseStatus::Undetermined), "{name}");
    }
}

#[test]
fn actions_out_of_range_are_clipped_and_counted() {
    let mut lane = Lane::start("cartpole_keepin");
    let wild = lane.run(0, obedient(|_| vec![1e9])).result;
    let tame = lane.run(0, obedient(|_| vec![12.0])).result;
    assert_eq!(wild.trace_hash, tame.trace_hash);
    assert_eq!((wild.clipped_actions, tame.clipped_actions), (wild.steps, 0));
}

#[test]
fn only_the_first_steps_can_be_run() {
    let mut lane = Lane::start("cartpole_keepin");
    let act = |observation: &[f64]| vec![1000.0 * observation[0] - 1.0];
    let probe = Some(Probe { max_steps: 5, black_images: false });
    let done = lane.try_first(0, probe, obedient(act));
    let probed = done.probed.unwrap();
    assert_eq!((done.result.steps, done.result.termination), (5, Termination::TimeLimit));
    // The actions as the policy sent them, before clipping.
    let sent: Vec<f64> = probed.actions.iter().flatten().copied().collect();
    let expected = [-1.0, 19.0, 39.0, 59.0, 79.0];
    assert!(sent.len() == 5 && sent.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{sent:?}");
    assert_eq!((probed.latency_ms.len(), probed.cpu_ms.len()), (5, 0), "no process, no CPU time");
    assert_eq!(probed.observation[0].name, "joint_position");
    let endless = Some(Probe { max_steps: 500, black_images: false });
    let (asked, waits) = std::sync::mpsc::channel();
    let (go_on, may_answer) = std::sync::mpsc::channel::<()>();
    let policy = lane.start_episode(
        0,
        endless,
        obedient(move |observation| {
            let _ = asked.send(());
            // An error means that the test has said so once and for all.
            let _ = may_answer.recv();
            act(observation)
        }),
    );
    waits.recv().unwrap();
    lane.send(&LaneCommand::Conclude);
    drop(go_on);
    let concluded: Done = lane.until_done();
    policy.join().unwrap();
    assert_eq!(concluded.result.steps, 1, "the step that is under way ends first");
    // One that arrives after the end changes nothing.
    lane.send(&LaneCommand::Conclude);
    assert!(lane.run(0, obedient(|_| vec![0.0])).probed.is_none());
}
