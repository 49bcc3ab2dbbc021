//! A table of scenarios with the numbers that each draws for an episode.
#![expect(clippy::unwrap_used, reason = "a test may stop here")]

use std::collections::BTreeSet;

use assay_model::Generator;
use assay_scenario::{Scenario, draw};

use crate::folder::Folder;

/// Parameters, what is added to the scenario, and the names drawn. The first are those of a scenario that was certified
/// by 29 equal episodes.
const SCENARIOS: [(&str, &str, &[&str]); 21] = [
    ("", "", &[]),
    ("a = { uniform = [0.3, 0.3] }", "a", &[]),
    ("a = { choice = [0.3] }", "a", &[]),
    ("a = { choice = [0.3, 0.3, 0.3] }", "a", &[]),
    ("a = { normal = [0.3, 0.0], clip = [0.0, 1.0] }", "a", &[]),
    ("a = { normal = [100.0, 1.0], clip = [0.0, 1.0] }", "a", &[]),
    ("a = { uniform = [0.0, 1.0] }", "", &[]),
    ("a = { uniform = [0.0, 1.0] }", "0.3 + 0 * a", &[]),
    ("a = { uniform = [0.4, 0.5] }", "min(a, 0.3)", &[]),
    ("a = { uniform = [0.0, 1.0] }", "a - a", &[]),
    ("a = { uniform = [0.0, 1.0] }\nb = { uniform = [0.0, 0.0] }", "a * b", &[]),
    ("", "push force_n = [0, 0]", &[]),
    ("", "place x = [0.3, 0.3]\ny = [0.1, 0.1]\nyaw = [1, 1]", &[]),
    ("", "path waypoints = [[0, 0], [1, 1]]\nspeed = 0.5", &[]),
    ("a = { uniform = [0.0, 1.0] }", "a", &["a"]),
    ("a = { choice = [0.3, 0.4] }\nb = { uniform = [0.0, 1.0] }", "a", &["a"]),
    ("a = { normal = [0.3, 0.01], clip = [0.0, 1.0] }", "2 * a", &["a"]),
    ("", "push force_n = [5, 5]", &["push_0.heading"]),
    ("", "place x = [0.3, 0.4]\ny = [0.1, 0.1]", &["cart.x"]),
    ("", "walk x = [1, 2]\ny = [2, 2]\nspeed = [0.1, 0.9]", &["cart.x", "cart.speed"]),
    ("a = { uniform = [0.4, 0.5] }", "path waypoints = [[0, 0], [1, 1]]\nspeed = \"a\"", &["a"]),
];

/// Returns the cart-pole with these draws instead of its own.
fn scenario(parameters: &str, added: &str) -> Scenario {
    let folder = Folder::of("cartpole_keepin");
    let text = folder.text();
    let (head, rest) = text.split_once("[parameters]").unwrap();
    let (_, rest) = rest.split_once("[[observation]]").unwrap();
    let added = match added.split_once(' ') {
        Some(("push", rest)) => {
            format!("[[disturbance]]\nkind = \"push\"\nbody = \"cart\"\nat_s = [1, 1]\nduration_s = 0.1\n{rest}")
        }
        Some(("place", rest)) => format!("[[placement]]\nbodies = [\"cart\"]\nspacing = 0\n{rest}"),
        Some((kind @ ("walk" | "path"), rest)) => format!("[[actor]]\nbody = \"cart\"\nkind = \"{kind}\"\n{rest}"),
        _ if added.is_empty() => String::new(),
        _ => format!("[[set]]\ntarget = \"joint:slide.qpos\"\nvalue = \"{added}\""),
    };
    folder.write(&format!("{head}[parameters]\n{parameters}\n{added}\n[[observation]]{rest}"));
    folder.load().unwrap()
}

#[test]
fn what_has_one_value_or_reaches_nothing_is_not_drawn() {
    for (parameters, added, names) in SCENARIOS {
        let scenario = scenario(parameters, added);
        let ranges = scenario.drawn_ranges();
        let found: Vec<&str> = ranges.iter().map(|range| range.name.as_str()).collect();
        assert_eq!(found, names, "{parameters} {added}");
        assert_eq!(scenario.card().draws_worlds(), !names.is_empty());
        let worlds: BTreeSet<_> =
            (0..20).map(|seed| scenario.world_sha256(&draw(&scenario, &mut Generator::new(seed)).unwrap())).collect();
        let expected = if names.is_empty() { 1..2 } else { 2..21 };
        assert!(expected.contains(&worlds.len()), "{parameters} {added}: {} worlds", worlds.len());
    }
}

#[test]
fn noise_is_drawn_for_each_episode_in_the_same_world() {
    let mut scenario = scenario("", "");
    scenario.observations[0].noise = 0.01;
    assert_eq!(scenario.drawn_ranges()[0].to_string(), "noise.joint_position (standard deviation 0.01)");
    let world = |seed| scenario.world_sha256(&draw(&scenario, &mut Generator::new(seed)).unwrap());
    assert_eq!(world(1), world(2));
}

#[test]
fn the_built_in_scenarios_draw_worlds() {
    let found = std::fs::read_dir(crate::folder::repository().join("scenarios")).unwrap();
    let ids = found.map(|entry| entry.unwrap().path()).filter(|path| path.join("scenario.toml").exists());
    for path in ids {
        let scenario = Scenario::load(&path, &crate::folder::repository().join("robots")).unwrap();
        assert!(scenario.card().draws_worlds(), "{}", scenario.id);
        assert!(
            scenario
                .drawn_ranges()
                .iter()
                .all(|range| range.distribution == assay_model::DrawnFrom::Noise || range.low < range.high)
        );
    }
}
