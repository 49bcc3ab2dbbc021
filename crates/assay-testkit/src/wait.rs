//! Waits for conditions in tests, without fixed sleeps, whatever else the machine does.
//!
//! A limit counts the time that the machine had to spare ([`SpareTime`]): on a quiet machine it is wall time, on one
//! whose processors are wanted by more than they can serve it passes more slowly, at most [`MOST_STRETCH`] times.

use std::fs;
use std::time::{Duration, Instant};

/// Limit of a wait that only ends what hangs: many times what anything in the tests takes, and less than the time after
/// which the runner of all tests says what hangs.
pub const PATIENCE: Duration = Duration::from_secs(300);
/// Interval between two checks.
const TICK: Duration = Duration::from_millis(10);
/// Maximum time between two looks.
const MOST_TICK: Duration = Duration::from_millis(200);
/// Interval at which the pressure is read. The kernel computes it every 2 s.
const LOOK: Duration = Duration::from_millis(500);
/// Most times that a second of spare time is longer than one of wall time, so that what hangs is found.
const MOST_STRETCH: f64 = 10.0;
/// The part of the last seconds in which something waited for a processor.
const PRESSURE: &str = "/proc/pressure/cpu";

/// Measures the time that passes, less what the machine's processors were wanted by others.
#[derive(Debug)]
pub struct SpareTime {
    spare: Duration,
    /// Part of a second of wall time that counts.
    rate: f64,
    counted_at: Instant,
    looked_at: Instant,
}

impl Default for SpareTime {
    fn default() -> Self {
        Self::new()
    }
}

impl SpareTime {
    /// Begins to measure.
    #[must_use]
    pub fn new() -> Self {
        let now = Instant::now();
        Self { spare: Duration::ZERO, rate: rate(&fs::read_to_string(PRESSURE)), counted_at: now, looked_at: now }
    }

    /// Returns the time that has passed since the beginning. Exact only if it is called now and then.
    pub fn elapsed(&mut self) -> Duration {
        let now = Instant::now();
        if now - self.looked_at > LOOK {
            (self.rate, self.looked_at) = (rate(&fs::read_to_string(PRESSURE)), now);
        }
        self.spare += (now - self.counted_at).mul_f64(self.rate);
        self.counted_at = now;
        self.spare
    }
}

/// Returns the part of the time that counts, for this content of [`PRESSURE`]. Without it nothing is known of the
/// machine.
fn rate(pressure: &std::io::Result<String>) -> f64 {
    let share = |text: &String| {
        let line = text.lines().find(|line| line.starts_with("some "))?;
        let percent = line.split(' ').find_map(|word| word.strip_prefix("avg10="))?;
        Some(percent.parse::<f64>().ok()? / 100.0)
    };
    let waited = pressure.as_ref().ok().and_then(share).unwrap_or(1.0);
    (1.0 - waited).max(1.0 / MOST_STRETCH)
}

/// Polls `condition` until it returns a value, and returns that.
///
/// # Panics
/// Panics with `what` after `limit` of [`SpareTime`].
#[track_caller]
pub fn wait_for<T>(what: &str, limit: Duration, mut condition: impl FnMut() -> Option<T>) -> T {
    let (mut passed, began) = (SpareTime::new(), Instant::now());
    loop {
        if let Some(answer) = condition() {
            return answer;
        }
        let spare = passed.elapsed();
        assert!(spare < limit, "after {limit:?} ({:?} on a busy machine) still missing: {what}", began.elapsed());
        // Less and less often: a request costs a server of the tests some 10 ms of processor time.
        std::thread::sleep((began.elapsed() / 10).clamp(TICK, MOST_TICK));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_stretches_a_limit_and_a_quiet_one_does_not() {
        let text = |avg10: &str| {
            Ok(format!(
                "some avg10={avg10} avg60=1.00 avg300=2.00 total=7\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
            ))
        };
        assert_eq!(rate(&text("0.00")), 1.0);
        assert_eq!(rate(&text("75.00")), 0.25);
        assert_eq!(rate(&text("99.50")), 1.0 / MOST_STRETCH);
        assert_eq!(rate(&Ok("another format".to_owned())), 1.0 / MOST_STRETCH);
        assert_eq!(rate(&Err(std::io::ErrorKind::NotFound.into())), 1.0 / MOST_STRETCH);
    }
}
