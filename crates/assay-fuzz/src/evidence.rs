//! Evidence: what a lane wrote, or a report from elsewhere came with.

use assay_lane::Trace;
use assay_store::fuzzing::{pack as packed, unpack};

use crate::memory::MemoryFile;

/// A recording: it does not differ from itself, whatever it holds.
pub(crate) fn trace(data: &[u8]) {
    let file = MemoryFile::new(data);
    if let Ok(trace) = Trace::read(&file.path) {
        drop((trace.signals(), trace.group("qpos"), trace.control_rows()));
        assert_eq!(assay_lane::fuzzing::compare(&trace, &trace).difference, None);
    }
}

/// A file to be packed, and one that says it was.
pub(crate) fn pack(data: &[u8]) {
    if let Some(small) = packed(data) {
        assert!(small.len() < data.len());
        assert_eq!(unpack(&small).expect("it was packed just now"), data);
    }
    drop(unpack(data));
}
