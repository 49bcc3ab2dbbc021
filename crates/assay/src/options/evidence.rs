//! Options for the size of a job's evidence.

use clap::Args;

use super::mebibytes;

#[derive(Debug, Args)]
pub(crate) struct EvidenceArgs {
    /// Maximum size of a job's evidence; each episode has an equal share, and omits images beyond it
    #[arg(long, value_name = "MIB", default_value_t = assay_model::DEFAULT_EVIDENCE_BYTES >> 20, value_parser = mebibytes())]
    pub(crate) max_evidence_mib: u64,
}

impl EvidenceArgs {
    pub(crate) fn max_evidence_bytes(&self) -> u64 {
        self.max_evidence_mib << 20
    }
}
