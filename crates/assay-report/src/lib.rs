//! Reports of jobs for people and programs. The crate is pure: its only output is text and bytes, and it never
//! accesses a file, a clock or a terminal.
//!
//! - [`terminal`]: the report at the end of `assay verify`,
//! - [`html`]: a self-contained page,
//! - [`json`]: `report.json`, the job object itself,
//! - [`ReplayReport`]: the result of `assay replay`,
//! - [`markdown`], [`junit`], [`sarif`]: for pull requests, CI systems and code hosts,
//! - [`hf_card`]: metadata of a Hugging Face model card,
//! - [`wandb`]: an offline run of Weights & Biases,
//! - [`remedy()`]: advice for the author of a policy that failed,
//! - [`attest`]: signed statements and their verification.
//!
//! All of them show an [`assay_model::JobReport`] and share the code that summarises it ([`ClauseSummary`], the
//! statistics in words), so that they are always consistent. All text from a policy or a scenario is untrusted: it is
//! sanitised again for the terminal, and escaped by the template engine for HTML.

pub mod attest;
mod clauses;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod hf_card;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
mod outcome;
mod remedy;
mod replay;
mod run_again;
pub mod sarif;
pub mod schema;
mod statistics;
pub mod terminal;
pub mod wandb;
mod words;

pub use clauses::{ClauseSummary, WorstMargin};
pub use remedy::remedy;
pub use replay::ReplayReport;
pub use run_again::{RunAgain, shell_words};
