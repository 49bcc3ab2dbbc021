//! Signals with a memory: of places, of speeds, and of other signals.

use mujoco_rs::prelude::*;

use super::norm;
use crate::handle::FrameId;

type Data = MjData<Box<MjModel>>;

/// How many of a list of frames have been reached, in its order.
pub(crate) struct Visited {
    pub(crate) of: FrameId,
    pub(crate) frames: Vec<FrameId>,
    pub(crate) radius: f64,
    pub(crate) reached: usize,
}

impl Visited {
    pub(crate) fn value(&mut self, data: &Data) -> f64 {
        if let Some(next) = self.frames.get(self.reached)
            && norm(&between(data, self.of, *next)) <= self.radius
        {
            self.reached += 1;
        }
        self.reached as f64
    }
}

/// Relative speed by difference, so that bodies count that are moved by hand and have no velocity of their own.
pub(crate) struct RelativeSpeed {
    pub(crate) from: FrameId,
    pub(crate) to: FrameId,
    pub(crate) before: Option<(f64, [f64; 3])>,
    pub(crate) value: f64,
}

impl RelativeSpeed {
    pub(crate) fn value(&mut self, data: &Data, time_s: f64) -> f64 {
        let now = between(data, self.from, self.to);
        if let Some((then_s, then)) = self.before
            && time_s > then_s
        {
            self.value = norm(&[now[0] - then[0], now[1] - then[1], now[2] - then[2]]) / (time_s - then_s);
        }
        self.before = Some((time_s, now));
        self.value
    }
}

fn between(data: &Data, from: FrameId, to: FrameId) -> [f64; 3] {
    let (from, to) = (from.position(data), to.position(data));
    [to[0] - from[0], to[1] - from[1], to[2] - from[2]]
}

/// Made of another signal of the same sample.
pub(crate) enum Derived {
    /// How fast it grows.
    Rate { of: usize, before: Option<(f64, f64)>, value: f64 },
    /// Seconds that it has been below a value.
    Exposure { of: usize, below: f64, then_s: f64, total_s: f64 },
}

impl Derived {
    /// `sample` holds `time` first, and the other signals already.
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_exposures_follow_the_samples() {
        let mut rate = Derived::Rate { of: 1, before: None, value: 0.0 };
        let mut exposure = Derived::Exposure { of: 1, below: 1.0, then_s: 0.0, total_s: 0.0 };
        let samples = [[0.0, 2.0], [0.0, 2.0], [0.5, 0.5], [1.0, 0.5], [1.5, 3.0]];
        let values = samples.map(|sample| (rate.value(&sample), exposure.value(&sample)));
        assert_eq!(values, [(0.0, 0.0), (0.0, 0.0), (-3.0, 0.5), (0.0, 1.0), (5.0, 1.0)]);
    }
}
