//! Signals derived from another signal of the same sample.

use std::collections::VecDeque;

/// A signal computed from another signal.
pub(crate) enum Derived {
    /// Rate of change of another signal, in its unit per second.
    Rate { of: usize, before: Option<(f64, f64)>, value: f64 },
    /// Total time in s for which another signal has been below a value.
    Exposure { of: usize, below: f64, then_s: f64, total_s: f64 },
    /// Number of reversals of another signal within the last window.
    Reversals(Reversals),
}

/// Reversals of a signal by more than a band, within the last window.
pub(crate) struct Reversals {
    of: usize,
    band: f64,
    window_s: f64,
    /// Minimum and maximum since the last reversal.
    range: Option<[f64; 2]>,
    /// 1 while it rises, -1 while it falls, 0 before it has moved by the band.
    heading: i8,
    turns_s: VecDeque<f64>,
}

impl Reversals {
    pub(crate) fn new(of: usize, band: f64, window_s: f64) -> Self {
        Self { of, band, window_s, range: None, heading: 0, turns_s: VecDeque::new() }
    }

    fn value(&mut self, sample: &[f64]) -> f64 {
        let (now_s, x) = (sample[0], sample[self.of]);
        let [high, low] = self.range.unwrap_or([x, x]);
        let [high, low] = [high.max(x), low.min(x)];
        self.range = Some(match self.heading {
            // A return by more than the band from the extreme is a reversal.
            1.. if high - x > self.band => self.turn(-1, now_s, x),
            ..=-1 if x - low > self.band => self.turn(1, now_s, x),
            0 if x - low > self.band || high - x > self.band => {
                self.heading = if x - low > self.band { 1 } else { -1 };
                [x, x]
            }
            _ => [high, low],
        });
        while self.turns_s.front().is_some_and(|turn_s| now_s - turn_s >= self.window_s) {
            self.turns_s.pop_front();
        }
        self.turns_s.len() as f64
    }

    fn turn(&mut self, heading: i8, now_s: f64, x: f64) -> [f64; 2] {
        self.heading = heading;
        self.turns_s.push_back(now_s);
        [x, x]
    }
}

impl Derived {
    /// Computes the value from a sample, which contains `time` and the signals computed from the physics.
    pub(crate) fn value(&mut self, sample: &[f64]) -> f64 {
        let now_s = sample[0];
        match self {
            Self::Rate { of, before, value } => {
                if let Some((then_s, then)) = *before
                    && now_s > then_s
                {
                    *value = (sample[*of] - then) / (now_s - then_s);
                }
                *before = Some((now_s, sample[*of]));
                *value
            }
            Self::Exposure { of, below, then_s, total_s } => {
                if sample[*of] < *below {
                    *total_s += now_s - *then_s;
                }
                *then_s = now_s;
                *total_s
            }
            Self::Reversals(reversals) => reversals.value(sample),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reversals_count_beyond_the_band_and_within_the_window() {
        let mut turns = Derived::Reversals(Reversals::new(1, 0.5, 3.0));
        let values = [0.0, 1.0, 0.6, 1.2, 0.0, 0.4, -0.2, 0.4, 0.4, 0.4, 0.4, -1.0];
        let counts: Vec<f64> = (0..).zip(values).map(|(t, x)| turns.value(&[f64::from(t), x])).collect();
        // up, .4 back, on, reversal, .4 back, on, reversal; then the first one leaves the window, ..., last reversal
        assert_eq!(counts, [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0]);
    }

    #[test]
    fn rates_and_exposures_are_computed_from_the_samples() {
        let mut rate = Derived::Rate { of: 1, before: None, value: 0.0 };
        let mut exposure = Derived::Exposure { of: 1, below: 1.0, then_s: 0.0, total_s: 0.0 };
        let samples = [[0.0, 2.0], [0.0, 2.0], [0.5, 0.5], [1.0, 0.5], [1.5, 3.0]];
        let values = samples.map(|sample| (rate.value(&sample), exposure.value(&sample)));
        assert_eq!(values, [(0.0, 0.0), (0.0, 0.0), (-3.0, 0.5), (0.0, 1.0), (5.0, 1.0)]);
    }
}
