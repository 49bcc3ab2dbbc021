//! The speeds that `shared_workspace` permits near a person are those of ISO/TS 15066's model of two masses and a
//! spring. What a blow at such a speed does is measured on the impact rig (`src/signal/impact_rig.rs`).

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use mujoco_rs::prelude::*;

use crate::common::built_in;

/// Effective mass of a Panda with its hand, kg: half of what moves, and the payload.
const ROBOT_KG: f64 = 8.744;
/// Region, its mass (kg), spring constant (N/m), quasi-static force (N), the speed that gives it (m/s; cut, not
/// rounded).
type Region = (&'static str, f64, f64, f64, f64);

const REGIONS: [Region; 4] = [
    ("hand", 0.6, 75_000.0, 140.0, 0.682),
    ("forearm", 2.0, 40_000.0, 160.0, 0.627),
    ("upper_arm", 3.0, 30_000.0, 150.0, 0.579),
    ("chest", 40.0, 25_000.0, 140.0, 0.330),
];

#[test]
fn the_clause_asks_each_region_for_its_own_speed() {
    let panda = MjModel::from_xml(concat!(env!("CARGO_MANIFEST_DIR"), "/../../robots/panda/panda.xml")).unwrap();
    let mass = |name: &str| panda.body_mass()[panda.name_to_id(MjtObjBase::mjOBJ_BODY, name).unwrap()];
    let links: f64 = (1..=7).map(|i| mass(&format!("link{i}"))).sum();
    let payload = mass("hand") + mass("left_finger") + mass("right_finger");
    let effective = links / 2.0 + payload;
    assert!((effective - ROBOT_KG).abs() < 1e-3, "{effective} kg");
    let world = built_in("shared_workspace");
    let clause = world.scenario().clauses.iter().find(|clause| clause.id == "contact_speed").unwrap();
    let formula = clause.formula.to_string();
    for (region, mass, spring, limit, speed) in REGIONS {
        let reduced = 1.0 / (1.0 / mass + 1.0 / effective);
        let most = limit / (reduced * spring).sqrt();
        assert!((0.0..0.001).contains(&(most - speed)), "{region}: {speed} m/s, the formula gives {most}");
        // The clause's limit is 1, a share of the region's speed.
        let asked = format!("{region}_gap / 0.1 >= 1.0 or {region}_speed / {speed} <= 1.0");
        assert!(formula.contains(&asked), "{region}: {formula:?} does not ask for {asked:?}");
    }
}
