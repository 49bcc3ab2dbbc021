//! The schedule of retries.

use std::time::Duration;

use assay_store::DeliveryState;
use jiff::{SignedDuration, Timestamp};

/// Pauses after failed attempts, in multiples of the first; the last one repeats.
const PAUSES: [u32; 8] = [1, 6, 24, 120, 360, 720, 1440, 2880];

/// Returns the state and the time of the next attempt after a failed one at `now`, with `attempts` before it, the
/// first of them at `first_at`. The pause after the first is `first_pause`.
pub(super) fn after_failure(
    attempts: u32,
    first_at: Option<Timestamp>,
    now: Timestamp,
    (first_pause, retry_for): (Duration, Duration),
) -> (DeliveryState, Timestamp) {
    let nth = usize::try_from(attempts).unwrap_or(usize::MAX).min(PAUSES.len() - 1);
    let next = later(now, first_pause.saturating_mul(PAUSES[nth]));
    let last = later(first_at.unwrap_or(now), retry_for);
    if next > last { (DeliveryState::GivenUp, now) } else { (DeliveryState::Pending, next) }
}

fn later(time: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    time.saturating_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const FIRST_PAUSE: Duration = Duration::from_secs(5);

    /// Returns the times in seconds of all attempts after the first.
    fn attempts(retry_for_s: u64) -> Vec<i64> {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let (mut made, mut now) = (Vec::new(), 0);
        loop {
            let done = u32::try_from(made.len()).unwrap();
            let first = (done > 0).then(|| at(0));
            let (state, due) = after_failure(done, first, at(now), (FIRST_PAUSE, Duration::from_secs(retry_for_s)));
            if state == DeliveryState::GivenUp {
                return made;
            }
            now = due.as_second();
            made.push(now);
        }
    }

    #[test]
    fn a_message_is_retried_for_a_day() {
        let tried = attempts(24 * 60 * 60);
        assert_eq!(tried[..4], [5, 35, 155, 755]);
        assert_eq!(tried.len(), 12);
        let last = tried.last().unwrap();
        assert!((72_000..=86_400).contains(last), "{last}");
    }

    #[test]
    fn retries_can_be_disabled_or_shortened() {
        assert_eq!(attempts(0), [0_i64; 0]);
        assert_eq!(attempts(40), [5, 35]);
    }
}
