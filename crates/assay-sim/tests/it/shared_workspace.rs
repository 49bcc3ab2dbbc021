//! The person of `shared_workspace`: hit by a body of a Panda's effective mass, each region feels the force that
//! ISO/TS 15066 computes from the region's mass and spring constant.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use mujoco_rs::prelude::*;

use crate::common::built_in;

/// Effective mass of a Panda with its hand, kg: half of what moves, and the payload.
const ROBOT_KG: f64 = 8.744;
/// Region, its mass (kg), spring constant (N/m), quasi-static force (N), the speed that gives it (m/s; cut, not rounded), and
/// the direction of the blow.
type Region = (&'static str, f64, f64, f64, f64, [f64; 3]);

const REGIONS: [Region; 4] = [
    ("hand", 0.6, 75_000.0, 140.0, 0.682, [0.0, -1.0, 0.0]),
    ("forearm", 2.0, 40_000.0, 160.0, 0.627, [0.0, 0.0, -1.0]),
    ("upper_arm", 3.0, 30_000.0, 150.0, 0.579, [0.0, -1.0, 0.0]),
    ("chest", 40.0, 25_000.0, 140.0, 0.330, [1.0, 0.0, 0.0]),
];

/// The scene with a sled 0.25 m before `region` that can only move along `direction`.
fn with_sled(region: &str, direction: [f64; 3]) -> MjModel {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/shared_workspace/scene.xml");
    let scene = std::fs::read_to_string(file).unwrap();
    let data = {
        let mut data = MjData::new(Box::new(MjModel::from_xml_string(&scene).unwrap()));
        data.forward();
        data
    };
    let site = data.model().name_to_id(MjtObjBase::mjOBJ_SITE, region).unwrap();
    let at = data.site_xpos()[site];
    let [x, y, z] = [0, 1, 2].map(|axis| at[axis] - 0.25 * direction[axis]);
    let [ax, ay, az] = direction;
    let sled = format!(
        "<body name='sled' pos='{x} {y} {z}' gravcomp='1'><joint name='sled' type='slide' axis='{ax} {ay} {az}'/>\
         <geom type='sphere' size='0.04' mass='{ROBOT_KG}' contype='1' conaffinity='1'/></body>"
    );
    MjModel::from_xml_string(&scene.replace("</worldbody>", &format!("{sled}</worldbody>"))).unwrap()
}

/// The greatest force on the tissue in N: its spring constant times how far it gives way.
fn blow(region: &str, spring: f64, speed: f64, direction: [f64; 3]) -> f64 {
    let model = with_sled(region, direction);
    let site = |name: &str| model.name_to_id(MjtObjBase::mjOBJ_SITE, name).unwrap();
    let (core, skin) = (site(region), site(&format!("{region}_skin")));
    let sled = model.name_to_id(MjtObjBase::mjOBJ_JOINT, "sled").unwrap();
    let dof = usize::try_from(model.jnt_dofadr()[sled]).unwrap();
    let mut data = MjData::new(Box::new(model));
    data.qvel_mut()[dof] = speed;
    let mut greatest: f64 = 0.0;
    for _ in 0..900 {
        data.step();
        let (a, b) = (data.site_xpos()[core], data.site_xpos()[skin]);
        greatest = greatest.max(spring * (0..3).map(|i| (b[i] - a[i]).powi(2)).sum::<f64>().sqrt());
    }
    greatest
}

#[test]
fn a_blow_is_as_hard_as_the_standard_computes() {
    for (region, mass, spring, limit, speed, direction) in REGIONS {
        let reduced = 1.0 / (1.0 / mass + 1.0 / ROBOT_KG);
        let wanted = speed * (reduced * spring).sqrt();
        assert!((wanted - limit).abs() < 0.005 * limit, "{region}: the table's speed and force belong together");
        let force = blow(region, spring, speed, direction);
        assert!((force - wanted).abs() < 0.10 * wanted, "{region}: {force} N, the formula gives {wanted} N");
        let gentle = blow(region, spring, speed / 2.0, direction);
        assert!((gentle / force - 0.5).abs() < 0.06, "{region}: half the speed, half the force: {gentle} of {force} N");
    }
}

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
    for (region, mass, spring, limit, speed, _) in REGIONS {
        let reduced = 1.0 / (1.0 / mass + 1.0 / effective);
        let most = limit / (reduced * spring).sqrt();
        assert!((0.0..0.001).contains(&(most - speed)), "{region}: {speed} m/s, the formula gives {most}");
        // The clause's limit is 1, a share of the region's speed.
        let asked = format!("{region}_gap / 0.1 >= 1.0 or {region}_speed / {speed} <= 1.0");
        assert!(formula.contains(&asked), "{region}: {formula:?} does not ask for {asked:?}");
    }
}

#[test]
fn a_hand_on_the_table_can_be_squeezed() {
    // From above there is no way out: the force is far above that of a blow to a hand that can move.
    let force = blow("hand", 75_000.0, 0.682, [0.0, 0.0, -1.0]);
    assert!(force > 280.0, "{force} N");
}
