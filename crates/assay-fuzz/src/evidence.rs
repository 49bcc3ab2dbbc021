//! Evidence: files that a lane wrote, or that came with a report from another installation.

use assay_lane::Trace;
use assay_store::fuzzing::{pack as packed, unpack};

use crate::memory::MemoryFile;

/// Compares a recording with itself: there is no difference, whatever it contains.
pub(crate) fn trace(data: &[u8]) {
    let file = MemoryFile::new(data);
    if let Ok(trace) = Trace::read(&file.path) {
        drop((trace.signals(), trace.group("qpos"), trace.control_rows()));
        assert_eq!(assay_lane::fuzzing::compare(&trace, &trace).difference, None);
    }
}

/// Packs a file, and unpacks one that claims to be packed.
pub(crate) fn pack(data: &[u8]) {
    if let Some(small) = packed(data) {
        assert!(small.len() < data.len());
        assert_eq!(unpack(&small).expect("it was packed just now"), data);
    }
    drop(unpack(data));
}
