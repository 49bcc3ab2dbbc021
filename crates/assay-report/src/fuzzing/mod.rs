//! The fuzz targets of what `assay report` and `assay attest verify` read.

mod report;
mod statement;

pub use report::report;
pub use statement::statement;
