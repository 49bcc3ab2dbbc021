//! Groups of geoms, which signals of distance, contact and approach refer to.

use assay_scenario::Scenario;
use mujoco_rs::prelude::*;

use crate::error::WorldError;

/// Maximum number of groups in a scenario (one bit each).
const MAX_GROUPS: usize = 64;

/// The groups of each geom, as bits in the order of the scenario's groups.
pub(crate) struct Groups {
    pub(super) names: Vec<String>,
    pub(super) masks: Vec<u64>,
}

impl Groups {
    pub(crate) fn resolve(model: &MjModel, scenario: &Scenario) -> Result<Self, WorldError> {
        if scenario.groups.len() > MAX_GROUPS {
            let value = scenario.groups.len() as u64;
            return Err(WorldError::TooLarge { what: "groups", value, limit: MAX_GROUPS as u64 });
        }
        let mut masks = vec![0; model.geom_bodyid().len()];
        for (bit, (group, globs)) in scenario.groups.iter().enumerate() {
            let mut found = false;
            for (geom, mask) in masks.iter_mut().enumerate() {
                let body = usize::try_from(model.geom_bodyid()[geom]).unwrap_or(0);
                let names =
                    [model.id_to_name(MjtObjBase::mjOBJ_GEOM, geom), model.id_to_name(MjtObjBase::mjOBJ_BODY, body)];
                let collides = model.geom_contype()[geom] != 0 || model.geom_conaffinity()[geom] != 0;
                let matches = |name: &&str| globs.iter().any(|glob| matches_glob(glob, name));
                if collides && names.iter().flatten().any(matches) {
                    *mask |= 1 << bit;
                    found = true;
                }
            }
            if !found {
                return Err(WorldError::EmptyGroup(group.clone()));
            }
        }
        Ok(Self { names: scenario.groups.keys().cloned().collect(), masks })
    }

    pub(super) fn bit(&self, group: &str) -> u64 {
        self.names.iter().position(|name| name == group).map_or(0, |bit| 1 << bit)
    }

    pub(crate) fn geoms_of(&self, group: &str) -> Vec<usize> {
        let bit = self.bit(group);
        (0..self.masks.len()).filter(|geom| self.masks[*geom] & bit != 0).collect()
    }

    /// Returns all pairs of a geom of group `a` and another one of group `b`.
    pub(crate) fn pairs(&self, a: &str, b: &str) -> Vec<(usize, usize)> {
        let (a, b) = (self.geoms_of(a), self.geoms_of(b));
        a.iter().flat_map(|i| b.iter().map(move |j| (*i, *j))).filter(|(i, j)| i != j).collect()
    }
}

/// Matches a name against a glob, in which `*` matches any sequence of characters and every other character matches
/// itself. The leftmost match of each part suffices, which bounds the time by the product of both lengths.
fn matches_glob(glob: &str, name: &str) -> bool {
    let mut parts = glob.split('*');
    let Some(mut rest) = parts.next().and_then(|head| name.strip_prefix(head)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    // Without a star, no characters may remain.
    let Some(tail) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::matches_glob;

    #[test]
    fn globs() {
        assert!(matches_glob("arm/*", "arm/link1"));
        assert!(matches_glob("post_*", "post_"));
        assert!(matches_glob("*/hand*", "arm/hand_left"));
        assert!(!matches_glob("post_*", "a_post_1"));
        assert!(matches_glob("cart", "cart"));
        assert!(!matches_glob("cart", "cart2"));
        assert!(matches_glob("*", "") && matches_glob("a*b*a", "aba") && matches_glob("a**b", "ab"));
        assert!(!matches_glob("a*a", "a") && !matches_glob("ab*ba", "aba") && !matches_glob("", "a"));
        // Takes exponential time in a matcher that backtracks at each star.
        assert!(!matches_glob(&("*a".repeat(40) + "*b"), &"a".repeat(200)));
    }
}
