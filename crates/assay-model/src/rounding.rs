//! Rounding of reported and published numbers, half to even.

/// Rounds half to even to 4 decimals, the precision of every published score.
#[must_use]
pub fn round4(x: f64) -> f64 {
    unsigned_zero((x * 1e4).round_ties_even() / 1e4)
}

/// Rounds a score in [0, 1] half to even to 3 decimals, as published in an open season.
#[must_use]
pub fn round3(x: f64) -> f64 {
    unsigned_zero((x * 1e3).round_ties_even() / 1e3)
}

/// Returns 0 for a negative zero, such as the sum of no numbers, and the same number otherwise: a sign without meaning
/// is not published.
#[must_use]
pub fn unsigned_zero(x: f64) -> f64 {
    x + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_zero_has_a_sign() {
        let none: [f64; 0] = [];
        for zero in [-0.0, none.iter().sum(), -1e-9, 1e-9, 0.0] {
            assert!(round4(zero).is_sign_positive() && round3(zero).is_sign_positive(), "{zero}");
        }
        assert!(unsigned_zero(-0.0).is_sign_positive());
        assert_eq!([unsigned_zero(-1.5), unsigned_zero(2.0), round4(-0.00016)], [-1.5, 2.0, -0.0002]);
    }

    #[test]
    fn rounding_is_half_even() {
        assert_eq!(round4(0.281_25), 0.2812);
        assert_eq!(round4(0.343_75), 0.3438);
    }
}
