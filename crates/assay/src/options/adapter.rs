//! Options for a policy without code that is not in a folder with a declaration.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::PathWord;

/// Options for a checkpoint.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for a checkpoint")]
pub(crate) struct AdapterArgs {
    /// Run the policy, the folder of a checkpoint, with this adapter
    #[arg(long, value_name = "KIND", requires = "map")]
    pub(crate) adapter: Option<AdapterName>,
    /// File with the table [adapter]: what the checkpoint sees and returns (see docs/adapters.md)
    #[arg(long, value_name = "FILE", requires = "adapter")]
    pub(crate) map: Option<PathBuf>,
}

/// An adapter that runs a folder as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AdapterName {
    /// A checkpoint of LeRobot: ACT or Diffusion
    Lerobot,
}

impl AdapterArgs {
    /// Returns the words of a command with the same options.
    pub(crate) fn words(&self, path: PathWord<'_>) -> Vec<String> {
        let Some((adapter, map)) = self.adapter.zip(self.map.as_ref()) else { return Vec::new() };
        let name = adapter.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        vec!["--adapter".to_owned(), name, "--map".to_owned(), path(map)]
    }

    /// Returns the map of a checkpoint, if the policy is one.
    pub(crate) fn map(&self) -> Option<&PathBuf> {
        self.adapter.and(self.map.as_ref())
    }
}
