//! Conversion of time bounds in seconds to windows in samples.
use super::lowering::Lowering;
use crate::error::BindError;
use crate::limits::{MAX_HORIZON_STEPS, STEP_TOLERANCE, STEP_TOLERANCE_STEPS};
use crate::plan::Steps;
use crate::syntax::{Interval, Temporal};

impl Lowering<'_> {
    pub(super) fn steps(&self, temporal: Temporal, interval: Interval) -> Result<Steps, BindError> {
        if temporal == Temporal::Next { Ok(Steps { from: 1, to: Some(1) }) } else { self.interval(interval) }
    }

    pub(super) fn interval(&self, interval: Interval) -> Result<Steps, BindError> {
        let to = interval.to.map(|to| self.whole(to)).transpose()?;
        Ok(Steps { from: self.whole(interval.from)?, to })
    }

    /// Converts a time bound to samples.
    fn whole(&self, bound_s: f64) -> Result<usize, BindError> {
        let exact = bound_s / self.period_s;
        let steps = exact.round();
        if steps > MAX_HORIZON_STEPS as f64 {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, only shown")]
            return Err(BindError::Horizon { steps: steps as u64, limit: MAX_HORIZON_STEPS });
        }
        if (exact - steps).abs() > (STEP_TOLERANCE * exact).min(STEP_TOLERANCE_STEPS) {
            return Err(BindError::NotWholePeriods { bound_s, period_s: self.period_s });
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0..=MAX_HORIZON_STEPS")]
        Ok(steps as usize)
    }
}
