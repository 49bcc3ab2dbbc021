//! Adapters: policies without code, whose network, inputs and outputs are declared in the table `[adapter]` of
//! `policy.toml`.
//!
//! Here a declaration is read ([`PolicyAdapter`]) and compared with the policy's files when the policy is accepted.
//! What it says about the scenario is compared before an episode, by `assay-worker`. The adapters themselves are Python
//! (`python/runner/assay_adapters`) and run in the policy's jail.

mod check;
mod checkpoint;
mod declaration;
mod error;
mod files;
mod folder;
#[cfg(any(test, feature = "fuzzing"))]
mod fuzzing;
mod limits;
mod numbers;
mod processors;
mod safetensors;
mod table;

pub(crate) use check::check;
pub use declaration::{
    AdapterAction, AdapterInput, AdapterKind, InputSource, NamedArray, PolicyAdapter, StatisticsSource,
};
pub use error::AdapterError;
pub(crate) use files::FileStart;
#[cfg(any(test, feature = "fuzzing"))]
pub use fuzzing::checkpoint;
pub(crate) use table::AdapterTable;
