//! The backends against the conformance suites; the data folder; a full disk. One program, which links once.
#![expect(clippy::unwrap_used, reason = "tests")]

mod conformance;
mod folder;
mod full;
mod kill;
mod postgres;
