//! Sends the results of lanes together: those that wait while requests are in progress are sent with the next one. A
//! result with none ahead of it is sent at once.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use assay_model::{LeasedResult, MAX_RESULTS, ResultOutcome};

use super::error::ServerCallError;

/// Number of requests in progress: while the server audits the results of one, the next one is sent.
const MAX_REQUESTS: usize = 2;

/// The results that wait.
#[derive(Debug, Default)]
pub(super) struct OutgoingResults {
    state: Mutex<OutgoingState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct OutgoingState {
    last: u64,
    waiting: VecDeque<(u64, LeasedResult)>,
    /// Number of requests in progress.
    requests: usize,
    /// The answers that were not picked up yet.
    answers: HashMap<u64, OutgoingAnswer>,
}

/// The end of a result's request.
#[derive(Debug)]
enum OutgoingAnswer {
    Own(Result<ResultOutcome, ServerCallError>),
    /// A request of several results failed, perhaps due to another one.
    Retry(Box<LeasedResult>),
}

impl OutgoingResults {
    /// Sends a result by `request`, which is given at most [`MAX_RESULTS`] and answers in their order. Blocks.
    pub(super) fn send(
        &self,
        result: LeasedResult,
        request: impl Fn(&[LeasedResult]) -> Result<Vec<ResultOutcome>, ServerCallError>,
    ) -> Result<ResultOutcome, ServerCallError> {
        let mut state = self.lock();
        state.last += 1;
        let own = state.last;
        state.waiting.push_back((own, result));
        loop {
            match state.answers.remove(&own) {
                Some(OutgoingAnswer::Own(answer)) => return answer,
                Some(OutgoingAnswer::Retry(result)) => {
                    drop(state);
                    return request(&[*result]).map(|outcomes| outcome(&outcomes, 0));
                }
                None => {}
            }
            if state.requests < MAX_REQUESTS && !state.waiting.is_empty() {
                let count = state.waiting.len().min(MAX_RESULTS);
                let (ids, results): (Vec<_>, Vec<_>) = state.waiting.drain(..count).unzip();
                state.requests += 1;
                drop(state);
                let answers = answers(request(&results), results);
                state = self.lock();
                state.requests -= 1;
                state.answers.extend(ids.into_iter().zip(answers));
                self.changed.notify_all();
            } else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, OutgoingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn answers(answer: Result<Vec<ResultOutcome>, ServerCallError>, results: Vec<LeasedResult>) -> Vec<OutgoingAnswer> {
    match answer {
        Ok(outcomes) => (0..results.len()).map(|place| OutgoingAnswer::Own(Ok(outcome(&outcomes, place)))).collect(),
        Err(error) if results.len() == 1 => vec![OutgoingAnswer::Own(Err(error))],
        Err(_) => results.into_iter().map(|result| OutgoingAnswer::Retry(Box::new(result))).collect(),
    }
}

/// Returns the outcome at an index. A result without one was not recorded.
fn outcome(outcomes: &[ResultOutcome], place: usize) -> ResultOutcome {
    outcomes.get(place).copied().unwrap_or(ResultOutcome::Fenced)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use assay_store_testing::episode;
    use assay_testkit::wait_for;

    use super::*;

    /// Far longer than anything that is waited for here.
    /// Maximum time of a wait that only ends what hangs.
    const LIMIT: Duration = Duration::from_secs(600);

    fn result(number: u32) -> LeasedResult {
        LeasedResult { lease: format!("lease {number}"), result: episode(number) }
    }

    fn new(results: &[LeasedResult]) -> Vec<ResultOutcome> {
        results
            .iter()
            .map(|leased| ResultOutcome::New { left_in_shard: leased.result.episode, left_in_job: 0 })
            .collect()
    }

    #[test]
    fn a_result_is_sent_at_once_and_those_that_wait_together() {
        let batches = OutgoingResults::default();
        let (begun, has_begun) = mpsc::channel();
        let (sizes, seen) = mpsc::channel();
        let go_on = Mutex::new(false);
        let may_go_on = Condvar::new();
        let batches = &batches;
        thread::scope(|scope| {
            let (go_on, may_go_on) = (&go_on, &may_go_on);
            let send = |episode: u32| {
                let (begun, sizes) = (begun.clone(), sizes.clone());
                scope.spawn(move || {
                    batches.send(result(episode), |results| {
                        begun.send(()).unwrap();
                        sizes.send(results.len()).unwrap();
                        drop(may_go_on.wait_while(go_on.lock().unwrap(), |go_on| !*go_on).unwrap());
                        Ok(new(results))
                    })
                })
            };
            let mut threads = vec![send(0)];
            has_begun.recv_timeout(LIMIT).expect("the first is sent at once");
            threads.push(send(1));
            has_begun.recv_timeout(LIMIT).expect("the second as well");
            threads.extend((2..22).map(send));
            wait_for("results that wait", LIMIT, || (batches.lock().waiting.len() == 20).then_some(()));
            *go_on.lock().unwrap() = true;
            may_go_on.notify_all();
            for (episode, thread) in (0..).zip(threads) {
                let outcome = thread.join().unwrap().unwrap();
                assert_eq!(outcome, ResultOutcome::New { left_in_shard: episode, left_in_job: 0 }, "each its own");
            }
        });
        let mut sizes: Vec<usize> = seen.try_iter().collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [1, 1, 4, MAX_RESULTS]);
    }

    #[test]
    fn one_result_that_is_refused_is_no_matter_of_those_beside_it() {
        let batches = OutgoingResults::default();
        let (first, waiting) = (Mutex::new(true), Condvar::new());
        let refused = |results: &[LeasedResult]| results.iter().any(|leased| leased.result.episode == 3);
        let (batches, first, waiting) = (&batches, &first, &waiting);
        let answers: Vec<_> = thread::scope(|scope| {
            let send = |episode: u32| {
                scope.spawn(move || {
                    batches.send(result(episode), |results| {
                        drop(waiting.wait_while(first.lock().unwrap(), |first| *first).unwrap());
                        if refused(results) { Err(ServerCallError::LeaseLost) } else { Ok(new(results)) }
                    })
                })
            };
            let threads: Vec<_> = (0..6).map(send).collect();
            wait_for("results that wait", LIMIT, || (batches.lock().waiting.len() == 4).then_some(()));
            *first.lock().unwrap() = false;
            waiting.notify_all();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for (episode, answer) in answers.iter().enumerate() {
            assert_eq!(answer.is_ok(), episode != 3, "{episode}: {answer:?}");
        }
    }
}
