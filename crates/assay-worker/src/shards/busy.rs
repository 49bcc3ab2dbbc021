//! The number of busy lanes, for the metrics.

const BUSY: &str = "assay_lanes_busy";

/// Counts lanes as busy until dropped.
#[derive(Debug)]
pub(crate) struct Busy(u32);

impl Busy {
    pub(crate) fn lanes(count: u32) -> Self {
        metrics::gauge!(BUSY).increment(f64::from(count));
        Self(count)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        metrics::gauge!(BUSY).decrement(f64::from(self.0));
    }
}
