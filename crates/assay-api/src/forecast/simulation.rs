//! The simulation of the queue: the account whose shard each free lane claims, by the rules of the store's claim, and
//! the time at which it does.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::num::NonZeroU32;

use assay_model::{AccountId, JobId, ScenarioId};
use assay_store::{OpenShard, QueueSnapshot};
use jiff::Timestamp;

use super::job_forecast::{JobForecast, NoEstimate, tenths};
use super::placeholders::with_placeholders;

/// Number of policy-server jobs that a process runs at a time; see the worker.
const SERVER_SLOTS: usize = 4;
/// Assumed duration of an episode of an unmeasured scenario in seconds, for the order of claims only.
const UNKNOWN_S: f64 = 1.0;

/// An estimated time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct EstimatedTime {
    at_ms: u64,
    /// True if all durations that it depends on were measured.
    measured: bool,
}

impl EstimatedTime {
    const NOW: Self = Self { at_ms: 0, measured: true };
}

/// A lane, and the time at which it becomes free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BusyLane<'a> {
    until: EstimatedTime,
    /// The account of the shard that it runs.
    account: Option<&'a AccountId>,
}

/// An account's place in the order of claims: by the fewest shards held, then the longest wait for a turn, then the
/// oldest job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ClaimTurn<'a> {
    held: u32,
    last_given: u64,
    job: JobId,
    account: &'a AccountId,
}

/// Returns the forecasts of all jobs in the queue, ordered by id.
pub(super) fn simulate_queue(queue: &QueueSnapshot, lanes: NonZeroU32, now: Timestamp) -> Vec<(JobId, JobForecast)> {
    let lanes = usize::try_from(lanes.get()).unwrap_or(usize::MAX);
    let conclusion = queue.conclusion_s.unwrap_or(0.0);
    let mut jobs = Vec::new();
    for (remote, lanes) in [(false, lanes), (true, SERVER_SLOTS)] {
        let paces: HashMap<_, _> = queue
            .episode_durations
            .iter()
            .filter(|pace| pace.remote == remote)
            .map(|pace| (&pace.scenario, pace.seconds))
            .collect();
        let of_kind = queue.shards.iter().filter(|shard| shard.remote == remote);
        let known: Vec<OpenShard>;
        let shards: Vec<&OpenShard> = if remote || queue.hidden.is_empty() {
            of_kind.collect()
        } else {
            let pace = |scenario: &ScenarioId| paces.get(scenario).copied();
            known = with_placeholders(of_kind.cloned().collect(), &queue.hidden, lanes, now, pace);
            known.iter().collect()
        };
        let pace = |shard: &OpenShard| paces.get(&*shard.scenario).copied();
        let simulated = QueueSimulation::new(&shards, lanes, now, &pace).run(&pace);
        jobs.extend(simulated.into_iter().map(|(job, projection)| (job, projection.forecast(remote, conclusion))));
    }
    jobs.sort_unstable_by_key(|(job, _)| *job);
    jobs
}

/// The simulated course of a job.
#[derive(Default)]
struct JobProjection {
    /// True if it has not been started.
    is_queued: bool,
    /// True if a lane works on it now.
    has_lane: bool,
    /// Position in the queue, from 1.
    position: Option<u32>,
    /// The end of its last shard; measured if the ends of all its shards are.
    end: Option<EstimatedTime>,
    /// True if no episode of its own scenario has been measured.
    is_unmeasured: bool,
    /// Seconds that its slowest running episode has taken so far, if they exceed the usual duration of an episode.
    slowest_s: f64,
}

impl JobProjection {
    fn extend_to(&mut self, end: EstimatedTime) {
        let last = self.end.unwrap_or(EstimatedTime::NOW);
        let at_ms = last.at_ms.max(end.at_ms);
        self.end = Some(EstimatedTime { at_ms, measured: last.measured && end.measured });
    }

    fn forecast(self, remote: bool, conclusion_s: f64) -> JobForecast {
        let measured = self.end.filter(|end| end.measured);
        let no_estimate = match self.end {
            Some(EstimatedTime { measured: true, .. }) => None,
            Some(_) if self.is_unmeasured => Some(NoEstimate::Unmeasured),
            Some(_) => Some(NoEstimate::BehindUnmeasured),
            None => Some(NoEstimate::FarBack),
        };
        JobForecast {
            position: self.position,
            eta_s: measured.map(|end| tenths(end.at_ms as f64 / 1000.0 + conclusion_s)),
            no_estimate,
            remote,
            is_idle: !self.is_queued && !self.has_lane,
            missing: None,
        }
    }
}

/// The state of the simulation.
struct QueueSimulation<'a> {
    /// All lanes, the first one to become free on top.
    lanes: BinaryHeap<Reverse<BusyLane<'a>>>,
    /// The number of shards that each account holds.
    held: BTreeMap<&'a AccountId, u32>,
    waiting: BTreeMap<&'a AccountId, VecDeque<&'a OpenShard>>,
    /// The accounts with waiting shards in the order of claims.
    turns: BTreeSet<ClaimTurn<'a>>,
    /// The turn in which each account last got a shard.
    given: BTreeMap<&'a AccountId, u64>,
    last_given: u64,
    jobs: HashMap<JobId, JobProjection>,
}

impl<'a> QueueSimulation<'a> {
    fn new(shards: &[&'a OpenShard], lanes: usize, now: Timestamp, pace: &dyn Fn(&OpenShard) -> Option<f64>) -> Self {
        let mut simulation = Self {
            lanes: BinaryHeap::new(),
            held: BTreeMap::new(),
            waiting: BTreeMap::new(),
            turns: BTreeSet::new(),
            given: shards.iter().map(|shard| (&*shard.account, shard.turn)).collect(),
            last_given: shards.iter().map(|shard| shard.turn).max().unwrap_or(0),
            jobs: HashMap::with_capacity(shards.len()),
        };
        for shard in shards {
            let projection = simulation.jobs.entry(shard.job_id).or_default();
            projection.is_queued = shard.is_queued_job;
            let Some(since) = shard.since else {
                simulation.waiting.entry(&shard.account).or_default().push_back(shard);
                continue;
            };
            *simulation.held.entry(&shard.account).or_default() += 1;
            let each = pace(shard);
            let begun = now.duration_since(since).as_secs_f64().max(0.0);
            let usual = each.unwrap_or(UNKNOWN_S);
            // An episode that takes longer than usual is assumed to take as long again, and so are the following ones.
            let (first, next) = if begun <= usual { (usual - begun, usual) } else { (begun, begun) };
            let others = f64::from(shard.episodes_left.saturating_sub(1)) * next;
            let end = EstimatedTime { at_ms: millis(first + others), measured: each.is_some() };
            projection.has_lane = true;
            projection.is_unmeasured |= each.is_none();
            if begun > usual {
                projection.slowest_s = projection.slowest_s.max(begun);
            }
            projection.extend_to(end);
            simulation.lanes.push(Reverse(BusyLane { until: end, account: Some(&shard.account) }));
        }
        for _ in simulation.lanes.len()..lanes {
            simulation.lanes.push(Reverse(BusyLane { until: EstimatedTime::NOW, account: None }));
        }
        for (account, shards) in &simulation.waiting {
            let held = simulation.held.get(account).copied().unwrap_or(0);
            let turn = |shard: &&OpenShard| ClaimTurn { held, last_given: shard.turn, job: shard.job_id, account };
            simulation.turns.extend(shards.front().map(turn));
        }
        simulation
    }

    /// Simulates the queue to its end.
    fn run(mut self, pace: &dyn Fn(&OpenShard) -> Option<f64>) -> HashMap<JobId, JobProjection> {
        let mut begun = 0;
        while let Some(&Reverse(lane)) = self.lanes.peek() {
            if self.turns.is_empty() {
                break;
            }
            self.lanes.pop();
            if let Some(account) = lane.account {
                self.release(account);
            }
            let Some(shard) = self.claim_next() else { break };
            let each = pace(shard);
            let projection = self.jobs.entry(shard.job_id).or_default();
            let takes = f64::from(shard.episodes_left) * each.unwrap_or(UNKNOWN_S).max(projection.slowest_s);
            let at_ms = lane.until.at_ms.saturating_add(millis(takes));
            let end = EstimatedTime { at_ms, measured: lane.until.measured && each.is_some() };
            projection.is_unmeasured |= each.is_none();
            if shard.is_queued_job && projection.position.is_none() {
                begun += 1;
                projection.position = Some(begun);
            }
            projection.extend_to(end);
            self.lanes.push(Reverse(BusyLane { until: end, account: Some(&shard.account) }));
        }
        self.jobs
    }

    /// Returns the shard that the next free lane claims.
    fn claim_next(&mut self) -> Option<&'a OpenShard> {
        let ClaimTurn { held, account, .. } = self.turns.pop_first()?;
        let shards = self.waiting.get_mut(account)?;
        let shard = shards.pop_front()?;
        *self.held.entry(account).or_default() += 1;
        self.last_given += 1;
        self.given.insert(account, self.last_given);
        let last_given = self.last_given;
        self.turns.extend(shards.front().map(|next| ClaimTurn {
            held: held + 1,
            last_given,
            job: next.job_id,
            account,
        }));
        Some(shard)
    }

    /// Releases a shard that an account held, and updates the account's turn.
    fn release(&mut self, account: &'a AccountId) {
        let held = self.held.entry(account).or_default();
        let before = *held;
        *held = held.saturating_sub(1);
        let last_given = self.given.get(account).copied().unwrap_or(0);
        let Some(front) = self.waiting.get(account).and_then(VecDeque::front) else { return };
        let turn = ClaimTurn { held: before, last_given, job: front.job_id, account };
        if self.turns.remove(&turn) {
            self.turns.insert(ClaimTurn { held: *held, ..turn });
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is never negative")]
fn millis(seconds: f64) -> u64 {
    (seconds * 1000.0) as u64
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use std::sync::Arc;

    use assay_store::EpisodeDuration;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_750_000_000 + second).unwrap()
    }

    fn id(job: u64) -> JobId {
        format!("01890a5d-ac96-774b-bcce-{job:012x}").parse().unwrap()
    }

    fn shard(job: u64, account: &str, episodes: u32) -> OpenShard {
        OpenShard {
            job_id: id(job),
            is_queued_job: true,
            account: Arc::new(account.parse().unwrap()),
            turn: 0,
            scenario: Arc::new("known".parse().unwrap()),
            remote: false,
            episodes_left: episodes,
            since: None,
        }
    }

    fn queue(shards: Vec<OpenShard>) -> QueueSnapshot {
        let pace = EpisodeDuration { scenario: "known".parse().unwrap(), remote: false, seconds: 2.0 };
        QueueSnapshot { shards, episode_durations: vec![pace], conclusion_s: Some(0.5), ..QueueSnapshot::default() }
    }

    fn forecasts(queue: &QueueSnapshot, lanes: u32) -> Vec<(Option<u32>, Option<f64>)> {
        let jobs = simulate_queue(queue, NonZeroU32::new(lanes).unwrap(), at(0));
        jobs.into_iter().map(|(_, job)| (job.position, job.eta_s)).collect()
    }

    #[test]
    fn one_account_waits_in_order() {
        let queue = queue(vec![shard(1, "lab", 3), shard(2, "lab", 1), shard(3, "lab", 1)]);
        assert_eq!(forecasts(&queue, 1), [(Some(1), Some(6.5)), (Some(2), Some(8.5)), (Some(3), Some(10.5))]);
        assert_eq!(forecasts(&queue, 2), [(Some(1), Some(6.5)), (Some(2), Some(2.5)), (Some(3), Some(4.5))]);
    }

    #[test]
    fn an_account_without_shards_goes_first() {
        let busy = OpenShard { since: Some(at(-1)), is_queued_job: false, ..shard(1, "lab", 2) };
        let queue = queue(vec![busy, shard(1, "lab", 4), shard(2, "lab", 1), shard(3, "other", 1)]);
        let queue = QueueSnapshot {
            shards: queue.shards.iter().cloned().map(|s| OpenShard { is_queued_job: s.job_id != id(1), ..s }).collect(),
            ..queue
        };
        // Two lanes: the free one takes the other account's job, then both accounts take turns.
        assert_eq!(forecasts(&queue, 2), [(None, Some(10.5)), (Some(2), Some(5.5)), (Some(1), Some(2.5))]);
    }

    #[test]
    fn accounts_take_turns_on_a_single_lane() {
        let queue = queue(vec![shard(1, "lab", 1), shard(2, "lab", 1), shard(3, "lab", 1), shard(4, "other", 1)]);
        let expected = [(Some(1), Some(2.5)), (Some(3), Some(6.5)), (Some(4), Some(8.5)), (Some(2), Some(4.5))];
        assert_eq!(forecasts(&queue, 1), expected);
    }

    #[test]
    fn unmeasured_durations_are_not_guessed() {
        let unknown = OpenShard { scenario: Arc::new("unknown".parse().unwrap()), ..shard(1, "lab", 1) };
        let queue = queue(vec![unknown, shard(2, "lab", 1)]);
        assert_eq!(forecasts(&queue, 1), [(Some(1), None), (Some(2), None)], "nor what comes after it");
        assert_eq!(forecasts(&queue, 2), [(Some(1), None), (Some(2), Some(2.5))]);
    }

    #[test]
    fn a_missing_estimate_has_its_reason() {
        let unknown = OpenShard { scenario: Arc::new("unknown".parse().unwrap()), ..shard(1, "lab", 1) };
        let queue = queue(vec![unknown, shard(2, "lab", 1)]);
        let gaps = |lanes| {
            let jobs = simulate_queue(&queue, NonZeroU32::new(lanes).unwrap(), at(0));
            jobs.into_iter().map(|(_, job)| job.no_estimate).collect::<Vec<_>>()
        };
        assert_eq!(gaps(1), [Some(NoEstimate::Unmeasured), Some(NoEstimate::BehindUnmeasured)]);
        assert_eq!(gaps(2), [Some(NoEstimate::Unmeasured), None]);
    }

    #[test]
    fn a_slow_episode_delays_the_jobs_behind_it() {
        // Episodes take 2 s; this one has been running for 60 s.
        let slow = OpenShard { since: Some(at(-60)), is_queued_job: false, ..shard(1, "lab", 3) };
        let more = OpenShard { is_queued_job: false, ..shard(1, "lab", 2) };
        let queue = queue(vec![slow, more, shard(2, "other", 1)]);
        // It ends after another 60 s, then two more of its shard and two of the next take 60 s each; then the other
        // account's turn comes.
        assert_eq!(forecasts(&queue, 1), [(None, Some(300.5)), (Some(1), Some(302.5))]);
    }

    #[test]
    fn policy_servers_do_not_delay_other_jobs() {
        let remote = OpenShard { remote: true, scenario: Arc::new("unknown".parse().unwrap()), ..shard(1, "lab", 50) };
        let queue = queue(vec![remote, shard(2, "lab", 1)]);
        assert_eq!(forecasts(&queue, 1), [(Some(1), None), (Some(1), Some(2.5))]);
    }
}
