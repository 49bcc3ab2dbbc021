//! An impact test: a sled with a Panda's effective mass and surface runs into a wall, and into each region of the
//! person in `shared_workspace`. The force must agree with the standard's model, and must not change at half the step.

#![expect(clippy::unwrap_used, reason = "a failing test should stop")]

use std::fmt::Write as _;

use mujoco_rs::prelude::*;

use super::Force;
use crate::handle::Data;
use crate::signal::groups::Groups;
use crate::signal::physics_signal::{PhysicsSignal as _, StepState};

/// Effective mass of a Panda with its hand, kg: half of the moving mass, plus the payload (ISO/TS 15066:2016, A.3.5).
const ROBOT_KG: f64 = 8.744;
/// Bandwidth of the scenarios' force signals, Hz.
const BANDWIDTH_HZ: f64 = 100.0;
/// Maximum change of a margin at half the step, as a fraction of the clause's scale.
const MAX_SHIFT: f64 = 0.05;
/// Spring constant represented by a wall, N/m: lower arm and wrist (ISO/TS 15066:2016, table A.3).
const WALL_SPRING: f64 = 40_000.0;
/// Scale of the clauses for walls and tables, N.
const WALL_SCALE: f64 = 100.0;
/// Set to regenerate the tables: `UPDATE_TABLES=1 cargo test -p assay-sim impact_rig`.
const UPDATE: &str = "UPDATE_TABLES";
const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/contact-forces.md");

/// A region of the person: its mass (kg), spring constant (N/m), quasi-static force limit (N), and the direction of
/// impact.
struct Region {
    name: &'static str,
    mass: f64,
    spring: f64,
    limit: f64,
    direction: [f64; 3],
}

const REGIONS: [Region; 4] = [
    Region { name: "hand", mass: 0.6, spring: 75_000.0, limit: 140.0, direction: [0.0, -1.0, 0.0] },
    Region { name: "forearm", mass: 2.0, spring: 40_000.0, limit: 160.0, direction: [0.0, 0.0, -1.0] },
    Region { name: "upper_arm", mass: 3.0, spring: 30_000.0, limit: 150.0, direction: [0.0, -1.0, 0.0] },
    Region { name: "chest", mass: 40.0, spring: 25_000.0, limit: 140.0, direction: [1.0, 0.0, 0.0] },
];

impl Region {
    /// Returns the force of an impact in N, for two masses and a spring.
    fn formula(&self, speed: f64) -> f64 {
        let reduced = 1.0 / (1.0 / self.mass + 1.0 / ROBOT_KG);
        speed * (reduced * self.spring).sqrt()
    }

    /// Returns the speed at which the force equals the quasi-static limit, m/s.
    fn permitted(&self) -> f64 {
        self.limit / self.formula(1.0)
    }
}

fn repository(path: &str) -> String {
    format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))
}

/// Returns the body of a sled with the surface of the Panda's hand.
fn sled(mass: f64, at: [f64; 3], direction: [f64; 3]) -> String {
    let panda = MjModel::from_xml(repository("robots/panda/panda.xml")).unwrap();
    let hand = panda.name_to_id(MjtObjBase::mjOBJ_GEOM, "hand_col").unwrap();
    let [a, b] = panda.geom_solref()[hand];
    let [d0, d1, width, ..] = panda.geom_solimp()[hand];
    let priority = panda.geom_priority()[hand];
    let ([x, y, z], [ax, ay, az]) = (at, direction);
    format!(
        "<body name='sled' pos='{x} {y} {z}' gravcomp='1'><joint name='sled' type='slide' axis='{ax} {ay} {az}'/>\
         <geom name='sled' type='sphere' size='0.04' mass='{mass}' contype='1' conaffinity='1' priority='{priority}' \
         solref='{a} {b}' solimp='{d0} {d1} {width}'/></body>"
    )
}

fn wall_scene(mass: f64, speed: f64, share: f64) -> String {
    // A slightly different distance changes the phase of the step in which the surfaces meet.
    let start = -0.06 - 0.002 * speed * share;
    format!(
        "<mujoco><option integrator='implicitfast' cone='elliptic'/><worldbody>\
         <geom name='wall' type='box' size='0.02 0.5 0.5' contype='1' conaffinity='1' solref='0.008 1'/>{}\
         </worldbody></mujoco>",
        sled(mass, [start - 0.02, 0.0, 0.0], [1.0, 0.0, 0.0])
    )
}

/// Returns the scene of `shared_workspace` with a sled that can only move along the direction of impact.
fn person_scene(region: &Region, speed: f64, share: f64) -> String {
    let scene = std::fs::read_to_string(repository("scenarios/shared_workspace/scene.xml")).unwrap();
    let mut data = MjData::new(Box::new(MjModel::from_xml_string(&scene).unwrap()));
    data.forward();
    let at = data.site_xpos()[data.model().name_to_id(MjtObjBase::mjOBJ_SITE, region.name).unwrap()];
    let way = 0.25 + 0.002 * speed * share;
    let start = [0, 1, 2].map(|axis| at[axis] - way * region.direction[axis]);
    scene.replace("</worldbody>", &format!("{}</worldbody>", sled(ROBOT_KG, start, region.direction)))
}

/// Returns the greatest force between the sled and `target` in N within 0.9 s.
fn impact_force(scene: &str, target: &str, speed: f64, timestep_s: f64) -> f64 {
    let mut model = MjModel::from_xml_string(scene).unwrap();
    model.opt_mut().timestep = timestep_s;
    let geom = |name: &str| model.name_to_id(MjtObjBase::mjOBJ_GEOM, name).unwrap();
    let mut masks = vec![0; model.geom_bodyid().len()];
    (masks[geom("sled")], masks[geom(target)]) = (1, 2);
    let groups = Groups { names: vec!["sled".into(), "target".into()], masks };
    let dof = usize::try_from(model.jnt_dofadr()[model.name_to_id(MjtObjBase::mjOBJ_JOINT, "sled").unwrap()]).unwrap();
    let mut data: Data = MjData::new(Box::new(model));
    data.qvel_mut()[dof] = speed;
    let mut force = Force::new(1, Some(2), BANDWIDTH_HZ, timestep_s);
    let mut greatest: f64 = 0.0;
    while data.time() < 0.9 {
        data.step();
        let time_s = data.time();
        let mut step = StepState { data: &mut data, groups: &groups, qpos: &[], qvel: &[], action: &[], time_s };
        greatest = greatest.max(force.value(&mut step));
    }
    greatest
}

/// Returns the greatest force at the given step and the greatest change at half of it, in N, over several phases of the
/// step.
fn measured(scene: impl Fn(f64) -> String, target: &str, speed: f64, timestep_s: f64) -> (f64, f64) {
    let (mut force, mut shift): (f64, f64) = (0.0, 0.0);
    for share in [0.0, 0.25, 0.5, 0.75] {
        let scene = scene(share);
        let [whole, half] = [timestep_s, timestep_s / 2.0].map(|step| impact_force(&scene, target, speed, step));
        force = force.max(whole);
        shift = shift.max((whole - half).abs());
    }
    (force, shift)
}

#[test]
fn the_force_of_an_impact_on_a_person_agrees_with_the_standard_and_converges() {
    let mut table =
        String::from("| region | speed | force | formula | shift at half the step |\n|---|---|---|---|---|\n");
    for region in &REGIONS {
        for share in [0.5, 1.0] {
            let speed = share * region.permitted();
            let (force, shift) = measured(|phase| person_scene(region, speed, phase), region.name, speed, 0.001);
            let (name, wanted) = (region.name, region.formula(speed));
            assert!((force - wanted).abs() < 0.12 * wanted, "{name}, {speed} m/s: {force} N, formula {wanted} N");
            assert!(shift <= MAX_SHIFT * region.limit, "{name}, {speed} m/s: half the step moves {force} N by {shift}");
            writeln!(
                table,
                "| {name} | {speed:.2} m/s | {force:.0} N | {wanted:.0} N | {:.1} % of {} N |",
                100.0 * shift / region.limit,
                region.limit
            )
            .unwrap();
        }
    }
    write_table("person", &table);
}

#[test]
fn a_hand_on_the_table_can_be_clamped() {
    let hand = &REGIONS[0];
    let clamped = Region { name: "hand", direction: [0.0, 0.0, -1.0], ..*hand };
    let force = impact_force(&person_scene(&clamped, hand.permitted(), 0.0), "hand", hand.permitted(), 0.001);
    assert!(force > 2.0 * hand.limit, "an impact from above clamps the hand: {force} N");
}

#[test]
fn the_force_of_an_impact_on_a_wall_converges() {
    let mut table =
        String::from("| mass | speed | force | spring of 40 N/mm | shift at half the step |\n|---|---|---|---|---|\n");
    for mass in [2.0, 4.0, ROBOT_KG] {
        for speed in [0.05, 0.1, 0.25] {
            let (force, shift) = measured(|share| wall_scene(mass, speed, share), "wall", speed, 0.002);
            let wanted = speed * (WALL_SPRING * mass).sqrt();
            assert!(
                shift <= MAX_SHIFT * WALL_SCALE,
                "{mass} kg, {speed} m/s: half the step moves {force} N by {shift}"
            );
            assert!(
                mass < ROBOT_KG || force >= wanted,
                "{speed} m/s: {force} N is softer than the spring's {wanted} N"
            );
            writeln!(
                table,
                "| {mass} kg | {speed} m/s | {force:.0} N | {wanted:.0} N | {:.1} % of {WALL_SCALE} N |",
                100.0 * shift / WALL_SCALE
            )
            .unwrap();
        }
    }
    write_table("wall", &table);
}

/// Writes a table between its markers in the document, if requested.
fn write_table(name: &str, table: &str) {
    if std::env::var_os(UPDATE).is_none() {
        return;
    }
    let text = std::fs::read_to_string(DOCUMENT).unwrap();
    let (begin, end) = (format!("<!-- table: {name} -->\n"), format!("<!-- end of table: {name} -->"));
    let (head, rest) = text.split_once(&begin).unwrap();
    let (_, tail) = rest.split_once(&end).unwrap();
    std::fs::write(DOCUMENT, format!("{head}{begin}{table}{end}{tail}")).unwrap();
}
