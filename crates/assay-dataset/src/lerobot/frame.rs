//! A frame of a LeRobot dataset: one control step.

use bytes::Bytes;

/// A row to write.
pub(super) struct TrainingFrame<'a> {
    pub(super) state: Vec<f32>,
    pub(super) environment: Vec<f32>,
    pub(super) action: Vec<f32>,
    /// PNG of each image, and its pixels if it differs from that of the frame before.
    pub(super) images: Vec<(Bytes, Option<&'a [u8]>)>,
}
