//! The sources of settings: the file, the environment, the command line.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ArgMatches;
use clap::parser::ValueSource;

use super::keys;

/// The settings file that is read, if it exists, when no other is given.
const DEFAULT_FILE: &str = "assay.toml";
/// Maximum size of a settings file, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The settings as found, before validation.
#[derive(Default)]
pub(crate) struct SettingSources {
    /// Path and content of the file.
    pub(super) file: Option<(PathBuf, String)>,
    /// Name and value of the variables that begin with `ASSAY_`.
    pub(super) variables: Vec<(String, String)>,
    /// Flag, path of the setting, and value.
    pub(super) flags: Vec<(String, String, String)>,
}

/// Written by hand because the sources may contain keys and passwords.
impl fmt::Debug for SettingSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources").field("file", &self.file.as_ref().map(|(path, _)| path)).finish_non_exhaustive()
    }
}

impl SettingSources {
    /// Returns the source of a single file, for the fuzz target.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn of_file(path: PathBuf, text: String) -> Self {
        Self { file: Some((path, text)), ..Self::default() }
    }

    /// Gathers the sources of this process: the file `config` or the default one, the environment, `--set`, and the
    /// flags in `matches`.
    pub(crate) fn gather(config: Option<&Path>, set: &[String], matches: &ArgMatches) -> anyhow::Result<Self> {
        let file = match config {
            Some(path) => Some((path.to_owned(), read(path)?)),
            None => match Path::new(DEFAULT_FILE) {
                path if path.exists() => Some((path.to_owned(), read(path)?)),
                _ => None,
            },
        };
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
        };
        let variables = std::env::vars_os().filter_map(text).filter(|(name, _)| name.starts_with("ASSAY_")).collect();
        Ok(Self { file, variables, flags: flags(set, matches)? })
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    let size = std::fs::metadata(path).with_context(|| format!("can't read the settings in {}", path.display()))?.len();
    anyhow::ensure!(
        size <= MAX_FILE_BYTES,
        "{} has more than {MAX_FILE_BYTES} bytes, which is too large for a settings file",
        path.display()
    );
    std::fs::read_to_string(path).with_context(|| format!("can't read the settings in {}", path.display()))
}

/// Returns the settings given on the command line. Defaults and variables, which clap also reports, are excluded.
fn flags(set: &[String], matches: &ArgMatches) -> anyhow::Result<Vec<(String, String, String)>> {
    let keys = keys::all();
    let mut found = Vec::new();
    for id in matches.ids().map(clap::Id::as_str) {
        let Some(key) = keys.iter().find(|key| key.flag() == id) else { continue };
        if matches.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        let words: Vec<_> = matches.get_raw(id).into_iter().flatten().map(|raw| raw.to_string_lossy()).collect();
        // A switch has no value.
        let value = if words.is_empty() { "true".to_owned() } else { words.join(",") };
        found.push((format!("--{}", id.replace('_', "-")), key.path.clone(), value));
    }
    for pair in set {
        let (path, value) = pair.split_once('=').with_context(|| format!("--set {pair}: write --set PATH=VALUE"))?;
        found.push(("--set".to_owned(), path.trim().to_owned(), value.to_owned()));
    }
    Ok(found)
}
