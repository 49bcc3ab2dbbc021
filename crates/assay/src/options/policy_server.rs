//! Options for policy servers.

use std::path::PathBuf;

use assay_model::{MAX_CONCURRENCY, MAX_REPLAN_STEPS};
use assay_policy::remote::AddressGuard;
use clap::Args;

use super::{PathWord, network};
use crate::settings::Network;

/// Options for a policy server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for a policy server")]
pub(crate) struct PolicyServerArgs {
    /// The server's API key; safer in the environment or in a file than on the command line
    #[arg(long, value_name = "KEY", env = "ASSAY_POLICY_API_KEY", hide_env_values = true)]
    pub(crate) policy_api_key: Option<String>,
    /// File with the API key
    #[arg(long, value_name = "FILE", conflicts_with = "policy_api_key")]
    pub(crate) policy_api_key_file: Option<PathBuf>,
    /// Number of episodes that may call the server at the same time
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_CONCURRENCY)))]
    pub(crate) policy_concurrency: u32,
    /// Number of actions of an answer that are executed before the server is called again [default: the scenario's, or
    /// all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_REPLAN_STEPS)))]
    pub(crate) replan_steps: Option<u32>,
    /// Networks that the server may be in, besides the public Internet [default: every network]
    #[arg(long, value_name = "CIDR", value_delimiter = ',', value_parser = network)]
    pub(crate) policy_networks: Vec<Network>,
}

impl PolicyServerArgs {
    /// Returns the words of a command with the same options, except the number of executed actions, which a report has
    /// itself, and a key, which is not shown: a command that needs one takes it from the environment.
    pub(crate) fn words(&self, path: PathWord<'_>) -> Vec<String> {
        let mut words = Vec::new();
        if let Some(file) = &self.policy_api_key_file {
            words.extend(["--policy-api-key-file".to_owned(), path(file)]);
        }
        if self.policy_concurrency > 1 {
            words.extend(["--policy-concurrency".to_owned(), self.policy_concurrency.to_string()]);
        }
        if !self.policy_networks.is_empty() {
            let networks: Vec<String> = self.policy_networks.iter().map(|network| network.0.to_string()).collect();
            words.extend(["--policy-networks".to_owned(), networks.join(",")]);
        }
        words
    }

    /// Returns the guard for the server's address. Every address is allowed unless networks are given: the user of the
    /// command line is the operator.
    pub(crate) fn guard(&self) -> AddressGuard {
        match self.policy_networks.as_slice() {
            [] => AddressGuard::of_operator(),
            networks => AddressGuard::of_operator_within(networks.iter().map(|network| network.0).collect()),
        }
    }
}
