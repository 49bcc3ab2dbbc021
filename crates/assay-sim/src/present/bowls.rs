//! Round bowls: to the physics engine, a bowl in which things can roll is a ring of boxes around a disc; pictures show
//! it round.

use mujoco_rs::prelude::*;
use nalgebra::{Quaternion, UnitQuaternion, Vector3};

use crate::Simulation;
use crate::present::shapes::{DrawnShape, REPLACED, Surface, draw, turned};

/// Beginning of the name of a bowl's mesh; the index of its body follows.
const MESH: &str = "presentation/bowl-";
/// Number of sides of a bowl that is drawn.
const SIDES: u16 = 72;
/// Minimum number of boxes that form a ring.
const MIN_BOXES: usize = 8;
/// Maximum difference between boxes of a ring, in m and as a share of a unit vector.
const EQUAL: f64 = 1e-3;
/// Number of visible geom groups.
const VISIBLE_GROUPS: i32 = 3;

/// A bowl: its body, the geoms that are its ring and its disc, and half its section, from the axis below to the axis
/// above: radius and height (m, in the body's frame).
#[derive(Debug, Clone, PartialEq)]
struct Bowl {
    body: usize,
    geoms: Vec<usize>,
    section: [[f64; 2]; 7],
}

/// Adds a mesh to the model's description for each bowl; returns true if there is one. No geom refers to it.
pub(crate) fn add_meshes(spec: &mut MjSpec, model: &MjModel) -> bool {
    let bowls = bowls(model);
    for bowl in &bowls {
        let (vertices, faces) = lathe(&bowl.section);
        let mesh = spec.add_mesh().with_name(&format!("{MESH}{}", bowl.body));
        mesh.set_uservert(&vertices);
        mesh.set_userface(&faces);
        mesh.set_smoothnormal(true);
    }
    !bowls.is_empty()
}

/// Hides the geoms for which the model has a mesh. Only the geoms' group changes.
pub(crate) fn hide(model: &mut MjModel) {
    let drawn: Vec<usize> = meshes(model).map(|(_, body)| body).collect();
    for bowl in bowls(model).into_iter().filter(|bowl| drawn.contains(&bowl.body)) {
        bowl.geoms.into_iter().for_each(|geom| model.geom_group_mut()[geom] = REPLACED);
    }
}

/// Adds the model's bowls to a picture.
pub(crate) fn complete(simulation: &Simulation, scene: &mut MjvScene) {
    let (model, data) = (simulation.model(), simulation.data());
    for (mesh, body) in meshes(model) {
        let hidden = |geom: &usize| {
            model.geom_group()[*geom] == REPLACED && usize::try_from(model.geom_bodyid()[*geom]) == Ok(body)
        };
        let Some(geom) = (0..model.geom_bodyid().len()).find(hidden) else { continue };
        // MuJoCo moves a mesh to its centre of mass, and turns it.
        let (place, turn) = (data.xpos()[body], rotation(data.xquat()[body]));
        let middle = turned(&turn, model.mesh_pos()[mesh]);
        let own = rotation(model.mesh_quat()[mesh]);
        let columns = [0, 1, 2].map(|axis| turned(&turn, [own[axis], own[3 + axis], own[6 + axis]]));
        let both = std::array::from_fn(|at| columns[at % 3][at / 3]);
        draw(scene, DrawnShape::Mesh(mesh, [0, 1, 2].map(|i| place[i] + middle[i]), both), Surface::of(model, geom));
    }
}

/// Returns the meshes of bowls, and their bodies.
fn meshes(model: &MjModel) -> impl Iterator<Item = (usize, usize)> {
    (0..model.mesh_pos().len()).filter_map(|mesh| {
        let name = model.id_to_name(MjtObjBase::mjOBJ_MESH, mesh)?;
        Some((mesh, name.strip_prefix(MESH)?.parse().ok()?))
    })
}

/// Returns the bodies with a ring of equal boxes around a disc. The axis is the body's z axis.
fn bowls(model: &MjModel) -> Vec<Bowl> {
    (1..model.body_weldid().len()).filter_map(|body| bowl(model, body)).collect()
}

fn bowl(model: &MjModel, body: usize) -> Option<Bowl> {
    let of = |kind: MjtGeomBase| {
        (0..model.geom_bodyid().len()).filter(move |geom| {
            usize::try_from(model.geom_bodyid()[*geom]) == Ok(body)
                && model.geom_type()[*geom] == kind
                && model.geom_group()[*geom] < VISIBLE_GROUPS
        })
    };
    let boxes: Vec<usize> = of(MjtGeomBase::mjGEOM_BOX).collect();
    let disc = of(MjtGeomBase::mjGEOM_CYLINDER).find(|geom| radius(model, *geom) < EQUAL)?;
    let first = *boxes.first().filter(|_| boxes.len() >= MIN_BOXES)?;
    let alike = |geom: usize| {
        let differs = |a: f64, b: f64| (a - b).abs() > EQUAL;
        let sizes = model.geom_size()[geom].into_iter().zip(model.geom_size()[first]);
        let slopes = slope(model, geom).into_iter().flatten().zip(slope(model, first).into_iter().flatten());
        let heights = (model.geom_pos()[geom][2], model.geom_pos()[first][2]);
        let radii = (radius(model, geom), radius(model, first));
        !sizes.chain(slopes).chain([heights, radii]).any(|(a, b)| differs(a, b))
    };
    if !boxes.iter().all(|geom| alike(*geom)) || radius(model, first) < EQUAL {
        return None;
    }
    let section = section(model, first, disc, boxes.len());
    Some(Bowl { body, geoms: boxes.into_iter().chain([disc]).collect(), section })
}

/// Returns the distance of a geom from its body's z axis in m.
fn radius(model: &MjModel, geom: usize) -> f64 {
    let [x, y, _] = model.geom_pos()[geom];
    x.hypot(y)
}

/// Returns the directions of a box's length and thickness: outwards and upwards.
fn slope(model: &MjModel, geom: usize) -> [[f64; 2]; 2] {
    let [x, y, _] = model.geom_pos()[geom];
    let (turn, length) = (rotation(model.geom_quat()[geom]), x.hypot(y).max(f64::MIN_POSITIVE));
    [0, 2].map(|axis| [(turn[axis] * x + turn[3 + axis] * y) / length, turn[6 + axis]])
}

/// Returns half the section of a bowl whose ring has `count` boxes like `wall`.
fn section(model: &MjModel, wall: usize, disc: usize, count: usize) -> [[f64; 2]; 7] {
    let [length, _, thickness] = model.geom_size()[wall];
    let [along, across] = slope(model, wall);
    #[expect(clippy::cast_precision_loss, reason = "a number of boxes")]
    let corner = 1.0 / (std::f64::consts::PI / count as f64).cos();
    // Between the circles inside and around the ring.
    let at = |far: f64, above: f64| {
        let [outwards, upwards] = [0, 1].map(|i| far * along[i] + above * across[i]);
        [(radius(model, wall) + outwards) * f64::midpoint(1.0, corner), model.geom_pos()[wall][2] + upwards]
    };
    let (disc_m, half_m) = (model.geom_pos()[disc][2], model.geom_size()[disc][1]);
    let rim = at(length + 0.7 * thickness, 0.0);
    let [outer, inner] = [-thickness, thickness].map(|above| [at(-length, above), at(length, above)]);
    [[0.0, disc_m - half_m], outer[0], outer[1], rim, inner[1], inner[0], [0.0, disc_m + half_m]]
}

/// Returns the coordinates of the vertices, and the triangles, of the surface that a section makes around the z axis.
fn lathe(section: &[[f64; 2]; 7]) -> (Vec<f32>, Vec<i32>) {
    let (mut vertices, mut faces) = (Vec::new(), Vec::new());
    let [bottom, rings @ .., top] = section;
    let mut add = |[radius, height]: [f64; 2], side: u16| {
        let (sin, cos) = (std::f64::consts::TAU * f64::from(side) / f64::from(SIDES)).sin_cos();
        #[expect(clippy::cast_possible_truncation, reason = "meshes have single precision")]
        vertices.extend([radius * cos, radius * sin, height].map(|x| x as f32));
    };
    rings.iter().for_each(|ring| (0..SIDES).for_each(|side| add(*ring, side)));
    add(*bottom, 0);
    add(*top, 0);
    let sides = i32::from(SIDES);
    let count = i32::try_from(rings.len()).unwrap_or_default();
    let (below, above) = (count * sides, count * sides + 1);
    for side in 0..sides {
        let next = (side + 1) % sides;
        faces.extend([below, next, side]);
        for ring in 0..count - 1 {
            let [a, b] = [side, next].map(|side| ring * sides + side);
            faces.extend([a, b, a + sides, b, b + sides, a + sides]);
        }
        let last = (count - 1) * sides;
        faces.extend([last + side, last + next, above]);
    }
    (vertices, faces)
}

/// Returns the rotation matrix (rows) of a quaternion.
fn rotation([w, x, y, z]: [f64; 4]) -> [f64; 9] {
    let turn = UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z));
    let columns = [Vector3::x(), Vector3::y(), Vector3::z()].map(|axis| turn * axis);
    std::array::from_fn(|at| columns[at % 3][at / 3])
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::{SIDES, lathe, rotation};

    #[test]
    fn a_lathe_makes_a_closed_surface_that_faces_outwards() {
        let section =
            [[0.0, 0.0], [0.04, 0.0], [0.08, 0.03], [0.079, 0.034], [0.076, 0.034], [0.04, 0.006], [0.0, 0.006]];
        let (vertices, faces) = lathe(&section);
        let point = |index: i32| [0, 1, 2].map(|i| f64::from(vertices[3 * usize::try_from(index).unwrap() + i]));
        // Six times the volume: the sum over tetrahedra to the origin.
        let six: f64 = faces
            .chunks_exact(3)
            .map(|face| {
                let [a, b, c] = [point(face[0]), point(face[1]), point(face[2])];
                a[0] * (b[1] * c[2] - b[2] * c[1])
                    + a[1] * (b[2] * c[0] - b[0] * c[2])
                    + a[2] * (b[0] * c[1] - b[1] * c[0])
            })
            .sum();
        assert!((5e-5..2e-4).contains(&(six / 6.0)), "{} m3", six / 6.0);
        // In a closed surface, each edge is once in each direction.
        let edges = || faces.chunks_exact(3).flat_map(|f| [(f[0], f[1]), (f[1], f[2]), (f[2], f[0])]);
        let all: std::collections::BTreeSet<(i32, i32)> = edges().collect();
        assert_eq!(all.len(), edges().count());
        assert!(all.iter().all(|(a, b)| all.contains(&(*b, *a))));
        assert_eq!(faces.len(), 3 * usize::from(SIDES) * 10);
    }

    #[test]
    fn a_rotation_has_rows() {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        // A quarter about z: x becomes y.
        let turn = rotation([half, 0.0, 0.0, half]);
        assert!((turn[3] - 1.0).abs() < 1e-12 && (turn[1] + 1.0).abs() < 1e-12, "{turn:?}");
    }
}
