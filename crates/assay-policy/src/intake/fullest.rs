//! The folder with the most entries, for a policy or scenario that has too many.

use std::collections::BTreeMap;

use super::error::shown;

/// Maximum number of folders that are counted apart.
const MAX_FOLDERS: usize = 1000;

/// Numbers of entries, by the folder that they are in: the innermost that holds more than half of all.
#[derive(Debug, Default)]
pub(super) struct CountedFolders {
    counts: BTreeMap<String, usize>,
    total: usize,
}

impl CountedFolders {
    /// Counts an entry by its name, in each of the folders that it is in.
    pub(super) fn add(&mut self, name: &str) {
        self.total += 1;
        let name = name.strip_prefix("./").unwrap_or(name).trim_end_matches('/');
        for (at, _) in name.match_indices('/') {
            if self.counts.len() < MAX_FOLDERS || self.counts.contains_key(&name[..at]) {
                *self.counts.entry(name[..at].to_owned()).or_default() += 1;
            }
        }
    }

    /// Returns the innermost folder that has more than half of the entries, if there is one.
    pub(super) fn fullest(&self) -> Option<String> {
        let full = self.counts.iter().filter(|(_, count)| **count * 2 > self.total);
        full.max_by_key(|(name, _)| name.matches('/').count()).map(|(name, _)| shown(name))
    }
}

#[cfg(test)]
mod tests {
    use super::CountedFolders;

    #[test]
    fn the_innermost_folder_with_more_than_half_is_named() {
        for (names, expected) in [
            (&["a", "b/c", "b/d"][..], Some("b")),
            (&["a", "b/c"], None),
            (&["mine/policy.py", "mine/outputs/1/x", "mine/outputs/2/x"], Some("mine/outputs")),
            (&["./w/x", "./w/", "./w/y"], Some("w")),
        ] {
            let mut folders = CountedFolders::default();
            names.iter().for_each(|name| folders.add(name));
            assert_eq!(folders.fullest().as_deref(), expected, "{names:?}");
        }
    }
}
