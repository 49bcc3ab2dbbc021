//! Jobs whose policy is a server. Their lanes mostly wait for it, so they have separate threads and delay no job whose
//! policy runs here. Several lanes work on a job's only shard, as many as the server allows connections.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::thread;

use assay_model::Assignment;
use assay_policy::remote::{PolicyServer, ServerEndpoint};
use assay_store::{MAX_RETRIES, PolicyServerCredentials, ShardKind};

use super::busy::Busy;
use super::intervals::CLAIM_WAIT;
use super::runner::ShardRunner;
use super::servers::lock;
use super::shard::ShardWorkspace;
use super::shard_end::ShardEnd;
use super::shard_recorder::ShardRecorder;
use crate::engine::core_of;
use crate::episode::lane_session::LaneSession;
use crate::{Cancel, PolicySource, SessionError};

/// Maximum number of policy server jobs that run at the same time.
pub(crate) const MAX_JOBS: usize = 4;
/// Maximum number of episodes of a lane before the job is handed back, so that other jobs get their turn.
const TURN_EPISODES: usize = 16;

impl ShardRunner {
    /// Runs jobs of policy servers until the service stops. Calls `after` after each turn of one.
    pub(crate) fn serve_servers(&self, after: &dyn Fn()) {
        while !self.stopping.is_cancelled() {
            if let Some(shard) = self.server_shard() {
                self.process(&shard, |workspace, cancel| self.run_server(&shard, workspace, cancel), after);
                // Shards that were handed back are available to any worker, including this one.
                self.servers.wake();
            }
        }
    }

    fn server_shard(&self) -> Option<Assignment> {
        let _turn = lock(&self.servers.turn);
        if self.stopping.is_cancelled() {
            return None;
        }
        match self.dispatch.claim(ShardKind::Server, &[], CLAIM_WAIT) {
            Ok(Some(shard)) => return Some(shard),
            Ok(None) => {}
            Err(error) => error.log("could not claim shard of a policy server"),
        }
        self.servers.wait_for_hint();
        None
    }

    /// Runs a turn of a shard on several lanes. Returns an error only if the preparations fail.
    fn run_server(
        &self,
        shard: &Assignment,
        workspace: &ShardWorkspace,
        cancel: &Cancel,
    ) -> Result<ShardEnd, SessionError> {
        let job = self.job(shard, workspace)?;
        let recorder = ShardRecorder::new(self, shard, workspace.evidence(), cancel);
        let lanes = self.servers.lanes(job.policy.lanes(1, shard.episodes.len()));
        let count = lanes.more + 1;
        let _busy = Busy::lanes(u32::try_from(count).unwrap_or(u32::MAX));
        let turn: VecDeque<u32> = shard.indices().take(count * TURN_EPISODES).collect();
        let is_last = turn.len() == shard.episodes.len();
        let episodes = Mutex::new(turn);
        let failed = Cancel::new();
        let next = || if failed.is_cancelled() { None } else { lock(&episodes).pop_front() };
        let run = |lane: usize| {
            let session = LaneSession::new(&*self.host, &job, core_of(lane), cancel)?;
            let session = session.with_earlier_notes(shard.notes.clone());
            let session = session.last_try(shard.failures >= MAX_RETRIES);
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

    /// Returns the policy server with these credentials.
    pub(super) fn server(
        call: PolicyServerCredentials,
        replan_steps: Option<u32>,
    ) -> Result<PolicySource, SessionError> {
        let endpoint = ServerEndpoint::parse(call.url.reveal()).map_err(SessionError::of)?;
        let server = PolicyServer { endpoint, api_key: call.api_key, replan_steps };
        Ok(PolicySource::Server { server, concurrency: call.concurrency.max(1) })
    }
}
