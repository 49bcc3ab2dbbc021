//! Reports of jobs for people and programs. Pure: text is the only output, and nothing here reads a file, a clock or a
//! terminal.
//!
//! - [`terminal`]: the report that `assay verify` ends with,
//! - [`html`]: one self-contained page,
//! - [`json`]: `report.json`, the job object itself,
//! - [`ReplayReport`]: what `assay replay` found.
//! - [`markdown`], [`junit`], [`sarif`]: for a pull request, a CI system, a code host,
//! - [`attest`]: the signed statement, and checking it.
//!
//! All of them show an [`assay_model::JobReport`], and the ways to sum it up ([`ClauseSummary`], the statistics in
//! words) are shared, so that they cannot disagree. Everything a policy or a scenario wrote is untrusted: it is cleaned
//! again for the terminal, and escaped by the template engine for HTML.

pub mod attest;
mod clauses;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
mod outcome;
mod replay;
mod run_again;
pub mod sarif;
pub mod schema;
mod statistics;
pub mod terminal;
mod words;

pub use clauses::{ClauseSummary, WorstMargin};
pub use replay::ReplayReport;
pub use run_again::RunAgain;
