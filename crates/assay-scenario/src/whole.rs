//! Conversion to whole numbers of steps.

/// Returns `x` as an integer if it is one (to within 1e-6).
pub(crate) fn whole(x: f64) -> Option<u32> {
    let rounded = x.round();
    let is_whole = (x - rounded).abs() < 1e-6 && (1.0..=f64::from(u32::MAX)).contains(&rounded);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
    is_whole.then_some(rounded as u32)
}
