//! Rounding of reported and published numbers, half to even.

/// Rounds half to even to 4 decimals, the precision of every published score.
#[must_use]
pub fn round4(x: f64) -> f64 {
    (x * 1e4).round_ties_even() / 1e4
}

/// Rounds a score in [0, 1] half to even to 3 decimals, as published in an open season.
#[must_use]
pub fn round3(x: f64) -> f64 {
    (x * 1e3).round_ties_even() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_half_even() {
        assert_eq!(round4(0.281_25), 0.2812);
        assert_eq!(round4(0.343_75), 0.3438);
    }
}
