//! `meta/stats.json`: minimum, maximum, mean, standard deviation and quantiles of every feature over all frames, by
//! which LeRobot normalises.

use serde_json::{Map, Value, json};

use super::frame::TrainingFrame;
use super::meta::{ENVIRONMENT, FeatureLayout, STATE};

/// The quantiles of LeRobot's statistics.
const QUANTILES: [(&str, f64); 5] = [("q01", 0.01), ("q10", 0.1), ("q50", 0.5), ("q90", 0.9), ("q99", 0.99)];
/// Maximum number of frames from which quantiles of numbers are computed.
const MAX_SAMPLES: usize = 65_536;
/// Number of values of a byte.
const LEVELS: usize = 256;

/// Statistics of all features.
pub(super) struct DatasetStatistics {
    /// Vectors by key.
    vectors: Vec<(String, VectorStatistics)>,
    images: Vec<(String, ImageStatistics)>,
}

impl DatasetStatistics {
    pub(super) fn new(layout: &FeatureLayout) -> Self {
        let vector = |key: &str, length| (key.to_owned(), VectorStatistics::new(length));
        let mut vectors = vec![
            vector(STATE, layout.state.len()),
            vector(ENVIRONMENT, layout.environment.len()),
            vector("action", layout.action.len()),
        ];
        let scalars = ["timestamp", "frame_index", "episode_index", "index", "task_index"];
        vectors.extend(scalars.map(|key| vector(key, 1)));
        let images = layout.images.iter().map(|(key, _)| (key.clone(), ImageStatistics::new())).collect();
        Self { vectors, images }
    }

    /// Adds a frame, with its frame, episode and overall index.
    pub(super) fn push(&mut self, frame: &TrainingFrame<'_>, timestamp: f32, indices: [i64; 3]) {
        let indices = indices.map(|index| index as f32);
        let [frame_index, episode, index] = indices;
        let scalars = [timestamp, frame_index, episode, index, 0.0];
        let rows = [frame.state.as_slice(), &frame.environment, &frame.action]
            .into_iter()
            .chain(scalars.iter().map(std::slice::from_ref));
        for ((_, statistics), row) in self.vectors.iter_mut().zip(rows) {
            statistics.push(row);
        }
        for ((_, statistics), (_, pixels)) in self.images.iter_mut().zip(&frame.images) {
            statistics.push(*pixels);
        }
    }

    pub(super) fn finish(self) -> Value {
        let vectors = self.vectors.into_iter().filter(|(_, statistics)| !statistics.sums.is_empty());
        let vectors = vectors.map(|(key, statistics)| (key, statistics.finish()));
        let images = self.images.into_iter().map(|(key, statistics)| (key, statistics.finish()));
        Value::Object(vectors.chain(images).collect())
    }
}

/// Statistics of a vector's numbers.
struct VectorStatistics {
    count: u64,
    least: Vec<f64>,
    greatest: Vec<f64>,
    /// Sums of the differences from the first row, and of their squares, which keeps precision.
    first: Vec<f64>,
    sums: Vec<f64>,
    squares: Vec<f64>,
    /// Every `stride`-th row.
    samples: Vec<Vec<f32>>,
    stride: u64,
}

impl VectorStatistics {
    fn new(length: usize) -> Self {
        Self {
            count: 0,
            least: vec![f64::INFINITY; length],
            greatest: vec![f64::NEG_INFINITY; length],
            first: vec![0.0; length],
            sums: vec![0.0; length],
            squares: vec![0.0; length],
            samples: Vec::new(),
            stride: 1,
        }
    }

    fn push(&mut self, row: &[f32]) {
        for (index, value) in row.iter().enumerate().take(self.sums.len()) {
            let value = f64::from(*value);
            if self.count == 0 {
                self.first[index] = value;
            }
            self.least[index] = self.least[index].min(value);
            self.greatest[index] = self.greatest[index].max(value);
            let difference = value - self.first[index];
            self.sums[index] += difference;
            self.squares[index] += difference * difference;
        }
        if self.count.is_multiple_of(self.stride) {
            if self.samples.len() == MAX_SAMPLES {
                // Keeps every second sample from now on.
                let mut index = 0;
                self.samples.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.stride *= 2;
            }
            if self.count.is_multiple_of(self.stride) {
                self.samples.push(row.to_vec());
            }
        }
        self.count += 1;
    }

    fn finish(self) -> Value {
        #[expect(clippy::cast_precision_loss, reason = "a number of frames")]
        let count = self.count.max(1) as f64;
        let sums = || self.sums.iter().zip(&self.squares).zip(&self.first);
        let mean: Vec<f64> = sums().map(|((sum, _), first)| first + sum / count).collect();
        let deviation = |((sum, squares), _): ((&f64, &f64), &f64)| {
            (squares / count - (sum / count) * (sum / count)).max(0.0).sqrt()
        };
        let std: Vec<f64> = sums().map(deviation).collect();
        let mut map = Map::new();
        map.insert("min".to_owned(), json!(self.least));
        map.insert("max".to_owned(), json!(self.greatest));
        map.insert("mean".to_owned(), json!(mean));
        map.insert("std".to_owned(), json!(std));
        map.insert("count".to_owned(), json!([self.count]));
        let columns: Vec<Vec<f32>> = (0..self.sums.len())
            .map(|index| {
                let mut column: Vec<f32> = self.samples.iter().filter_map(|row| row.get(index).copied()).collect();
                column.sort_by(f32::total_cmp);
                column
            })
            .collect();
        for (name, share) in QUANTILES {
            map.insert(name.to_owned(), json!(columns.iter().map(|c| quantile(c, share)).collect::<Vec<_>>()));
        }
        Value::Object(map)
    }
}

/// Returns a quantile of sorted values, interpolated between neighbours.
fn quantile(sorted: &[f32], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    #[expect(clippy::cast_precision_loss, reason = "at most MAX_SAMPLES")]
    let at = last as f64 * share;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most MAX_SAMPLES, not negative")]
    let below = at.floor() as usize;
    let (low, high) = (f64::from(sorted[below]), f64::from(sorted[(below + 1).min(last)]));
    low + (high - low) * at.fract()
}

/// Statistics of the colours of an image, in [0, 1], over all frames: an image that is repeated counts each time.
struct ImageStatistics {
    /// Number of pixels of each level, for each colour.
    levels: Vec<[u64; 3]>,
    /// The same of the last image.
    last: Vec<[u64; 3]>,
    frames: u64,
}

impl ImageStatistics {
    fn new() -> Self {
        Self { levels: vec![[0; 3]; LEVELS], last: vec![[0; 3]; LEVELS], frames: 0 }
    }

    /// Adds a frame: new pixels, or those of the last one.
    fn push(&mut self, pixels: Option<&[u8]>) {
        if let Some(pixels) = pixels {
            self.last.fill([0; 3]);
            for pixel in pixels.as_chunks::<3>().0 {
                (0..3).for_each(|colour| self.last[usize::from(pixel[colour])][colour] += 1);
            }
        }
        for (sum, last) in self.levels.iter_mut().zip(&self.last) {
            (0..3).for_each(|colour| sum[colour] += last[colour]);
        }
        self.frames += 1;
    }

    /// Returns the statistics, each of shape 3 x 1 x 1.
    fn finish(self) -> Value {
        let per_colour = |value: &dyn Fn(&[f64]) -> f64| {
            let of = |colour: usize| {
                #[expect(clippy::cast_precision_loss, reason = "statistics")]
                let counts: Vec<f64> = self.levels.iter().map(|level| level[colour] as f64).collect();
                json!([[value(&counts) / 255.0]])
            };
            json!([of(0), of(1), of(2)])
        };
        let mut map = Map::new();
        map.insert("min".to_owned(), per_colour(&|counts| at(counts, 0.0)));
        map.insert("max".to_owned(), per_colour(&|counts| at(counts, 1.0)));
        map.insert("mean".to_owned(), per_colour(&mean));
        map.insert("std".to_owned(), per_colour(&deviation));
        map.insert("count".to_owned(), json!([self.frames]));
        for (name, share) in QUANTILES {
            map.insert(name.to_owned(), per_colour(&|counts| at(counts, share)));
        }
        Value::Object(map)
    }
}

fn moments(counts: &[f64]) -> impl Iterator<Item = (f64, f64)> {
    counts.iter().zip(0_u8..=255).map(|(count, level)| (*count, f64::from(level)))
}

fn mean(counts: &[f64]) -> f64 {
    moments(counts).map(|(count, level)| count * level).sum::<f64>() / counts.iter().sum::<f64>().max(1.0)
}

fn deviation(counts: &[f64]) -> f64 {
    let mean = mean(counts);
    let sum: f64 = moments(counts).map(|(count, level)| count * (level - mean) * (level - mean)).sum();
    (sum / counts.iter().sum::<f64>().max(1.0)).sqrt()
}

/// Returns the level at or below which this share of the pixels is.
fn at(counts: &[f64], share: f64) -> f64 {
    let wanted = share * counts.iter().sum::<f64>();
    let mut sum = 0.0;
    for (count, level) in moments(counts) {
        sum += count;
        if count > 0.0 && sum >= wanted {
            return level;
        }
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_statistics_of_numpy() {
        let mut statistics = VectorStatistics::new(1);
        (0..100_001_u32).for_each(|i| {
            #[expect(clippy::cast_precision_loss, reason = "exact")]
            statistics.push(&[i as f32 / 100_000.0]);
        });
        let found = statistics.finish();
        let number = |key: &str| found[key][0].as_f64().unwrap_or(f64::NAN);
        for (key, expected) in
            [("min", 0.0), ("max", 1.0), ("mean", 0.5), ("std", 0.288_676), ("q10", 0.1), ("q99", 0.99)]
        {
            assert!((number(key) - expected).abs() < 1e-3, "{key}: {found}");
        }
        assert_eq!(found["count"], json!([100_001]));
    }

    #[test]
    fn images_have_a_statistic_per_colour() {
        let mut statistics = ImageStatistics::new();
        statistics.push(Some(&[0, 100, 255, 0, 200, 255]));
        statistics.push(None);
        let found = statistics.finish();
        assert_eq!(found["mean"], json!([[[0.0]], [[150.0 / 255.0]], [[1.0]]]));
        assert_eq!(found["std"][1][0][0], json!(50.0 / 255.0));
        assert_eq!((&found["count"], &found["min"][1]), (&json!([2]), &json!([[100.0 / 255.0]])));
        assert_eq!((&found["max"][1], &found["q50"][1]), (&json!([[200.0 / 255.0]]), &json!([[100.0 / 255.0]])));
    }
}
