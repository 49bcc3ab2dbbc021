//! Parsers of option values, and their words in commands that are printed.

use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::value_parser;

use crate::settings::{MAX_EVIDENCE_MIB, MAX_LANES, Network};

/// Returns the word for a path in a command that is printed.
pub(crate) type PathWord<'a> = &'a dyn Fn(&Path) -> String;

/// Parses a network or a single address.
pub(crate) fn network(text: &str) -> Result<Network, String> {
    Network::try_from(text.to_owned()).map_err(|allowed| format!("write {allowed}"))
}

/// Returns a parser of limits on a job's evidence, in MiB.
pub(crate) fn mebibytes() -> impl TypedValueParser<Value = u64> {
    value_parser!(u64).range(1..=MAX_EVIDENCE_MIB)
}

/// Returns a parser of numbers of lanes.
pub(crate) fn lanes() -> impl TypedValueParser<Value = u16> {
    value_parser!(u16).range(1..=i64::from(MAX_LANES))
}

/// Returns a parser of numbers of lanes of a server, which may have none.
pub(crate) fn server_lanes() -> impl TypedValueParser<Value = u16> {
    value_parser!(u16).range(0..=i64::from(MAX_LANES))
}

/// Returns a parser of paths to the file `name` of a results folder; the folder stands for the file in it.
pub(crate) fn result_file(name: &'static str) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(move |path| if path.is_dir() { path.join(name) } else { path })
}

/// Parses a number strictly between 0 and 1.
pub(crate) fn probability(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if number > 0.0 && number < 1.0 { Ok(number) } else { Err("must lie between 0 and 1".to_owned()) }
}
