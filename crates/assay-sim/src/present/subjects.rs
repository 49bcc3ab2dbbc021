//! The shapes that a picture should show: those that matter, and the robot to follow.

use mujoco_rs::prelude::*;

use crate::Simulation;
use crate::present::shapes::REPLACED;

/// Number of visible geom groups; by MuJoCo's convention, higher groups are only for collisions.
const VISIBLE_GROUPS: i32 = 3;
/// Largest half size in m of a shape that a picture frames; larger ones are surroundings.
const MAX_HALF_M: f64 = 3.0;

/// Names of the site that a robot should reach, as in the scenarios that ship.
const GOALS: [&str; 2] = ["goal", "target"];

/// The geoms to frame, and those of a robot that moves freely.
#[derive(Debug, Clone)]
pub(crate) struct Subjects {
    framed: Vec<usize>,
    /// Empty if every robot is mounted in place.
    followed: Vec<usize>,
    /// The site that a followed robot should reach.
    goal: Option<usize>,
}

impl Subjects {
    /// Selects the shapes of all bodies but the world's; in a scene without robot, those of the world too.
    pub(crate) fn of(simulation: &Simulation) -> Self {
        let model = simulation.model();
        let robots: Vec<String> = simulation.robot_names().map(|name| format!("{name}/")).collect();
        let body_of = |geom: usize| usize::try_from(model.geom_bodyid()[geom]).unwrap_or_default();
        let is_free = |body: usize| model.body_weldid().get(body).is_some_and(|root| *root != 0);
        let root_of = |prefix: &str| {
            let named = |body: &usize| {
                model.id_to_name(MjtObjBase::mjOBJ_BODY, *body).is_some_and(|name| name.starts_with(prefix))
            };
            (0..model.body_weldid().len()).find(named)
        };
        let free: Vec<&String> = robots.iter().filter(|prefix| root_of(prefix).is_some_and(is_free)).take(1).collect();
        let visible = |geom: &usize| {
            let material = usize::try_from(model.geom_matid()[*geom]).ok();
            let rgba = material.map_or(model.geom_rgba()[*geom], |material| model.mat_rgba()[material]);
            let half = &model.geom_aabb()[*geom][3..];
            let group = model.geom_group()[*geom];
            (group < VISIBLE_GROUPS || group == REPLACED)
                && rgba[3] > 0.0
                && model.geom_type()[*geom] != MjtGeomBase::mjGEOM_PLANE
                && half.iter().all(|half| *half <= MAX_HALF_M)
        };
        let shapes: Vec<usize> = (0..model.geom_bodyid().len()).filter(visible).collect();
        let matters = |geom: &usize| robots.is_empty() || body_of(*geom) != 0;
        let of_free = |geom: &usize| {
            let name = model.id_to_name(MjtObjBase::mjOBJ_BODY, body_of(*geom)).unwrap_or_default();
            free.iter().any(|prefix| name.starts_with(prefix.as_str()))
        };
        Self {
            framed: shapes.iter().copied().filter(matters).collect(),
            followed: shapes.iter().copied().filter(of_free).collect(),
            goal: GOALS.iter().find_map(|name| model.name_to_id(MjtObjBase::mjOBJ_SITE, name)),
        }
    }

    /// True if the picture should follow a robot.
    pub(crate) fn follows(&self) -> bool {
        !self.followed.is_empty()
    }

    /// Returns the position of the goal, in m, world axes.
    pub(crate) fn goal(&self, simulation: &Simulation) -> Option<[f64; 3]> {
        simulation.data().site_xpos().get(self.goal?).copied()
    }

    /// Returns the corners of all shapes to frame, in m, world axes.
    pub(crate) fn corners(&self, simulation: &Simulation) -> impl Iterator<Item = [f64; 3]> {
        self.framed.iter().flat_map(|geom| corners(simulation, *geom))
    }

    /// Returns the middle and half the diagonal (m) of the robot to follow.
    pub(crate) fn subject(&self, simulation: &Simulation) -> Option<([f64; 3], f64)> {
        let mut bounds = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
        for corner in self.followed.iter().flat_map(|geom| corners(simulation, *geom)) {
            for axis in 0..3 {
                bounds[0][axis] = bounds[0][axis].min(corner[axis]);
                bounds[1][axis] = bounds[1][axis].max(corner[axis]);
            }
        }
        let middle = [0, 1, 2].map(|axis| f64::midpoint(bounds[0][axis], bounds[1][axis]));
        let radius = [0, 1, 2].map(|axis| (bounds[1][axis] - bounds[0][axis]).powi(2)).iter().sum::<f64>().sqrt() / 2.0;
        (middle.iter().all(|x| x.is_finite()) && radius.is_finite()).then_some((middle, radius))
    }
}

/// Returns the corners of the box around a geom, in m, world axes.
fn corners(simulation: &Simulation, geom: usize) -> [[f64; 3]; 8] {
    let (data, model) = (simulation.data(), simulation.model());
    let (position, turn) = (data.geom_xpos()[geom], data.geom_xmat()[geom]);
    let bounds = model.geom_aabb()[geom];
    std::array::from_fn(|corner| {
        let local = [0, 1, 2].map(|axis| {
            let side = if corner >> axis & 1 == 0 { -1.0 } else { 1.0 };
            bounds[axis] + side * bounds[axis + 3]
        });
        [0, 1, 2].map(|row| position[row] + (0..3).map(|axis| turn[3 * row + axis] * local[axis]).sum::<f64>())
    })
}
