//! Source of random moments.

/// SplitMix64 (Steele, Lea and Flood 2014): the same moments in every run, as far as the machine allows.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// Draws a number from 0 to `n` - 1.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    /// Draws an element.
    pub(crate) fn choose<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[usize::try_from(self.below(from.len() as u64)).unwrap()]
    }
}
