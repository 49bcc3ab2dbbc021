//! Playing the line: which account's shard a lane takes when it is free, as the claim does it, and when that is.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::num::NonZeroU32;

use assay_model::{AccountId, JobId, ScenarioId};
use assay_store::{Line, OpenShard};
use jiff::Timestamp;

use super::placeholders::with_placeholders;

/// Jobs of policy servers that a process works on at a time; see the worker.
const SERVER_PLACES: usize = 4;
/// What an episode of an unmeasured scenario takes, for the order of claims only.
const UNKNOWN_S: f64 = 1.0;

/// What is ahead of a job.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct JobForecast {
    /// How many QUEUED jobs are begun before it, itself included; while it is one.
    pub(crate) position: Option<u32>,
    /// Seconds until its end.
    pub(crate) eta_s: Option<f64>,
    /// Reason for a missing estimate that the forecast knows of; see [`JobForecast::eta_reason`].
    pub(super) no_estimate: Option<NoEstimate>,
    /// Its policy is a server.
    pub(crate) remote: bool,
    /// It was begun, and nobody works on it.
    pub(crate) is_idle: bool,
}

/// Reason why the end of a job can't be estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoEstimate {
    /// No episode of its scenario was measured here.
    Unmeasured,
    /// It waits for a job of whose scenario no episode was measured here.
    BehindUnmeasured,
    /// No conclusion was measured here.
    Conclusion,
    /// More shards are ahead of it than are looked at.
    FarBack,
    /// This server runs no uploaded policies.
    NoWorker,
}

impl NoEstimate {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Unmeasured => "no episode of its scenario has been measured on this server yet",
            Self::BehindUnmeasured => "it waits behind a job whose scenario has not been measured on this server yet",
            Self::Conclusion => "no conclusion has been measured on this server yet",
            Self::FarBack => "too many jobs are ahead of it for an estimate",
            Self::NoWorker => "no worker of this server runs uploaded policies",
        }
    }
}

/// A time, in ms, and whether everything up to it was measured.
type Moment = (u64, bool);

/// All jobs of the line, in the order of their ids.
pub(super) fn simulate_queue(line: &Line, lanes: NonZeroU32, now: Timestamp) -> Vec<(JobId, JobForecast)> {
    let lanes = usize::try_from(lanes.get()).unwrap_or(usize::MAX);
    let conclusion = line.conclusion_s.unwrap_or(0.0);
    let mut jobs = Vec::new();
    for (remote, lanes) in [(false, lanes), (true, SERVER_PLACES)] {
        let paces: HashMap<_, _> =
            line.paces.iter().filter(|pace| pace.remote == remote).map(|pace| (&pace.scenario, pace.seconds)).collect();
        let of_kind = line.shards.iter().filter(|shard| shard.remote == remote);
        let known: Vec<OpenShard>;
        let shards: Vec<&OpenShard> = if remote || line.hidden.is_empty() {
            of_kind.collect()
        } else {
            let pace = |scenario: &ScenarioId| paces.get(scenario).copied();
            known = with_placeholders(of_kind.cloned().collect(), &line.hidden, lanes, now, pace);
            known.iter().collect()
        };
        let pace = |shard: &OpenShard| paces.get(&*shard.scenario).copied();
        let simulated = QueueSimulation::new(&shards, lanes, now, &pace).run(&pace);
        jobs.extend(simulated.into_iter().map(|(job, projection)| (job, projection.forecast(remote, conclusion))));
    }
    jobs.sort_unstable_by_key(|(job, _)| *job);
    jobs
}

/// How a job goes on.
#[derive(Default)]
struct JobProjection {
    /// Nobody has begun it.
    is_queued: bool,
    /// Somebody works on it now.
    has_lane: bool,
    /// How many queued jobs are begun before it, itself included.
    place: Option<u32>,
    /// The end of its last shard, once all of them were simulated; it is measured if all are.
    end: Option<Moment>,
    /// No episode of its own scenario was measured.
    is_unmeasured: bool,
    /// Time that its slowest running episode has taken so far, if that exceeds the usual time of an episode.
    slowest_s: f64,
}

impl JobProjection {
    fn ends(&mut self, (at, measured): Moment) {
        let (last, all) = self.end.unwrap_or((0, true));
        self.end = Some((last.max(at), all && measured));
    }

    fn forecast(self, remote: bool, conclusion_s: f64) -> JobForecast {
        let measured = self.end.filter(|(_, measured)| *measured);
        let no_estimate = match self.end {
            Some((_, true)) => None,
            Some(_) if self.is_unmeasured => Some(NoEstimate::Unmeasured),
            Some(_) => Some(NoEstimate::BehindUnmeasured),
            None => Some(NoEstimate::FarBack),
        };
        JobForecast {
            position: self.place,
            eta_s: measured.map(|(millis, _)| tenths(millis as f64 / 1000.0 + conclusion_s)),
            no_estimate,
            remote,
            is_idle: !self.is_queued && !self.has_lane,
        }
    }
}

/// The state of the play.
struct QueueSimulation<'a> {
    /// When lanes are free again, the next first, with the account whose shard they had.
    lanes: BinaryHeap<Reverse<(u64, bool, Option<&'a AccountId>)>>,
    held: BTreeMap<&'a AccountId, u32>,
    waiting: BTreeMap<&'a AccountId, VecDeque<&'a OpenShard>>,
    /// Whose turn it is: fewest held, then who waited longest for a turn, then the oldest job.
    turns: BTreeSet<(u32, u64, JobId, &'a AccountId)>,
    /// When each account was last given a shard, and the last time that any was.
    given: BTreeMap<&'a AccountId, u64>,
    last_given: u64,
    jobs: HashMap<JobId, JobProjection>,
}

impl<'a> QueueSimulation<'a> {
    fn new(shards: &[&'a OpenShard], lanes: usize, now: Timestamp, pace: &dyn Fn(&OpenShard) -> Option<f64>) -> Self {
        let mut play = Self {
            lanes: BinaryHeap::new(),
            held: BTreeMap::new(),
            waiting: BTreeMap::new(),
            turns: BTreeSet::new(),
            given: shards.iter().map(|shard| (&*shard.account, shard.turn)).collect(),
            last_given: shards.iter().map(|shard| shard.turn).max().unwrap_or(0),
            jobs: HashMap::with_capacity(shards.len()),
        };
        for shard in shards {
            let projection = play.jobs.entry(shard.job_id).or_default();
            projection.is_queued = shard.is_queued_job;
            let Some(since) = shard.since else {
                play.waiting.entry(&shard.account).or_default().push_back(shard);
                continue;
            };
            *play.held.entry(&shard.account).or_default() += 1;
            let each = pace(shard);
            let begun = now.duration_since(since).as_secs_f64().max(0.0);
            let usual = each.unwrap_or(UNKNOWN_S);
            // An episode that takes longer than others is expected to take as long again, and so are the next ones.
            let (first, next) = if begun <= usual { (usual - begun, usual) } else { (begun, begun) };
            let others = f64::from(shard.episodes_left.saturating_sub(1)) * next;
            let end = (millis(first + others), each.is_some());
            projection.has_lane = true;
            projection.is_unmeasured |= each.is_none();
            if begun > usual {
                projection.slowest_s = projection.slowest_s.max(begun);
            }
            projection.ends(end);
            play.lanes.push(Reverse((end.0, end.1, Some(&shard.account))));
        }
        for _ in play.lanes.len()..lanes {
            play.lanes.push(Reverse((0, true, None)));
        }
        for (account, shards) in &play.waiting {
            let held = play.held.get(account).copied().unwrap_or(0);
            play.turns.extend(shards.front().map(|shard| (held, shard.turn, shard.job_id, *account)));
        }
        play
    }

    /// Plays to the end.
    fn run(mut self, pace: &dyn Fn(&OpenShard) -> Option<f64>) -> HashMap<JobId, JobProjection> {
        let mut begun = 0;
        while let Some(&Reverse((at, measured, had))) = self.lanes.peek() {
            if self.turns.is_empty() {
                break;
            }
            self.lanes.pop();
            if let Some(account) = had {
                self.release(account);
            }
            let Some(shard) = self.take() else { break };
            let each = pace(shard);
            let projection = self.jobs.entry(shard.job_id).or_default();
            let takes = f64::from(shard.episodes_left) * each.unwrap_or(UNKNOWN_S).max(projection.slowest_s);
            let end = (at.saturating_add(millis(takes)), measured && each.is_some());
            projection.is_unmeasured |= each.is_none();
            if shard.is_queued_job && projection.place.is_none() {
                begun += 1;
                projection.place = Some(begun);
            }
            projection.ends(end);
            self.lanes.push(Reverse((end.0, end.1, Some(&shard.account))));
        }
        self.jobs
    }

    /// The shard that the next free lane claims.
    fn take(&mut self) -> Option<&'a OpenShard> {
        let (held, _, _, account) = self.turns.pop_first()?;
        let shards = self.waiting.get_mut(account)?;
        let shard = shards.pop_front()?;
        *self.held.entry(account).or_default() += 1;
        self.last_given += 1;
        self.given.insert(account, self.last_given);
        self.turns.extend(shards.front().map(|next| (held + 1, self.last_given, next.job_id, account)));
        Some(shard)
    }

    fn release(&mut self, account: &'a AccountId) {
        let held = self.held.entry(account).or_default();
        let before = *held;
        *held = held.saturating_sub(1);
        let given = self.given.get(account).copied().unwrap_or(0);
        if let Some(front) = self.waiting.get(account).and_then(VecDeque::front)
            && self.turns.remove(&(before, given, front.job_id, account))
        {
            self.turns.insert((*held, given, front.job_id, account));
        }
    }
}

/// More would be a pretence.
pub(super) fn tenths(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is never negative")]
fn millis(seconds: f64) -> u64 {
    (seconds * 1000.0) as u64
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use std::sync::Arc;

    use assay_store::Pace;

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

    fn line(shards: Vec<OpenShard>) -> Line {
        let pace = Pace { scenario: "known".parse().unwrap(), remote: false, seconds: 2.0 };
        Line { shards, paces: vec![pace], conclusion_s: Some(0.5), ..Line::default() }
    }

    fn told(line: &Line, lanes: u32) -> Vec<(Option<u32>, Option<f64>)> {
        let jobs = simulate_queue(line, NonZeroU32::new(lanes).unwrap(), at(0));
        jobs.into_iter().map(|(_, job)| (job.position, job.eta_s)).collect()
    }

    #[test]
    fn one_account_waits_in_order() {
        let line = line(vec![shard(1, "lab", 3), shard(2, "lab", 1), shard(3, "lab", 1)]);
        assert_eq!(told(&line, 1), [(Some(1), Some(6.5)), (Some(2), Some(8.5)), (Some(3), Some(10.5))]);
        assert_eq!(told(&line, 2), [(Some(1), Some(6.5)), (Some(2), Some(2.5)), (Some(3), Some(4.5))]);
    }

    #[test]
    fn who_holds_nothing_goes_first() {
        let busy = OpenShard { since: Some(at(-1)), is_queued_job: false, ..shard(1, "lab", 2) };
        let line = line(vec![busy, shard(1, "lab", 4), shard(2, "lab", 1), shard(3, "other", 1)]);
        let line = Line {
            shards: line.shards.iter().cloned().map(|s| OpenShard { is_queued_job: s.job_id != id(1), ..s }).collect(),
            ..line
        };
        // Two lanes: the free one takes the other account's job, then both accounts' turn by turn.
        assert_eq!(told(&line, 2), [(None, Some(10.5)), (Some(2), Some(5.5)), (Some(1), Some(2.5))]);
    }

    #[test]
    fn accounts_take_turns_on_a_single_lane() {
        let line = line(vec![shard(1, "lab", 1), shard(2, "lab", 1), shard(3, "lab", 1), shard(4, "other", 1)]);
        let expected = [(Some(1), Some(2.5)), (Some(3), Some(6.5)), (Some(4), Some(8.5)), (Some(2), Some(4.5))];
        assert_eq!(told(&line, 1), expected);
    }

    #[test]
    fn what_was_never_measured_is_not_guessed() {
        let unknown = OpenShard { scenario: Arc::new("unknown".parse().unwrap()), ..shard(1, "lab", 1) };
        let line = line(vec![unknown, shard(2, "lab", 1)]);
        assert_eq!(told(&line, 1), [(Some(1), None), (Some(2), None)], "nor what comes after it");
        assert_eq!(told(&line, 2), [(Some(1), None), (Some(2), Some(2.5))]);
    }

    #[test]
    fn a_missing_estimate_has_its_reason() {
        let unknown = OpenShard { scenario: Arc::new("unknown".parse().unwrap()), ..shard(1, "lab", 1) };
        let line = line(vec![unknown, shard(2, "lab", 1)]);
        let gaps = |lanes| {
            let jobs = simulate_queue(&line, NonZeroU32::new(lanes).unwrap(), at(0));
            jobs.into_iter().map(|(_, job)| job.no_estimate).collect::<Vec<_>>()
        };
        assert_eq!(gaps(1), [Some(NoEstimate::Unmeasured), Some(NoEstimate::BehindUnmeasured)]);
        assert_eq!(gaps(2), [Some(NoEstimate::Unmeasured), None]);
    }

    #[test]
    fn an_episode_that_takes_long_moves_the_ends_of_those_behind_it() {
        // Episodes take 2 s; this one has taken 60.
        let slow = OpenShard { since: Some(at(-60)), is_queued_job: false, ..shard(1, "lab", 3) };
        let more = OpenShard { is_queued_job: false, ..shard(1, "lab", 2) };
        let line = line(vec![slow, more, shard(2, "other", 1)]);
        // It ends after 60 s, two more of its shard and two of the next after 60 s each; then comes the other account.
        assert_eq!(told(&line, 1), [(None, Some(300.5)), (Some(1), Some(302.5))]);
    }

    #[test]
    fn policy_servers_hold_up_no_other() {
        let remote = OpenShard { remote: true, scenario: Arc::new("unknown".parse().unwrap()), ..shard(1, "lab", 50) };
        let line = line(vec![remote, shard(2, "lab", 1)]);
        assert_eq!(told(&line, 1), [(Some(1), None), (Some(1), Some(2.5))]);
    }
}
