//! Jobs whose policy is a server. Their lanes mostly wait for it, so they have separate threads and delay no job whose
//! policy runs here. Several lanes work on a job's only shard, as many as the server allows connections.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::thread;
use std::time::SystemTime;

use assay_model::{JobHeader, JobId, JobStatus};
use assay_policy::remote::{PolicyServer, ServerEndpoint};
use assay_store::{Claim, MAX_RETRIES, PolicyServerAccess, ShardKind};

use super::busy::Busy;
use super::intervals::LEASE;
use super::servers::lock;
use super::shard::ShardWorkspace;
use super::shard_end::ShardEnd;
use super::shard_recorder::ShardRecorder;
use super::shared::WorkerShared;
use crate::engine::core_of;
use crate::episode::lane_session::LaneSession;
use crate::{Cancel, PolicySource, SessionError};

/// Maximum number of policy server jobs that run at the same time.
pub(super) const MAX_JOBS: usize = 4;
/// Maximum number of episodes of a lane before the job is handed back, so that other jobs get their turn.
const TURN_EPISODES: usize = 16;

impl WorkerShared {
    /// Runs jobs of policy servers until the service stops.
    pub(super) fn serve_servers(&self) {
        while !self.stopping.is_cancelled() {
            if let Some(claim) = self.server_shard() {
                self.process_shard(&claim, |workspace, cancel| self.run_server(&claim, workspace, cancel));
                // Shards that were handed back are available to any worker, including this one.
                self.servers.wake();
            }
        }
    }

    fn server_shard(&self) -> Option<Claim> {
        let _turn = lock(&self.servers.turn);
        if self.stopping.is_cancelled() {
            return None;
        }
        let request = self.request(ShardKind::Server);
        match self.wait(self.options.records.claim_shard(&request, self.options.clock.now(), LEASE)) {
            Ok(Some(claim)) => return Some(claim),
            Ok(None) => {}
            Err(error) => error.log("could not claim shard of a policy server"),
        }
        self.servers.wait_for_hint();
        None
    }

    /// Runs a turn of a shard on several lanes. Returns an error only if the preparations fail.
    fn run_server(&self, claim: &Claim, workspace: &ShardWorkspace, cancel: &Cancel) -> Result<ShardEnd, SessionError> {
        let job = self.job(claim, workspace)?;
        let recorder = ShardRecorder::new(self, claim, workspace.evidence());
        let lanes = self.servers.lanes(job.policy.lanes(1, claim.episodes.len()));
        let count = lanes.more + 1;
        let _busy = Busy::lanes(u32::try_from(count).unwrap_or(u32::MAX));
        let turn: VecDeque<u32> = claim.episodes.iter().copied().take(count * TURN_EPISODES).collect();
        let is_last = turn.len() == claim.episodes.len();
        let episodes = Mutex::new(turn);
        let failed = Cancel::new();
        let next = || if failed.is_cancelled() { None } else { lock(&episodes).pop_front() };
        let run = |lane: usize| {
            let session = LaneSession::new(&*self.host, &job, core_of(lane), cancel)?;
            let session = session.with_earlier_notes(claim.notes.clone());
            let session = session.last_try(claim.failures >= MAX_RETRIES);
            session.stopping(self.stopping.clone()).run(next, &recorder)
        };
        let outcome = thread::scope(|scope| {
            // The cause of one lane's error would affect the others too.
            let run = |lane| run(lane).inspect_err(|_| failed.cancel());
            let threads: Vec<_> = (1..count).map(|lane| scope.spawn(move || run(lane))).collect();
            let panicked = || Err(SessionError::internal("a lane's thread panicked"));
            let first = run(0);
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| panicked())).fold(first, Result::and)
        });
        Ok(match recorder.ended(outcome) {
            ShardEnd::Done if !is_last => ShardEnd::HandBack,
            ended => ended,
        })
    }

    /// Returns the policy server of a job.
    pub(super) fn server(&self, header: &JobHeader) -> Result<PolicySource, SessionError> {
        let call = self.options.servers.get(header.job_id).map_err(SessionError::of)?;
        let gone = || SessionError::internal("the address of the policy server is not stored");
        let call = match call.ok_or_else(gone)? {
            PolicyServerAccess::Call(call) => call,
            PolicyServerAccess::Connects => {
                return Ok(PolicySource::Connected { job: header.job_id, replan_steps: header.replan_steps });
            }
        };
        let endpoint = ServerEndpoint::parse(call.url.reveal()).map_err(SessionError::of)?;
        let server = PolicyServer { endpoint, api_key: call.api_key, replan_steps: header.replan_steps };
        Ok(PolicySource::Server { server, concurrency: call.concurrency.max(1) })
    }

    /// Removes the credentials of a job's policy server, including the key, and ends its connection: they are no longer
    /// needed.
    pub(super) fn forget_server(&self, job: JobId) {
        if let Err(error) = self.options.servers.remove(job) {
            tracing::error!(job.id = %job, %error, "could not remove policy server credentials");
        }
        // After the file, without which no connection is accepted.
        self.options.engine.remote().connected().end(job);
    }

    /// Removes the credentials of all jobs that have ended, and of requests from before `start` that never became a
    /// job.
    pub(super) fn forget_servers(&self, start: SystemTime) {
        let kept = self.options.servers.list().unwrap_or_else(|error| {
            tracing::error!(%error, "could not list policy server credentials");
            Vec::new()
        });
        for (job, since) in kept {
            match self.wait(self.options.records.job(None, job)) {
                Ok(Some(record)) if !is_needed(record.state.status()) => self.forget_server(job),
                Ok(None) if since < start => self.forget_server(job),
                Ok(_) => {}
                Err(error) => error.log("could not read records"),
            }
        }
    }
}

/// Returns true if episodes may still have to be run.
fn is_needed(status: JobStatus) -> bool {
    matches!(status, JobStatus::Queued | JobStatus::Running)
}
