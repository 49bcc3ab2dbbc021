//! Bodies as Foxglove frames and primitives.

use assay_sim::{Body, BodyPose, Form, Shape, Simulation};
use foxglove::messages::{
    Color, CubePrimitive, CylinderPrimitive, FrameTransform, FrameTransforms, JointState, JointStates, Point3, Pose,
    Quaternion, SceneEntity, SceneUpdate, SpherePrimitive, TriangleListPrimitive, Vector3,
};

use super::topics::timestamp;
use crate::Trace;

/// Half the side of an infinite plane, in m.
const ENDLESS_M: f64 = 10.0;
/// Thickness of a plane, in m.
const PLANE_M: f64 = 1e-3;
/// Maximum number of vertices of a displayed mesh.
const MAX_VERTICES: usize = 100_000;
/// The frame in which all others are given.
pub(super) const WORLD: &str = "world";

/// Returns all visible shapes, each in its body's frame, and the number of shapes that Foxglove cannot represent.
pub(super) fn scene(bodies: &[Body]) -> (SceneUpdate, usize) {
    let mut left_out = 0;
    let mut entities = Vec::new();
    for body in bodies.iter().filter(|body| !body.shapes.is_empty()) {
        let mut entity = SceneEntity {
            timestamp: Some(timestamp(0.0)),
            frame_id: body.name.clone(),
            id: body.name.clone(),
            frame_locked: true,
            ..SceneEntity::default()
        };
        left_out += body.shapes.iter().filter(|shape| !add(&mut entity, shape)).count();
        entities.push(entity);
    }
    (SceneUpdate { deletions: Vec::new(), entities }, left_out)
}

/// Returns the poses of the bodies that move, or of those that do not.
pub(super) fn transforms(simulation: &Simulation, bodies: &[Body], moving: bool, time_s: f64) -> FrameTransforms {
    let named = bodies.iter().enumerate().skip(1).filter(|(_, body)| body.moves == moving);
    let transform = |(index, body): (usize, &Body)| {
        let pose = simulation.body_pose(index);
        FrameTransform {
            timestamp: Some(timestamp(time_s)),
            parent_frame_id: WORLD.to_owned(),
            child_frame_id: body.name.clone(),
            translation: Some(vector(pose.position)),
            rotation: Some(quaternion(pose.orientation)),
        }
    };
    FrameTransforms { transforms: named.map(transform).collect() }
}

/// Returns the joints by name: position and velocity from the trace's `row`, effort from their actuators.
pub(super) fn joint_states(simulation: &Simulation, trace: &Trace, row: usize, time_s: f64) -> JointStates {
    let (qpos, qvel) = (trace.group("qpos"), trace.group("qvel"));
    let forces = simulation.actuator_forces();
    let state = |joint: assay_sim::Joint| JointState {
        position: qpos.get(joint.qpos).map(|column| column[row]),
        velocity: qvel.get(joint.dof).map(|column| column[row]),
        acceleration: None,
        effort: forces.get(joint.dof).copied(),
        name: joint.name,
    };
    JointStates { timestamp: Some(timestamp(time_s)), joints: simulation.joints().into_iter().map(state).collect() }
}

/// Adds a shape to an entity; returns false if it cannot be represented.
fn add(entity: &mut SceneEntity, shape: &Shape) -> bool {
    let pose = shape.pose;
    let [r, g, b, a] = shape.rgba.map(f64::from);
    let color = Some(Color { r, g, b, a });
    match &shape.form {
        Form::Plane(half) => {
            let [x, y] = half.map(|half| 2.0 * if half > 0.0 { half } else { ENDLESS_M });
            let pose = Some(along_z(pose, -PLANE_M / 2.0));
            entity.cubes.push(CubePrimitive { pose, size: Some(Vector3 { x, y, z: PLANE_M }), color });
        }
        Form::Box(half) => {
            let size = Some(vector(half.map(|half| 2.0 * half)));
            entity.cubes.push(CubePrimitive { pose: Some(posed(pose)), size, color });
        }
        Form::Ellipsoid(radii) => {
            let size = Some(vector(radii.map(|radius| 2.0 * radius)));
            entity.spheres.push(SpherePrimitive { pose: Some(posed(pose)), size, color });
        }
        Form::Cylinder { radius, half, round } => {
            let size = |z: f64| Some(Vector3 { x: 2.0 * radius, y: 2.0 * radius, z });
            let (pose_in, bottom_scale, top_scale) = (Some(posed(pose)), 1.0, 1.0);
            let body = CylinderPrimitive { pose: pose_in, size: size(2.0 * half), bottom_scale, top_scale, color };
            entity.cylinders.push(body);
            for end in [-half, *half].into_iter().filter(|_| *round) {
                entity.spheres.push(SpherePrimitive {
                    pose: Some(along_z(pose, end)),
                    size: size(2.0 * radius),
                    color,
                });
            }
        }
        Form::Mesh(vertices, faces) if vertices.len() <= MAX_VERTICES => {
            let point = |vertex: &[f32; 3]| Point3 {
                x: f64::from(vertex[0]),
                y: f64::from(vertex[1]),
                z: f64::from(vertex[2]),
            };
            entity.triangles.push(TriangleListPrimitive {
                pose: Some(posed(pose)),
                points: vertices.iter().map(point).collect(),
                color,
                colors: Vec::new(),
                indices: faces.as_flattened().to_vec(),
            });
        }
        Form::Mesh(..) | Form::Other => return false,
    }
    true
}

fn posed(pose: BodyPose) -> Pose {
    Pose { position: Some(vector(pose.position)), orientation: Some(quaternion(pose.orientation)) }
}

/// Returns `pose` moved along its own z axis.
fn along_z(pose: BodyPose, distance: f64) -> Pose {
    let [w, x, y, z] = pose.orientation;
    let axis = [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)];
    let mut moved = pose;
    moved.position.iter_mut().zip(axis).for_each(|(p, a)| *p += distance * a);
    posed(moved)
}

fn vector([x, y, z]: [f64; 3]) -> Vector3 {
    Vector3 { x, y, z }
}

fn quaternion([w, x, y, z]: [f64; 4]) -> Quaternion {
    Quaternion { x, y, z, w }
}
