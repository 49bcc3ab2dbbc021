//! Plays the lane in an episode, one frame at a time.

use std::io::{Read, Write};
use std::time::Duration;

use assay_model::Secret;
use assay_model::frame::{
    ArraySpec, Dtype, FrameKind, HEADER_BYTES, Header, Init, MAX_REPLY_BYTES, PolicyFault, frame,
};
use assay_policy::remote::{
    AddressGuard, AnswerCounts, ConnectOutcome, PolicyServer, RemoteLimits, RemotePolicy, ServerConnector,
    ServerEndpoint,
};
use assay_policy::{PolicyConnection, PolicyStream};
use assay_testkit::PATIENCE;

/// Deadlines that no server of the tests exceeds by being slow.
pub(crate) const LIMITS: RemoteLimits =
    RemoteLimits { connect: PATIENCE, first: PATIENCE, inference: PATIENCE, episode: PATIENCE };
/// A deadline that is short enough to wait for, and longer ones for a machine that is too slow for it.
const SHORT: [Duration; 3] = [Duration::from_millis(400), Duration::from_secs(5), Duration::from_secs(60)];

/// A connected server and the lane's end of its socket pair.
pub(crate) struct Dialogue {
    // Dropped before the connector whose threads it runs on.
    policy: Option<Box<RemotePolicy>>,
    stream: PolicyStream,
    nonce: u64,
    seq: u32,
    _remote: ServerConnector,
}

/// Returns a server at `url` whose answers are executed completely.
pub(crate) fn at(url: &str) -> PolicyServer {
    PolicyServer { endpoint: ServerEndpoint::parse(url).unwrap(), api_key: None, replan_steps: None }
}

pub(crate) fn with_key(url: &str, key: &str) -> PolicyServer {
    PolicyServer { api_key: Some(Secret::new(key)), ..at(url) }
}

impl Dialogue {
    /// Connects; an error has the form `code: message`.
    pub(crate) fn open(server: &PolicyServer, limits: RemoteLimits) -> Result<Self, String> {
        let guard = AddressGuard::new(vec!["127.0.0.0/8".parse().unwrap()]);
        let remote = ServerConnector::new(guard, limits).unwrap();
        match remote.connect(server).unwrap().wait() {
            ConnectOutcome::Ready(mut policy) => {
                let stream = policy.take_stream().unwrap();
                let nonce = policy.nonce();
                Ok(Self { policy: Some(policy), stream, nonce, seq: 0, _remote: remote })
            }
            ConnectOutcome::Failed(failure) => Err(format!("{}: {}", failure.code, failure.message)),
            ConnectOutcome::Elsewhere => Err("it is connected to another server".to_owned()),
        }
    }

    pub(crate) fn speaks(&self) -> &str {
        self.policy.as_ref().unwrap().speaks().unwrap()
    }

    /// Begins an episode with an image, two joints, and actions of two numbers.
    pub(crate) fn begin(&mut self, instruction: &str) -> Result<(), String> {
        let array =
            |name: &str, dtype, shape: &[u32]| ArraySpec { name: name.to_owned(), dtype, shape: shape.to_vec() };
        let init = Init {
            seed: 7,
            scenario: "test".to_owned(),
            instruction: Some(instruction.to_owned()),
            observation: vec![array("joint_position", Dtype::F64, &[2]), array("image", Dtype::U8, &[4, 6, 3])],
            action_dim: 2,
        };
        self.send(FrameKind::Init, &serde_json::to_vec(&init).unwrap());
        self.receive(FrameKind::Ready).map(|_| ())
    }

    /// Sends an observation at time 0 whose first joint is `joint`, and returns the action.
    pub(crate) fn ask(&mut self, joint: f64) -> Result<[f64; 2], String> {
        let numbers: Vec<u8> = [0.0, 1.0, joint, 0.0].iter().flat_map(|x: &f64| x.to_le_bytes()).collect();
        self.send(FrameKind::Observation, &[numbers, vec![9; 4 * 6 * 3]].concat());
        let action = self.receive(FrameKind::Action)?;
        self.seq += 1;
        let number = |at: usize| f64::from_le_bytes(action[at * 8..][..8].try_into().unwrap());
        assert_eq!(action.len(), 16);
        Ok([number(0), number(1)])
    }

    /// Ends the episode as a lane does. Returns the statistics of the server's answers.
    pub(crate) fn close(mut self) -> AnswerCounts {
        self.send(FrameKind::Close, &[]);
        let end = self.policy.take().unwrap().finish();
        assert_eq!(end.exit, None);
        end.answers.unwrap()
    }

    fn send(&mut self, kind: FrameKind, payload: &[u8]) {
        self.stream.write_all(&frame(kind, self.seq, self.nonce, payload)).unwrap();
    }

    fn receive(&mut self, kind: FrameKind) -> Result<Vec<u8>, String> {
        assert!(self.stream.is_readable(PATIENCE), "the relay sent nothing");
        let mut header = [0; HEADER_BYTES];
        self.stream.read_exact(&mut header).unwrap();
        let header = Header::decode(&header, MAX_REPLY_BYTES).unwrap();
        let mut payload = vec![0; header.length as usize];
        self.stream.read_exact(&mut payload).unwrap();
        assert_eq!((header.nonce, header.seq), (self.nonce, self.seq));
        if header.kind == FrameKind::Error {
            let fault: PolicyFault = serde_json::from_slice(&payload).unwrap();
            let shown = fault.message.chars().chain(fault.traceback.chars());
            assert!(shown.into_iter().all(|c| c == '\n' || c == '\t' || !c.is_control()), "{fault:?}");
            assert!(!fault.message.contains('\n'), "{fault:?}");
            return Err(format!("{}: {}", fault.code, fault.message));
        }
        assert_eq!(header.kind, kind);
        Ok(payload)
    }
}

/// Runs an episode of two observations. Returns the last action, or the fault.
pub(crate) fn episode(server: &PolicyServer) -> Result<[f64; 2], String> {
    let mut dialogue = Dialogue::open(server, LIMITS)?;
    dialogue.begin("go")?;
    dialogue.ask(0.25)?;
    let last = dialogue.ask(0.25)?;
    dialogue.close();
    Ok(last)
}

/// Runs an episode of ten observations. Returns the last action, or the first fault.
fn long_episode(server: &PolicyServer) -> Result<[f64; 2], String> {
    let mut dialogue = Dialogue::open(server, RemoteLimits { episode: Duration::from_millis(1500), ..LIMITS })?;
    dialogue.begin("go")?;
    (0..10).try_fold([0.0; 2], |_, _| dialogue.ask(0.25))
}

/// Runs [`episode`], with deadlines that expire soon for the modes that test deadlines.
pub(crate) fn impatient(server: &PolicyServer, mode: &str) -> Result<[f64; 2], String> {
    match mode {
        "silent" | "drips" => answer_within(server, |first| RemoteLimits { first, ..LIMITS }),
        "no_hello" | "hello_drips" => answer_within(server, |connect| RemoteLimits { connect, ..LIMITS }),
        "dwells" => long_episode(server),
        _ => episode(server),
    }
}

/// Runs an episode of one observation with the first of the [`SHORT`] deadlines that is long enough for what comes before
/// the answer. A fault names the shortest.
fn answer_within(server: &PolicyServer, limits: impl Fn(Duration) -> RemoteLimits) -> Result<[f64; 2], String> {
    let named = |limit: Duration| format!("within {} s", limit.as_secs_f64());
    let once = |limit| {
        let mut dialogue = Dialogue::open(server, limits(limit))?;
        dialogue.begin("go")?;
        dialogue.ask(0.25)
    };
    let is_early = |found: &Result<_, String>| found.as_ref().is_err_and(|fault| fault.contains("answer the reset"));
    let mut tried = SHORT.into_iter().map(|limit| (limit, once(limit)));
    let (limit, found) = tried.find(|(_, found)| !is_early(found)).expect("a server that answers the reset");
    found.map_err(|fault| fault.replace(&named(limit), &named(SHORT[0])))
}
