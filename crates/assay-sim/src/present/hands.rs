//! The shape of a hand and of its forearm, for pictures. A robot touches simple capsules; what is drawn lies inside
//! them but for 4 mm, so that no robot passes through a finger without a contact.

use crate::present::shapes::{DrawnShape, turned};

/// Radius in m of the capsule that is touched, for which the shapes are given.
const TOUCHED_M: f64 = 0.038;
/// Lengths in m of a middle finger's bones, from the knuckle.
const BONES_M: [f64; 3] = [0.036, 0.022, 0.018];
/// Axes of an ellipsoid along the arm.
const ALONG: [f64; 9] = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];

/// A finger: its knuckle (m), its length beside that of the middle finger, how far each of its bones points down and
/// the finger points to the side of the thumb (degrees), and its radius (m).
struct Finger {
    knuckle: [f64; 3],
    length: f64,
    down_deg: [f64; 3],
    aside_deg: f64,
    radius: f64,
}

const FINGERS: [Finger; 4] = [
    Finger {
        knuckle: [0.102, 0.0210, 0.0135],
        length: 0.84,
        down_deg: [4.0, 20.0, 36.0],
        aside_deg: -3.0,
        radius: 0.0072,
    },
    Finger {
        knuckle: [0.104, 0.0074, 0.0210],
        length: 1.00,
        down_deg: [11.0, 34.0, 54.0],
        aside_deg: 0.0,
        radius: 0.0075,
    },
    Finger {
        knuckle: [0.101, -0.0066, 0.0200],
        length: 0.94,
        down_deg: [15.0, 42.0, 60.0],
        aside_deg: -1.0,
        radius: 0.0071,
    },
    Finger {
        knuckle: [0.094, -0.0195, 0.0125],
        length: 0.78,
        down_deg: [16.0, 40.0, 58.0],
        aside_deg: -4.0,
        radius: 0.0063,
    },
];
/// Joints of the thumb (m) and the radii (m) of the parts between them.
const THUMB: [[f64; 3]; 4] =
    [[0.040, 0.013, -0.004], [0.070, 0.0240, -0.010], [0.094, 0.0258, -0.013], [0.112, 0.0240, -0.017]];
const THUMB_RADII_M: [f64; 3] = [0.0115, 0.0082, 0.0072];

/// Where a hand is: its origin is the end of the forearm, its axes point forward, to the thumb, and from the palm to
/// the back of the hand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HandFrame {
    origin: [f64; 3],
    /// Rows of a matrix, whose columns are the axes.
    turn: [f64; 9],
    scale: f64,
}

impl HandFrame {
    /// Returns the frame of a hand whose back faces upwards, before a forearm with `radius` (m). `None` for one that
    /// points straight up or down.
    pub(crate) fn new(origin: [f64; 3], forward: [f64; 3], is_left: bool, radius: f64) -> Option<Self> {
        let [x, y, z] = forward;
        let level = x.hypot(y);
        if level < 1e-3 {
            return None;
        }
        // For a right hand, the thumb is to the left.
        let side = if is_left { -1.0 } else { 1.0 };
        let thumb = [-y / level * side, x / level * side, 0.0];
        let back = [-x * z / level, -y * z / level, level];
        let turn = [x, thumb[0], back[0], y, thumb[1], back[1], z, thumb[2], back[2]];
        Some(Self { origin, turn, scale: radius / TOUCHED_M })
    }

    /// Returns a part of the hand at its place in the world.
    pub(crate) fn place(&self, part: DrawnShape) -> DrawnShape {
        let at = |point: [f64; 3]| {
            let from_origin = turned(&self.turn, point.map(|x| x * self.scale));
            [0, 1, 2].map(|i| self.origin[i] + from_origin[i])
        };
        match part {
            DrawnShape::Capsule(from, to, radius) => DrawnShape::Capsule(at(from), at(to), radius * self.scale),
            // Ellipsoids of a hand are along its axes.
            DrawnShape::Ellipsoid(middle, half, _) => {
                DrawnShape::Ellipsoid(at(middle), half.map(|x| x * self.scale), self.turn)
            }
            mesh @ DrawnShape::Mesh(..) => mesh,
        }
    }
}

/// Returns the parts of a hand: a palm that tapers to the wrist, four bent fingers, and a thumb.
pub(crate) fn hand() -> Vec<DrawnShape> {
    let heel = |side: f64| DrawnShape::Capsule([-0.010, 0.6 * side, 0.0], [0.042, side, 0.0005], 0.0182);
    let palm = DrawnShape::Ellipsoid([0.066, 0.001, 0.003], [0.046, 0.026, 0.0175], ALONG);
    let mut parts = vec![palm, heel(0.0115), heel(-0.0105)];
    for Finger { knuckle, length, down_deg, aside_deg, radius } in FINGERS {
        let wrist = [0.018, 0.6 * knuckle[1], 0.3 * knuckle[2]];
        parts.push(DrawnShape::Capsule(wrist, knuckle, 1.2 * radius));
        let (aside_sin, aside_cos) = aside_deg.to_radians().sin_cos();
        let mut joint = knuckle;
        for (bone_m, down_deg) in BONES_M.into_iter().zip(down_deg) {
            let (sin, cos) = down_deg.to_radians().sin_cos();
            let along = [cos * aside_cos, cos * aside_sin, -sin];
            let next = [0, 1, 2].map(|i| joint[i] + bone_m * length * along[i]);
            parts.push(DrawnShape::Capsule(joint, next, radius));
            joint = next;
        }
    }
    let thumb = THUMB.windows(2).zip(THUMB_RADII_M);
    parts.extend(thumb.map(|(joints, radius)| DrawnShape::Capsule(joints[0], joints[1], radius)));
    parts
}

/// Returns the parts of the forearm behind a hand: it tapers to the wrist. `half_m` is half its length.
pub(crate) fn forearm(half_m: f64) -> [DrawnShape; 4] {
    let wrist = |side: f64| DrawnShape::Capsule([-2.0 * half_m, 0.3 * side, 0.0], [-0.004, side, 0.0], 0.0195);
    [
        wrist(0.0055),
        wrist(-0.0055),
        DrawnShape::Ellipsoid([-1.35 * half_m, 0.0, 0.0], [0.75 * half_m, 0.0365, 0.0365], ALONG),
        DrawnShape::Ellipsoid([-half_m, 0.0, 0.0], [half_m, 0.0310, 0.0300], ALONG),
    ]
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::{DrawnShape, HandFrame, TOUCHED_M, forearm, hand};

    /// The capsules that are touched in `shared_workspace`: from, to (m along the arm, from its end), and radius.
    const HAND: (f64, f64, f64) = (0.0525, 0.1425, 0.034);
    /// Index of the first part of a finger.
    const HEELS: usize = 3;
    /// Maximum distance of what is drawn outside of what is touched, in m.
    const OUTSIDE_M: f64 = 0.004;

    fn outside(point: [f64; 3], radius: f64, (from, to, touched): (f64, f64, f64)) -> f64 {
        let beyond = (from - point[0]).max(point[0] - to).max(0.0);
        (beyond.powi(2) + point[1].powi(2) + point[2].powi(2)).sqrt() + radius - touched
    }

    #[test]
    fn what_is_drawn_lies_in_what_is_touched() {
        let half_m = 0.1125;
        let touched =
            |point, radius| outside(point, radius, HAND).min(outside(point, radius, (-2.0 * half_m, 0.0, TOUCHED_M)));
        for part in hand().into_iter().chain(forearm(half_m)) {
            match part {
                DrawnShape::Capsule(from, to, radius) => {
                    let worst = touched(from, radius).max(touched(to, radius));
                    assert!(worst < OUTSIDE_M, "{part:?}: {worst:.4}");
                }
                DrawnShape::Ellipsoid(middle, half, _) => {
                    for side in [-1.0, 1.0] {
                        let end = touched([middle[0] + side * half[0], middle[1], middle[2]], 0.0);
                        assert!(end.max(touched(middle, half[1].max(half[2]))) < OUTSIDE_M, "{part:?}");
                    }
                }
                DrawnShape::Mesh(..) => panic!("a hand has no mesh"),
            }
        }
    }

    #[test]
    fn fingers_are_apart() {
        let tips: Vec<[f64; 3]> = hand()
            .into_iter()
            .skip(HEELS)
            .filter_map(|part| if let DrawnShape::Capsule(_, to, _) = part { Some(to) } else { None })
            .collect();
        assert_eq!(tips.len(), 4 * 4 + 3);
        let fingers = [3, 7, 11, 15, 18].map(|last| tips[last]);
        for (index, a) in fingers.iter().enumerate() {
            for b in &fingers[index + 1..] {
                let apart = (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt();
                assert!(apart > 0.012, "{a:?}, {b:?}");
            }
        }
    }

    #[test]
    fn thumbs_of_both_hands_point_to_the_middle_of_a_person() {
        for (is_left, side) in [(false, -1.0), (true, 1.0)] {
            // The person looks along -x, and has the right hand at +y.
            let frame = HandFrame::new([0.0; 3], [-1.0, 0.0, 0.0], is_left, TOUCHED_M).unwrap();
            let DrawnShape::Capsule(_, tip, _) = frame.place(*hand().last().unwrap()) else {
                panic!("a thumb of capsules")
            };
            assert!(tip[1] * side > 0.01 && tip[0] < -0.1, "{tip:?}");
            let DrawnShape::Capsule(_, knuckle, _) = frame.place(hand()[HEELS]) else { panic!("fingers of capsules") };
            assert!(knuckle[2] > 0.01, "the back of the hand faces upwards: {knuckle:?}");
        }
        assert!(HandFrame::new([0.0; 3], [0.0, 0.0, 1.0], false, TOUCHED_M).is_none());
    }
}
