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
/// A prediction is chosen by chunks of neighbouring rows: about so many, of so many rows.
const MAX_CHUNKS: usize = 16;
const CHUNK_ROWS: usize = 32;
/// Number of following runs that are searched for a position's velocity.
const REACH: usize = 512;
/// Number of residuals whose bytes are distributed together, which is several times as quick as one by one.
const BLOCK_ROWS: usize = 64;
/// Positions of the bytes of a number, in bits.
const BYTES: [u32; 8] = [0, 8, 16, 24, 32, 40, 48, 56];
/// Maximum residual of an integral's prediction in a sample, in bits.
const NEAR: u32 = 6;

/// A number as it is in the file, at any position: a double or an integer, little-endian.
type Bits = [u8; 8];

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

    /// Returns its numbers in the file.
    fn numbers<'a>(&self, file: &'a [u8]) -> &'a [Bits] {
        file.get(self.offset..self.end()).unwrap_or_default().as_chunks().0
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

    /// Returns the index of the run that it integrates.
    fn integrated(&self) -> Option<usize> {
        (self.kind == Prediction::Integral).then_some(())?;
        usize::try_from(self.of).ok()
    }

    /// Calls `work` with the run. In each branch the compiler knows its kind, so loops over its rows have no choices.
    #[inline(always)]
    fn by_kind<R>(&self, work: impl FnOnce(Self) -> R) -> R {
        match self.kind {
            Prediction::None => work(Self { kind: Prediction::None, ..*self }),
            Prediction::Same => work(Self { kind: Prediction::Same, ..*self }),
            Prediction::Line => work(Self { kind: Prediction::Line, ..*self }),
            Prediction::Parabola => work(Self { kind: Prediction::Parabola, ..*self }),
            Prediction::Integral => work(Self { kind: Prediction::Integral, ..*self }),
        }
    }

    /// Returns the prediction of number `row`, in the order of [`ordered`], from the numbers of the run and of the one
    /// that it integrates.
    #[inline(always)]
    fn predict(&self, row: usize, own: &[Bits], rate: &[Bits]) -> i64 {
        let before = |steps: usize| row.checked_sub(steps * self.lag).map(|row| number(own, row));
        let (Some(one), kind) = (before(1), self.kind) else { return 0 };
        let guess = match kind {
            Prediction::None => return 0,
            Prediction::Same => one,
            Prediction::Line => before(2).map_or(one, |two| 2.0 * one - two),
            Prediction::Parabola => match (before(2), before(3)) {
                (Some(two), Some(three)) => (3.0 * one - 3.0 * two) + three,
                (Some(two), None) => 2.0 * one - two,
                (None, _) => one,
            },
            Prediction::Integral => one + self.step * number(rate, row),
        };
        // The bits of a computed NaN are unspecified, unlike those of a number that was read.
        ordered(if guess.is_finite() { guess } else { one }.to_bits())
    }

    /// Returns the residual of number `row`.
    #[inline(always)]
    fn miss(&self, row: usize, own: &[Bits], rate: &[Bits]) -> u64 {
        let value = own.get(row).copied().unwrap_or_default();
        folded(ordered(u64::from_le_bytes(value)).wrapping_sub(self.predict(row, own, rate)))
    }

    /// Computes its numbers with these residuals.
    fn restore(&self, missed: &[u8], rate: &[Bits], own: &mut [Bits]) {
        self.by_kind(|run| add_misses(run, missed, rate, own));
    }

    /// Returns the size of the residuals of a sample of the run, in bits.
    fn sampled_cost(&self, own: &[Bits]) -> u64 {
        let stride = self.count.div_ceil(MAX_CHUNKS).max(CHUNK_ROWS);
        let chunks = (0..self.count).step_by(stride).map(|start| start..(start + CHUNK_ROWS).min(self.count));
        let cost =
            |run: Self| chunks.flatten().map(|row| u64::from(64 - run.miss(row, own, &[]).leading_zeros())).sum();
        self.by_kind(cost)
    }
}

/// Returns the byte of a number at a position.
fn byte_of(number: u64, shift: u32) -> u8 {
    (number >> shift).to_le_bytes()[0]
}

fn number(numbers: &[Bits], row: usize) -> f64 {
    f64::from_le_bytes(numbers.get(row).copied().unwrap_or_default())
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

/// Runs of numbers of a file and their predictions.
#[derive(Debug)]
pub(super) struct Predictions<'a> {
    /// The runs, in the order of the file.
    pub(super) runs: Vec<PredictedRun>,
    /// The numbers of each run.
    numbers: Vec<&'a [Bits]>,
}

impl<'a> Predictions<'a> {
    /// Chooses a good prediction for each run of a file.
    pub(super) fn choose(file: &'a [u8], found: Vec<NumberRun>) -> Self {
        let plain = |found: NumberRun| {
            let NumberRun { offset, count, lag } = found;
            PredictedRun { offset, count, lag, kind: Prediction::None, of: NONE, step: 0.0 }
        };
        let runs: Vec<PredictedRun> = found.into_iter().map(plain).collect();
        let numbers = runs.iter().map(|run| run.numbers(file)).collect();
        let mut chosen = Self { runs, numbers };
        for (run, own) in chosen.runs.iter_mut().zip(&chosen.numbers) {
            let kinds = [Prediction::None, Prediction::Same, Prediction::Line, Prediction::Parabola]
                .map(|kind| PredictedRun { kind, ..*run });
            if let Some(best) = kinds.into_iter().min_by_key(|run| run.sampled_cost(own)) {
                *run = best;
            }
        }
        // An integrated run must not be an integral itself.
        let mut integrated = HashSet::new();
        for index in 0..chosen.runs.len() {
            if !integrated.contains(&index)
                && let Some((integral, of)) = chosen.integral(index)
            {
                chosen.runs[index] = integral;
                integrated.insert(of);
            }
        }
        chosen
    }

    /// Returns the run as the integral of another, and the index of that one. A recording begins with its time, whose
    /// step is common.
    fn integral(&self, index: usize) -> Option<(PredictedRun, usize)> {
        let (time, run, own) = (self.numbers.first()?, &self.runs[index], self.numbers[index]);
        let step = number(time, 1) - number(time, 0);
        if index == 0 || run.count <= SAMPLES || run.lag != 1 || !(step > 0.0 && step < 1.0) {
            return None;
        }
        let rows = || (1..=SAMPLES).map(|sample| sample * (run.count - 1) / SAMPLES);
        // Every prediction works for almost constant numbers, so they prove nothing.
        if rows().all(|row| own[row] == own[row - 1]) {
            return None;
        }
        let follows = |(of, rate): (usize, &PredictedRun)| {
            let tried = PredictedRun { kind: Prediction::Integral, of: u32::try_from(of).ok()?, step, ..*run };
            if rate.count != run.count || rate.kind == Prediction::Integral {
                return None;
            }
            let near = |row: &usize| 64 - tried.miss(*row, own, self.numbers[of]).leading_zeros() <= NEAR;
            // A contact may change a quantity between two rows, so only nearly all rows must agree.
            (rows().filter(near).count() + 2 > SAMPLES).then_some((tried, of))
        };
        self.runs.iter().enumerate().skip(index + 1).take(REACH).find_map(follows)
    }

    /// Appends the residuals of all runs, one run after the other: the first byte of each number, then the second, and
    /// so on.
    pub(super) fn write_misses(&self, to: &mut Vec<u8>) {
        for (run, own) in self.runs.iter().zip(&self.numbers).filter(|(run, _)| run.count > 0) {
            let rate = run.integrated().and_then(|of| self.numbers.get(of)).map_or(&[][..], |rate| *rate);
            let start = to.len();
            to.resize(start + 8 * run.count, 0);
            let mut places: Vec<&mut [u8]> = to[start..].chunks_exact_mut(run.count).collect();
            run.by_kind(|run| distribute_misses(run, own, rate, &mut places));
        }
    }
}

/// Writes the residuals of a run: their first bytes to the first place, their second to the second, and so on.
#[inline(always)]
fn distribute_misses(run: PredictedRun, own: &[Bits], rate: &[Bits], places: &mut [&mut [u8]]) {
    for first in (0..run.count).step_by(BLOCK_ROWS) {
        let rows = first..(first + BLOCK_ROWS).min(run.count);
        let mut misses = [0; BLOCK_ROWS];
        rows.clone().zip(&mut misses).for_each(|(row, miss)| *miss = run.miss(row, own, rate));
        for (place, shift) in places.iter_mut().zip(BYTES) {
            place[rows.clone()].iter_mut().zip(&misses).for_each(|(byte, miss)| *byte = byte_of(*miss, shift));
        }
    }
}

/// Checks that the runs fit a file of `length` bytes: in order, without overlap, and each integral of a run that is not
/// one.
pub(super) fn check(runs: &[PredictedRun], length: usize) -> Result<(), &'static str> {
    let mut end = 0;
    for run in runs {
        let sums = run.integrated().and_then(|of| runs.get(of));
        let sums = sums.is_some_and(|rate| rate.kind != Prediction::Integral && rate.count == run.count);
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

/// Writes the runs' numbers into `file`, which has the bytes outside of them. The table has been checked, and there are
/// as many residuals as numbers.
pub(super) fn restore(file: &mut [u8], runs: &[PredictedRun], misses: &[u8]) {
    for (run, missed) in in_order(runs, misses) {
        // Runs do not overlap.
        let (before, from) = file.split_at_mut(run.offset);
        let (own, after) = from.split_at_mut(8 * run.count);
        let rate = run.integrated().and_then(|of| runs.get(of)).map(|rate| match rate.offset.checked_sub(run.end()) {
            Some(offset) => PredictedRun { offset, ..*rate }.numbers(after),
            None => rate.numbers(before),
        });
        run.restore(missed, rate.unwrap_or_default(), own.as_chunks_mut().0);
    }
}

/// Returns true if [`restore`] would write the numbers that `file` has.
pub(super) fn restores(file: &[u8], runs: &[PredictedRun], misses: &[u8]) -> bool {
    let mut numbers = vec![Bits::default(); runs.iter().map(|run| run.count).max().unwrap_or_default()];
    in_order(runs, misses).all(|(run, missed)| {
        // Left by another run; a prediction only reads what this one has restored.
        let own = &mut numbers[..run.count];
        // Compared before this run, or not an integral.
        let rate = run.integrated().and_then(|of| runs.get(of)).map(|rate| rate.numbers(file));
        run.restore(missed, rate.unwrap_or_default(), own);
        *own == *run.numbers(file)
    })
}

/// Returns the runs with their residuals, in the order in which they can be restored: integrated ones before integrals.
fn in_order<'a>(runs: &'a [PredictedRun], misses: &'a [u8]) -> impl Iterator<Item = (&'a PredictedRun, &'a [u8])> {
    let places = runs.iter().scan(0, |end, run| {
        let start = *end;
        *end += 8 * run.count;
        Some((run, &misses[start..*end]))
    });
    let is_integral = |(run, _): &(&PredictedRun, &[u8])| run.kind == Prediction::Integral;
    places.clone().filter(move |run| !is_integral(run)).chain(places.filter(is_integral))
}

/// Computes the numbers of a run with these residuals.
#[inline(always)]
fn add_misses(run: PredictedRun, missed: &[u8], rate: &[Bits], own: &mut [Bits]) {
    for first in (0..run.count).step_by(BLOCK_ROWS) {
        let rows = first..(first + BLOCK_ROWS).min(run.count);
        let mut misses = [0; BLOCK_ROWS];
        for (place, shift) in missed.chunks_exact(run.count).zip(BYTES) {
            place[rows.clone()].iter().zip(&mut misses).for_each(|(byte, miss)| *miss |= u64::from(*byte) << shift);
        }
        for (row, miss) in rows.zip(misses) {
            let guess = run.predict(row, own, rate);
            let bits = ordered(guess.wrapping_add(unfolded(miss)).cast_unsigned()).cast_unsigned();
            own[row] = bits.to_le_bytes();
        }
    }
}
