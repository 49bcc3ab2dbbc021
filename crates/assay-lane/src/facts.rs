//! Facts about an episode for readers who have only its trace.

use assay_model::{EpisodeSeeds, sanitise};
use assay_scenario::Scenario;
use assay_sim::Simulation;

/// The facts that a trace contains, besides the draws.
const KEYS: [&str; 9] = [
    "scenario",
    "scenario_version",
    "scenario_digest",
    "mujoco",
    "episode",
    "policy_seed",
    "world_seed",
    "timestep_s",
    "control_hz",
];
/// Prefix of the fact about a drawn parameter.
const DRAW: &str = "draw.";
/// Maximum length of a fact in a log, in bytes.
const MAX_FACT_BYTES: usize = 128;

/// Returns the facts of a trace that belong into a log: known ones, each once and in one line. The trace may have been
/// made by others.
pub(crate) fn known(facts: &[(String, String)], scenario: &Scenario) -> Vec<(String, String)> {
    let is_drawn = |key: &str| {
        let parameter = key.strip_prefix(DRAW);
        parameter.is_some_and(|parameter| scenario.parameters.iter().any(|(name, _)| name == parameter))
    };
    let mut found: Vec<(String, String)> = Vec::new();
    for (key, value) in facts {
        let is_known = KEYS.contains(&key.as_str()) || is_drawn(key);
        if is_known && found.iter().all(|(other, _)| other != key) {
            let line: String = sanitise(value, MAX_FACT_BYTES).split_whitespace().collect::<Vec<_>>().join(" ");
            found.push((key.clone(), line));
        }
    }
    found
}

/// Returns the facts about an episode that its trace contains.
pub(crate) fn facts(
    scenario: &Scenario,
    (episode, seeds): (u32, EpisodeSeeds),
    simulation: &Simulation,
) -> Vec<(String, String)> {
    let draws = simulation.draw().parameters.iter().map(|(name, value)| (format!("{DRAW}{name}"), value.to_string()));
    let own = [
        scenario.id.to_string(),
        scenario.version.clone(),
        scenario.digest.to_string(),
        assay_sim::mujoco_version(),
        episode.to_string(),
        seeds.policy.to_string(),
        seeds.world.to_string(),
        scenario.world.timestep_s.to_string(),
        scenario.world.control_hz.to_string(),
    ];
    KEYS.into_iter().zip(own).map(|(key, value)| (key.to_owned(), value)).chain(draws).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::path::Path;

    use super::*;

    /// A fact of a trace, and what a log says of it. The first was seen in a results folder.
    const FACTS: [(&str, &str, Option<&str>); 8] = [
        ("scenario_digest", "\nssh-ed25519 AAAA\n", Some("ssh-ed25519 AAAA")),
        ("authorized", "\nssh-ed25519 AAAA\n", None),
        ("scenario\n", "x", None),
        ("draw.no such parameter", "1", None),
        ("draw.pole_start", "0.5\r\n;rm -rf", Some("0.5 ;rm -rf")),
        ("mujoco", "\u{1b}]0;x\u{7}3.17.0\u{2028}eval", Some("3.17.0 eval")),
        ("episode", "0\u{85}1", Some("01")),
        ("mujoco", "a second one", None),
    ];

    #[test]
    fn only_known_facts_are_copied_each_in_one_short_line() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let scenario = Scenario::load(&root.join("scenarios/cartpole_keepin"), &root.join("robots")).unwrap();
        let parameter = &scenario.parameters.first().unwrap().0;
        let name = |key: &str| key.replace("pole_start", parameter);
        let facts: Vec<_> = FACTS.iter().map(|(key, value, _)| (name(key), (*value).to_owned())).collect();
        let expected: Vec<_> =
            FACTS.iter().filter_map(|(key, _, line)| Some((name(key), line.as_ref()?.to_string()))).collect();
        assert_eq!(known(&facts, &scenario), expected);
        let long = known(&[("scenario".to_owned(), "x".repeat(100_000))], &scenario);
        assert!(long[0].1.len() <= MAX_FACT_BYTES);
    }
}
