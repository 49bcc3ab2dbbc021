//! Predicts a double from preceding ones, so that only the residuals need to be stored.
//!
//! The arithmetic is part of the file format: sums and products of two doubles, rounded as IEEE 754 requires, in this
//! order.

use std::collections::HashSet;

use super::find::NumberRun;

/// Size of a run in the table, in bytes.
pub(super) const ENTRY_BYTES: usize = 32;
/// Value for a missing source run.
const NONE: u32 = u32::MAX;
/// Number of rows that must agree for a run to count as the integral of another.
const SAMPLES: usize = 24;
/// Number of following runs that are searched for a position's velocity.
const REACH: usize = 512;
/// Maximum residual of an integral's prediction in a sample, in bits.
const NEAR: u32 = 6;

/// The prediction of the numbers of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Prediction {
    /// No prediction.
    None,
    /// The number before it.
    Same,
    /// Linear extrapolation of the two numbers before it.
    Line,
    /// Quadratic extrapolation of the three numbers before it.
    Parabola,
    /// The number before it plus a step of another run, as in semi-implicit Euler integration.
    Integral,
}

/// A run of numbers of the file, and its prediction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PredictedRun {
    /// Position of its first byte in the file.
    pub(super) offset: usize,
    count: usize,
    lag: usize,
    kind: Prediction,
    /// Of [`Prediction::Integral`]: the index of the integrated run, and the step.
    of: u32,
    step: f64,
}

impl PredictedRun {
    /// Returns the end of the run in the file.
    pub(super) fn end(&self) -> usize {
        self.offset.saturating_add(self.count.saturating_mul(8))
    }

    pub(super) fn write(&self, to: &mut Vec<u8>) {
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
        for number in [self.offset, self.count, self.lag, self.kind as usize] {
            to.extend_from_slice(&narrow(number));
        }
        to.extend_from_slice(&self.of.to_le_bytes());
        to.extend_from_slice(&[0; 4]);
        to.extend_from_slice(&self.step.to_le_bytes());
    }

    pub(super) fn read(entry: &[u8]) -> Self {
        let number = |at: usize| entry[at..at + 4].try_into().map_or(NONE, u32::from_le_bytes);
        let wide = |at: usize| usize::try_from(number(at)).unwrap_or(usize::MAX);
        let kind = match number(12) {
            1 => Prediction::Same,
            2 => Prediction::Line,
            3 => Prediction::Parabola,
            4 => Prediction::Integral,
            _ => Prediction::None,
        };
        let step = entry[24..32].try_into().map_or(0.0, f64::from_le_bytes);
        Self { offset: wide(0), count: wide(4), lag: wide(8), kind, of: number(16), step }
    }

    /// Returns the run it integrates.
    fn summed<'a>(&self, runs: &'a [Self]) -> Option<&'a Self> {
        usize::try_from(self.of).ok().and_then(|of| runs.get(of))
    }

    /// Returns the prediction of number `row`, in the order of [`ordered`]. `at` returns the bits of a number of the
    /// file.
    fn predict(&self, row: usize, rate: Option<&Self>, at: impl Fn(&Self, usize) -> u64) -> i64 {
        let before = |steps: usize| row.checked_sub(steps * self.lag).map(|row| f64::from_bits(at(self, row)));
        let (Some(one), kind) = (before(1), self.kind) else { return 0 };
        let guess = match (kind, before(2), before(3), rate) {
            (Prediction::None, ..) => return 0,
            (Prediction::Line, Some(two), ..) | (Prediction::Parabola, Some(two), None, _) => 2.0 * one - two,
            (Prediction::Parabola, Some(two), Some(three), _) => (3.0 * one - 3.0 * two) + three,
            (Prediction::Integral, .., Some(rate)) => one + self.step * f64::from_bits(at(rate, row)),
            _ => one,
        };
        // The bits of a computed NaN are unspecified, unlike those of a number that was read.
        ordered(if guess.is_finite() { guess } else { one }.to_bits())
    }
}

/// Maps the bits of a double to an integer with the same order. The function is its own inverse.
fn ordered(bits: u64) -> i64 {
    let signed = bits.cast_signed();
    signed ^ ((signed >> 63).cast_unsigned() >> 1).cast_signed()
}

/// Encodes an integer in zigzag form, in which small numbers of either sign become small numbers.
fn folded(miss: i64) -> u64 {
    ((miss << 1) ^ (miss >> 63)).cast_unsigned()
}

fn unfolded(folded: u64) -> i64 {
    (folded >> 1).cast_signed() ^ -((folded & 1).cast_signed())
}

fn bits(file: &[u8], run: &PredictedRun, row: usize) -> u64 {
    let at = run.offset + 8 * row;
    file.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// Returns the residual of number `row`.
fn miss(file: &[u8], run: &PredictedRun, rate: Option<&PredictedRun>, row: usize) -> u64 {
    let guess = run.predict(row, rate, |run, row| bits(file, run, row));
    folded(ordered(bits(file, run, row)).wrapping_sub(guess))
}

/// Chooses the best prediction for each run.
pub(super) fn planned(file: &[u8], numbers: Vec<NumberRun>) -> Vec<PredictedRun> {
    let plain = |found: NumberRun| {
        let NumberRun { offset, count, lag } = found;
        PredictedRun { offset, count, lag, kind: Prediction::None, of: NONE, step: 0.0 }
    };
    let mut runs: Vec<PredictedRun> = numbers.into_iter().map(plain).collect();
    for run in &mut runs {
        let kinds = [Prediction::None, Prediction::Same, Prediction::Line, Prediction::Parabola]
            .map(|kind| PredictedRun { kind, ..*run });
        let cost = |run: &PredictedRun| {
            (0..run.count).map(|row| u64::from(64 - miss(file, run, None, row).leading_zeros())).sum::<u64>()
        };
        if let Some(best) = kinds.into_iter().min_by_key(cost) {
            *run = best;
        }
    }
    // An integrated run must not be an integral itself.
    let mut added = HashSet::new();
    for index in 0..runs.len() {
        if !added.contains(&index)
            && let Some((integral, of)) = integral(file, &runs, index)
        {
            runs[index] = integral;
            added.insert(of);
        }
    }
    runs
}

/// Returns the run as the integral of another, and the index of that one. A recording begins with its time, whose step
/// is common.
fn integral(file: &[u8], runs: &[PredictedRun], index: usize) -> Option<(PredictedRun, usize)> {
    let (time, run) = (runs.first()?, &runs[index]);
    let step = f64::from_bits(bits(file, time, 1)) - f64::from_bits(bits(file, time, 0));
    if index == 0 || run.count <= SAMPLES || run.lag != 1 || !(step > 0.0 && step < 1.0) {
        return None;
    }
    let rows = || (1..=SAMPLES).map(|sample| sample * (run.count - 1) / SAMPLES);
    // Every prediction works for almost constant numbers, so they prove nothing.
    if rows().all(|row| bits(file, run, row) == bits(file, run, row - 1)) {
        return None;
    }
    let follows = |(of, rate): (usize, &PredictedRun)| {
        let tried = PredictedRun { kind: Prediction::Integral, of: u32::try_from(of).ok()?, step, ..*run };
        let near = |row: &usize| 64 - miss(file, &tried, Some(rate), *row).leading_zeros() <= NEAR;
        // A contact may change a quantity between two rows, so only nearly all rows must agree.
        let fits =
            rate.count == run.count && rate.kind != Prediction::Integral && rows().filter(near).count() + 2 > SAMPLES;
        fits.then_some((tried, of))
    };
    runs.iter().enumerate().skip(index + 1).take(REACH).find_map(follows)
}

/// Appends the run's residuals: the first byte of each, then the second, and so on.
pub(super) fn misses(file: &[u8], runs: &[PredictedRun], run: &PredictedRun, to: &mut Vec<u8>) {
    let rate = run.summed(runs);
    let start = to.len();
    to.resize(start + 8 * run.count, 0);
    for row in 0..run.count {
        for (place, byte) in miss(file, run, rate, row).to_le_bytes().into_iter().enumerate() {
            to[start + place * run.count + row] = byte;
        }
    }
}

/// Checks that the runs fit a file of `length` bytes: in order, without overlap, and each integral of a run that is not
/// one.
pub(super) fn check(runs: &[PredictedRun], length: usize) -> Result<(), &'static str> {
    let mut end = 0;
    for run in runs {
        let sums = run.summed(runs).is_some_and(|rate| rate.kind != Prediction::Integral && rate.count == run.count);
        if run.offset < end || run.end() > length || run.lag == 0 {
            return Err("a run is outside of the file");
        }
        if run.kind == Prediction::Integral && !sums {
            return Err("an integral has no source");
        }
        end = run.end();
    }
    Ok(())
}

/// Writes the runs' numbers into `file`. The table has been checked, and there are as many residuals as numbers.
pub(super) fn restore(file: &mut [u8], runs: &[PredictedRun], misses: &[u8]) {
    let mut places = Vec::with_capacity(runs.len());
    let mut place = 0;
    for run in runs {
        places.push(place);
        place += 8 * run.count;
    }
    // Integrated runs must be restored first.
    for integrals in [false, true] {
        for (run, place) in runs.iter().zip(&places).filter(|(run, _)| (run.kind == Prediction::Integral) == integrals)
        {
            let (missed, rate) = (&misses[*place..*place + 8 * run.count], run.summed(runs));
            for row in 0..run.count {
                let folded = u64::from_le_bytes(std::array::from_fn(|byte| missed[byte * run.count + row]));
                let guess = run.predict(row, rate, |run, row| bits(file, run, row));
                let value = ordered(guess.wrapping_add(unfolded(folded)).cast_unsigned());
                let at = run.offset + 8 * row;
                file[at..at + 8].copy_from_slice(&value.to_le_bytes());
            }
        }
    }
}
