//! The fuzz target of the packer, which reads files written by a lane, and possibly damaged files from disk.

use crate::pack::{pack as packed, unpack};

/// Packs a file, and unpacks one that claims to be packed.
///
/// # Panics
/// Panics if the input reveals a bug.
pub fn pack(data: &[u8]) {
    if let Some(small) = packed(data) {
        assert!(small.len() < data.len());
        assert_eq!(unpack(&small).expect("it was packed just now"), data);
    }
    drop(unpack(data));
}

#[cfg(test)]
mod tests {
    use assay_fuzz::run_corpus;

    #[test]
    fn pack_accepts_its_corpus() {
        run_corpus("pack", super::pack);
    }
}
