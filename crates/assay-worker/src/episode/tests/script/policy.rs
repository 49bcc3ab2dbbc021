//! Policies that follow a script.

use std::os::unix::net::UnixStream;
use std::time::Duration;

use assay_jail::{Activity, Exit, ExitReason};
use assay_policy::{PolicyConnection, PolicyEnd, PolicyFailure, PolicyStream};

use super::{Attempt, CPU_LIMIT, LaneScript, ScriptedHost, Start};
use crate::episode::host::PreparedPolicy;
use crate::episode::policy::PolicyStart;
use crate::{Cancel, SessionError};

/// A policy that is being prepared.
pub(super) struct ScriptedStart {
    pub(super) host: ScriptedHost,
    pub(super) episode: u32,
    pub(super) attempt: Attempt,
}

impl PreparedPolicy for ScriptedStart {
    fn start(self: Box<Self>, cancel: &Cancel) -> Result<PolicyStart, SessionError> {
        if cancel.is_cancelled() {
            return Err(SessionError::Cancelled);
        }
        let Attempt { start, acts, end, exit, is_process, links } = self.attempt;
        match start {
            Start::Failed(code) => Ok(PolicyStart::Failed(Box::new(PolicyFailure {
                code,
                message: "the policy can't be imported".to_owned(),
                traceback: String::new(),
                log_tail: String::new(),
            }))),
            Start::Disturbed => Ok(PolicyStart::Disturbed("its process was killed from outside".to_owned())),
            Start::Elsewhere => Err(SessionError::PolicyElsewhere),
            Start::Ready => {
                let mut stage = self.host.stage.lock().unwrap();
                stage.killed = false;
                stage.lanes.entry(self.episode).or_default().push_back(LaneScript { acts, end, links });
                drop(stage);
                let (socket, _) = UnixStream::pair().map_err(SessionError::of)?;
                let stream = Some(PolicyStream::socket(socket).map_err(SessionError::of)?);
                Ok(PolicyStart::Ready(Box::new(ScriptedPolicy { host: self.host, stream, exit, is_process })))
            }
        }
    }
}

/// A policy that follows a script.
struct ScriptedPolicy {
    host: ScriptedHost,
    stream: Option<PolicyStream>,
    exit: Exit,
    is_process: bool,
}

impl ScriptedPolicy {
    fn end(self, how: &str) -> PolicyEnd {
        self.host.record_event(how);
        let killed = self.host.stage.lock().unwrap().killed;
        let exit = if killed { Exit { reason: ExitReason::Killed, ..self.exit } } else { self.exit };
        let exit = self.is_process.then_some(exit);
        PolicyEnd { exit, log_tail: "the policy's log".to_owned(), cpu_limit: Some(CPU_LIMIT), answers: None }
    }
}

impl PolicyConnection for ScriptedPolicy {
    fn take_stream(&mut self) -> Option<PolicyStream> {
        self.stream.take()
    }

    fn nonce(&self) -> u64 {
        1
    }

    fn pid(&self) -> Option<i32> {
        self.is_process.then_some(1)
    }

    fn cpu_time(&self) -> Option<Duration> {
        None
    }

    fn activity(&self) -> Option<Activity> {
        self.host.stage.lock().unwrap().activity
    }

    fn kill(&mut self) {
        self.host.record_event("policy killed");
        self.host.stage.lock().unwrap().killed = true;
    }

    fn finish(self: Box<Self>) -> PolicyEnd {
        self.end("policy finished")
    }

    fn abort(self: Box<Self>) -> PolicyEnd {
        self.end("policy aborted")
    }
}
