//! Files and folders that are left out of a policy or scenario, because they are not needed at run time.

use std::collections::BTreeSet;

use super::error::shown;
use super::names::{ENVIRONMENT, is_left_out};
use crate::runtime::SCRIPT_FILE;

/// Maximum number of names that are listed.
const MAX_LISTED: usize = 20;
/// Maximum number of names that are counted.
const MAX_COUNTED: usize = 1000;

/// The names that were left out so far.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// Folders of virtual environments.
    environments: BTreeSet<String>,
    found: BTreeSet<String>,
}

impl LeftOut {
    /// Begins with the virtual environments among the files with these names: folders with `pyvenv.cfg`, unless the
    /// policy itself is in them.
    pub(super) fn with_environments<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let (mut environments, mut policies) = (BTreeSet::new(), BTreeSet::new());
        for name in names {
            match name.rsplit_once('/') {
                Some((folder, ENVIRONMENT)) => drop(environments.insert(folder.to_owned())),
                Some((folder, SCRIPT_FILE)) => drop(policies.insert(folder.to_owned())),
                _ => {}
            }
        }
        environments.retain(|folder| !policies.contains(folder));
        Self { environments, found: BTreeSet::new() }
    }

    /// Returns whether the entry with these names is left out, and remembers it.
    pub(super) fn add(&mut self, parts: &[&str]) -> bool {
        let is_environment = |length: usize| self.environments.contains(&parts[..length].join("/"));
        let first =
            (1..=parts.len()).find(|length| is_left_out(&parts[length - 1..*length]) || is_environment(*length));
        if let Some(length) = first {
            self.insert(&parts[..length]);
        }
        first.is_some()
    }

    /// Remembers that the entry with these names is left out.
    pub(super) fn insert(&mut self, parts: &[&str]) {
        if self.found.len() < MAX_COUNTED {
            self.found.insert(shown(&parts.join("/")));
        }
    }

    /// Returns the names for a message.
    pub(super) fn names(self) -> Vec<String> {
        let count = self.found.len();
        let mut names: Vec<String> = self.found.into_iter().take(MAX_LISTED).collect();
        if count > MAX_LISTED {
            names.push(format!("{} more", count - MAX_LISTED));
        }
        names
    }
}
