//! Facts about an episode for readers who have only its trace.

use assay_model::EpisodeSeeds;
use assay_scenario::Scenario;
use assay_sim::Simulation;

/// Returns the facts about an episode that its trace contains.
pub(crate) fn facts(
    scenario: &Scenario,
    (episode, seeds): (u32, EpisodeSeeds),
    simulation: &Simulation,
) -> Vec<(String, String)> {
    let draws = simulation.draw().parameters.iter().map(|(name, value)| (format!("draw.{name}"), value.to_string()));
    let own = [
        ("scenario", scenario.id.to_string()),
        ("scenario_version", scenario.version.clone()),
        ("scenario_digest", scenario.digest.to_string()),
        ("mujoco", assay_sim::mujoco_version()),
        ("episode", episode.to_string()),
        ("policy_seed", seeds.policy.to_string()),
        ("world_seed", seeds.world.to_string()),
        ("timestep_s", scenario.world.timestep_s.to_string()),
        ("control_hz", scenario.world.control_hz.to_string()),
    ];
    own.into_iter().map(|(key, value)| (key.to_owned(), value)).chain(draws).collect()
}
