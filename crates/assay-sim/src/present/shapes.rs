//! Shapes of pictures alone: they are in no model, no collision and no signal.

use mujoco_rs::prelude::*;

/// Maximum number of such shapes in a picture.
pub(crate) const MAX_PARTS: usize = 64;
/// Group of the geoms that such shapes replace. MuJoCo treats a group beyond its six as the last one, which is not
/// drawn.
pub(crate) const REPLACED: i32 = 99;

/// The colour of a surface, and how it reflects light.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Surface {
    rgba: [f32; 4],
    emission: f32,
    specular: f32,
    shininess: f32,
}

impl Surface {
    /// Returns the surface of the material with that name; without one, a matt surface of that colour.
    pub(crate) fn named(model: &MjModel, material: &str, rgba: [f32; 4]) -> Self {
        let id = model.name_to_id(MjtObjBase::mjOBJ_MATERIAL, material);
        id.map_or(Self { rgba, emission: 0.0, specular: 0.1, shininess: 0.2 }, |id| Self::of_material(model, id))
    }

    /// Returns the surface of a geom.
    pub(crate) fn of(model: &MjModel, geom: usize) -> Self {
        let rgba = model.geom_rgba()[geom];
        let material = usize::try_from(model.geom_matid()[geom]).ok();
        let plain = Self { rgba, emission: 0.0, specular: 0.5, shininess: 0.5 };
        material.map_or(plain, |id| Self::of_material(model, id))
    }

    fn of_material(model: &MjModel, id: usize) -> Self {
        Self {
            rgba: model.mat_rgba()[id],
            emission: model.mat_emission()[id],
            specular: model.mat_specular()[id],
            shininess: model.mat_shininess()[id],
        }
    }
}

/// A shape, in m.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum DrawnShape {
    /// From, to, and radius.
    Capsule([f64; 3], [f64; 3], f64),
    /// Middle, half axes, and orientation (rows of a matrix, whose columns are the axes).
    Ellipsoid([f64; 3], [f64; 3], [f64; 9]),
    /// Index of a mesh, its place and its orientation.
    Mesh(usize, [f64; 3], [f64; 9]),
}

/// Adds a shape to those of a picture. A picture that is full has enough of them.
#[expect(unsafe_code, reason = "MuJoCo's indices of materials, textures and meshes are unchecked")]
pub(crate) fn draw(scene: &mut MjvScene, part: DrawnShape, surface: Surface) {
    let (kind, size, place, turn) = match part {
        DrawnShape::Capsule(..) => (MjtGeom::mjGEOM_CAPSULE, None, None, None),
        DrawnShape::Ellipsoid(middle, half, turn) => (MjtGeom::mjGEOM_ELLIPSOID, Some(half), Some(middle), Some(turn)),
        DrawnShape::Mesh(_, place, turn) => (MjtGeom::mjGEOM_MESH, None, Some(place), Some(turn)),
    };
    // SAFETY: the geom is neither a flex nor a skin, and keeps the ids -1 (none) that it is created with. A mesh gets
    // the id of one that the model has.
    let created = unsafe { scene.try_create_geom(kind, size, place, turn, Some(surface.rgba)) };
    let Ok(shape) = created else { return };
    // Decorations cast no shadow.
    shape.category = MjtCatBit::mjCAT_DYNAMIC as i32;
    (shape.emission, shape.specular, shape.shininess) = (surface.emission, surface.specular, surface.shininess);
    match part {
        DrawnShape::Capsule(from, to, radius) => shape.connect(radius, from, to),
        // Each mesh has two lists of triangles: its own, and those of its convex hull.
        DrawnShape::Mesh(id, ..) => shape.dataid = i32::try_from(2 * id).unwrap_or(-1),
        DrawnShape::Ellipsoid(..) => {}
    }
}

/// Returns the product of the rotation matrix `turn` (rows) and `vector`.
pub(crate) fn turned(turn: &[f64; 9], vector: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|row| (0..3).map(|axis| turn[3 * row + axis] * vector[axis]).sum::<f64>())
}
