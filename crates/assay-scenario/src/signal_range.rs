//! The values that signals can have.

use std::f64::consts::PI;

use crate::Signal;

const UNLIMITED: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
const NOT_NEGATIVE: (f64, f64) = (0.0, f64::INFINITY);

impl Signal {
    /// Returns the least and the greatest value, as far as they follow from the signal's definition.
    pub(crate) fn range(&self) -> (f64, f64) {
        // No catch-all here: a kind of signal without a range must not compile.
        #[expect(clippy::cast_precision_loss, reason = "a list of frames is short")]
        let up_to = |count: usize| (0.0, count as f64);
        match self {
            Self::Distance { cutoff, .. } => (f64::NEG_INFINITY, *cutoff),
            // A filtered force may ring below 0, but is 0 without a contact.
            Self::ContactForce { .. }
            | Self::Force { .. }
            | Self::Penetration { .. }
            | Self::Speed { .. }
            | Self::AngularSpeed { .. }
            | Self::PointDistance { .. }
            | Self::Acceleration { .. }
            | Self::Agitation { .. }
            | Self::ApproachSpeed { .. }
            | Self::GreatestSpeed { .. }
            | Self::RelativeSpeed { .. }
            | Self::Displacement { .. }
            | Self::JointVelocityRatio { .. }
            | Self::JointTorqueRatio { .. }
            | Self::Reversals { .. }
            | Self::Exposure { .. } => NOT_NEGATIVE,
            Self::ApparentTilt { .. } | Self::Tilt { .. } => (0.0, PI),
            Self::Inside { of, .. } => up_to(of.len()),
            Self::Visited { frames, .. } | Self::Crossed { frames, .. } => up_to(frames.len()),
            Self::Geofence { low, high, .. } => {
                let half = low.iter().zip(high).map(|(low, high)| (high - low) / 2.0);
                (f64::NEG_INFINITY, half.fold(f64::INFINITY, f64::min))
            }
            Self::Action { .. }
            | Self::Position { .. }
            | Self::JointValue { .. }
            | Self::JointSpeed { .. }
            | Self::JointPositionMargin { .. }
            | Self::Rate { .. } => UNLIMITED,
        }
    }
}
