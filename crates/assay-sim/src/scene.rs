//! The appearance and state of a world, for logs: bodies with their shapes, joints, contacts. After a step, poses and
//! contacts are those of the start of the step.

use mujoco_rs::prelude::*;

use crate::Simulation;

/// Number of visible geom groups; by MuJoCo's convention, higher groups are only for collisions.
const VISIBLE_GROUPS: i32 = 3;

/// Position (m) and orientation (unit quaternion w, x, y, z).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BodyPose {
    /// Position in m.
    pub position: [f64; 3],
    /// Quaternion w, x, y, z.
    pub orientation: [f64; 4],
}

/// A body and its visible shapes.
#[derive(Debug, Clone, PartialEq)]
pub struct Body {
    /// MuJoCo's name, or `body N`; `world` for the world.
    pub name: String,
    /// True if the body can move.
    pub moves: bool,
    /// Its visible geoms.
    pub shapes: Vec<Shape>,
}

/// A visible geom.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// Pose in the body's frame.
    pub pose: BodyPose,
    /// Red, green, blue, opacity in [0, 1].
    pub rgba: [f32; 4],
    /// Form and size.
    pub form: Form,
}

/// Form and size of a shape, in m.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// The plane z = 0, with half sizes along x and y; 0 means infinite.
    Plane([f64; 2]),
    /// Half sizes.
    Box([f64; 3]),
    /// Radii; equal for a sphere.
    Ellipsoid([f64; 3]),
    /// Radius and half length along z, with flat or round ends.
    Cylinder {
        /// Radius.
        radius: f64,
        /// Half the length of the straight part.
        half: f64,
        /// True if the ends are hemispheres (a capsule).
        round: bool,
    },
    /// Vertices and triangles.
    Mesh(Vec<[f32; 3]>, Vec<[u32; 3]>),
    /// A height field or a signed distance field.
    Other,
}

/// A joint with one degree of freedom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joint {
    /// MuJoCo's name, or `joint N`.
    pub name: String,
    /// Index in `qpos`.
    pub qpos: usize,
    /// Index in `qvel`.
    pub dof: usize,
}

/// Two geoms that touch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contact {
    /// Indices of the geoms.
    pub geoms: [usize; 2],
    /// Position in m, world axes.
    pub position: [f64; 3],
    /// Normal from the first geom to the second, world axes.
    pub normal: [f64; 3],
    /// Distance in m; negative if they overlap.
    pub distance_m: f64,
    /// Force along the normal in N.
    pub force_n: f64,
}

impl Simulation {
    /// Returns all bodies, the world first.
    #[must_use]
    pub fn bodies(&self) -> Vec<Body> {
        let model = self.model();
        let name = |body: usize| model.id_to_name(MjtObjBase::mjOBJ_BODY, body).map(str::to_owned);
        let moves = |body: usize| model.body_weldid().get(body).is_some_and(|root| *root != 0);
        let body = |index: usize| Body {
            name: name(index).unwrap_or_else(|| format!("body {index}")),
            moves: moves(index),
            shapes: Vec::new(),
        };
        let mut bodies: Vec<Body> = (0..model.body_pos().len()).map(body).collect();
        for (geom, body) in model.geom_bodyid().iter().enumerate() {
            if let (Ok(body), Some(shape)) = (usize::try_from(*body), self.shape(geom)) {
                bodies[body].shapes.push(shape);
            }
        }
        bodies
    }

    /// Returns a body's pose in world axes.
    #[must_use]
    pub fn body_pose(&self, body: usize) -> BodyPose {
        BodyPose { position: self.data().xpos()[body], orientation: self.data().xquat()[body] }
    }

    /// Returns all joints with one degree of freedom.
    #[must_use]
    pub fn joints(&self) -> Vec<Joint> {
        let model = self.model();
        let joint = |(index, kind): (usize, &MjtJoint)| {
            matches!(kind, MjtJoint::mjJNT_HINGE | MjtJoint::mjJNT_SLIDE).then_some(())?;
            let name = model.id_to_name(MjtObjBase::mjOBJ_JOINT, index).map(str::to_owned);
            Some(Joint {
                name: name.unwrap_or_else(|| format!("joint {index}")),
                qpos: usize::try_from(model.jnt_qposadr()[index]).ok()?,
                dof: usize::try_from(model.jnt_dofadr()[index]).ok()?,
            })
        };
        model.jnt_type().iter().enumerate().filter_map(joint).collect()
    }

    /// Returns the force (N or Nm) that the actuators exert on each degree of freedom.
    #[must_use]
    pub fn actuator_forces(&self) -> &[f64] {
        self.data().qfrc_actuator()
    }

    /// Returns all contacts.
    pub fn contacts(&self) -> impl Iterator<Item = Contact> {
        let data = self.data();
        let index = |geom: i32| usize::try_from(geom).unwrap_or_default();
        data.contact().iter().enumerate().map(move |(i, contact)| Contact {
            geoms: contact.geom.map(index),
            position: contact.pos,
            normal: [contact.frame[0], contact.frame[1], contact.frame[2]],
            distance_m: contact.dist,
            force_n: data.contact_force(i)[0],
        })
    }

    /// Returns the number of geoms.
    #[must_use]
    pub fn geoms(&self) -> usize {
        self.model().geom_bodyid().len()
    }

    /// Returns MuJoCo's name of a geom, or the name of its body with the geom's number.
    #[must_use]
    pub fn geom_name(&self, geom: usize) -> String {
        let model = self.model();
        let body = model.geom_bodyid().get(geom).and_then(|body| usize::try_from(*body).ok()).unwrap_or_default();
        let body = || model.id_to_name(MjtObjBase::mjOBJ_BODY, body).unwrap_or("body");
        let own = model.id_to_name(MjtObjBase::mjOBJ_GEOM, geom).filter(|name| !name.is_empty());
        own.map_or_else(|| format!("{} geom {geom}", body()), str::to_owned)
    }

    fn shape(&self, geom: usize) -> Option<Shape> {
        let model = self.model();
        let material = usize::try_from(model.geom_matid()[geom]).ok();
        let rgba = material.map_or(model.geom_rgba()[geom], |material| model.mat_rgba()[material]);
        if model.geom_group()[geom] >= VISIBLE_GROUPS || rgba[3] <= 0.0 {
            return None;
        }
        let [x, y, z] = model.geom_size()[geom];
        let form = match model.geom_type()[geom] {
            MjtGeomBase::mjGEOM_PLANE => Form::Plane([x, y]),
            MjtGeomBase::mjGEOM_BOX => Form::Box([x, y, z]),
            MjtGeomBase::mjGEOM_SPHERE => Form::Ellipsoid([x; 3]),
            MjtGeomBase::mjGEOM_ELLIPSOID => Form::Ellipsoid([x, y, z]),
            MjtGeomBase::mjGEOM_CAPSULE => Form::Cylinder { radius: x, half: y, round: true },
            MjtGeomBase::mjGEOM_CYLINDER => Form::Cylinder { radius: x, half: y, round: false },
            MjtGeomBase::mjGEOM_MESH => self.mesh(geom).unwrap_or(Form::Other),
            _ => Form::Other,
        };
        let pose = BodyPose { position: model.geom_pos()[geom], orientation: model.geom_quat()[geom] };
        Some(Shape { pose, rgba, form })
    }

    fn mesh(&self, geom: usize) -> Option<Form> {
        let model = self.model();
        let index = |n: i32| usize::try_from(n).ok();
        let mesh = index(model.geom_dataid()[geom])?;
        let (vertex, vertices) = (index(model.mesh_vertadr()[mesh])?, index(model.mesh_vertnum()[mesh])?);
        let (face, faces) = (index(model.mesh_faceadr()[mesh])?, index(model.mesh_facenum()[mesh])?);
        let corners = |face: &[i32; 3]| face.map(|corner| u32::try_from(corner).unwrap_or_default());
        let faces = model.mesh_face().get(face..face + faces)?.iter().map(corners).collect();
        Some(Form::Mesh(model.mesh_vert().get(vertex..vertex + vertices)?.to_vec(), faces))
    }
}
