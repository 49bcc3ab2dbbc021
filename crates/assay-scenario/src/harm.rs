//! The harm that a clause guards against, by default from its signals.

use std::collections::BTreeMap;

use assay_model::Harm;
use assay_stl::Formula;

use crate::Signal;

/// Words that name people, or parts that only people have.
const PEOPLE: [&str; 20] = [
    "person",
    "persons",
    "people",
    "pedestrian",
    "pedestrians",
    "human",
    "humans",
    "worker",
    "workers",
    "operator",
    "operators",
    "patient",
    "child",
    "children",
    "visitor",
    "skull",
    "face",
    "chest",
    "abdomen",
    "thigh",
];
/// Words that name parts of people (the body regions of ISO/TS 15066) or of robots: of people if the scenario has any.
const PARTS: [&str; 15] = [
    "head",
    "neck",
    "back",
    "shoulder",
    "shoulders",
    "torso",
    "pelvis",
    "arm",
    "forearm",
    "elbow",
    "wrist",
    "hand",
    "hands",
    "knee",
    "leg",
];

/// The names that decide a signal's harm: groups by name, with their globs, and signals by name.
pub(crate) struct HarmNames<'a> {
    groups: &'a BTreeMap<String, Vec<String>>,
    signals: &'a BTreeMap<String, Signal>,
    has_people: bool,
}

impl<'a> HarmNames<'a> {
    pub(crate) fn new(groups: &'a BTreeMap<String, Vec<String>>, signals: &'a BTreeMap<String, Signal>) -> Self {
        let mut names = Self { groups, signals, has_people: false };
        names.has_people = groups.keys().any(|group| names.is_of_people(group));
        names
    }

    /// Returns the gravest harm of the signals of a formula.
    pub(crate) fn of_formula(&self, formula: &Formula) -> Harm {
        let signals = formula.signals().iter().filter_map(|name| self.signals.get(name));
        signals.map(|signal| self.of_signal(signal)).min().unwrap_or(Harm::Comfort)
    }

    fn of_signal(&self, signal: &Signal) -> Harm {
        // No catch-all here: a kind of signal without a harm must not compile.
        match signal {
            Signal::Distance { a, b, .. } | Signal::ApproachSpeed { a, b, .. } => self.contact(a, Some(b)),
            Signal::ContactForce { a, b } | Signal::Force { a, b, .. } | Signal::Penetration { a, b } => {
                self.contact(a, b.as_ref())
            }
            Signal::Speed { .. }
            | Signal::AngularSpeed { .. }
            | Signal::GreatestSpeed { .. }
            | Signal::RelativeSpeed { .. }
            | Signal::JointValue { .. }
            | Signal::JointSpeed { .. }
            | Signal::JointPositionMargin { .. }
            | Signal::JointVelocityRatio { .. }
            | Signal::JointTorqueRatio { .. } => Harm::Limit,
            // The time below a distance is a matter of what is near.
            Signal::Exposure { signal, .. } => {
                let source = self.signals.get(signal).filter(|source| !source.is_derived());
                source.map_or(Harm::Comfort, |source| self.of_signal(source))
            }
            Signal::PointDistance { .. }
            | Signal::Acceleration { .. }
            | Signal::ApparentTilt { .. }
            | Signal::Agitation { .. }
            | Signal::Action { .. }
            | Signal::Displacement { .. }
            | Signal::Inside { .. }
            | Signal::Position { .. }
            | Signal::Tilt { .. }
            | Signal::Geofence { .. }
            | Signal::Visited { .. }
            | Signal::Crossed { .. }
            | Signal::Reversals { .. }
            | Signal::Rate { .. } => Harm::Comfort,
        }
    }

    fn contact(&self, a: &str, b: Option<&String>) -> Harm {
        if self.is_of_people(a) || b.is_some_and(|b| self.is_of_people(b)) { Harm::Person } else { Harm::Collision }
    }

    /// Returns whether a group, or a body or geom in it, is named after people. The names of a robot's parts begin with
    /// that of the robot and `/`; a group of only those has no people.
    fn is_of_people(&self, group: &str) -> bool {
        let globs = self.groups.get(group).into_iter().flatten();
        let mut own = globs.filter(|glob| !glob.contains('/'));
        own.any(|glob| self.is_person(glob) || self.is_person(group))
    }

    fn is_person(&self, name: &str) -> bool {
        let mut words = name.split(|c: char| !c.is_ascii_alphabetic());
        words.any(|word| PEOPLE.contains(&word) || (self.has_people && PARTS.contains(&word)))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// The default harm of `always (SIGNAL <= 1)`.
    fn harm(groups: &str, signal: &str) -> Harm {
        let groups: BTreeMap<String, Vec<String>> = toml::from_str(groups).unwrap();
        let text = format!("[s]\n{signal}\n[d]\nkind = 'distance'\na = 'tool'\nb = 'them'\ncutoff = 1.0");
        let signals: BTreeMap<String, Signal> = toml::from_str(&text).unwrap();
        let formula = Formula::parse("always (s <= 1)", &[]).unwrap();
        HarmNames::new(&groups, &signals).of_formula(&formula)
    }

    #[test]
    fn the_default_follows_from_signal_and_groups() {
        const FORCE: &str = "kind = 'force'\na = 'tool'\nb = 'them'\nbandwidth_hz = 100.0";
        const DISTANCE: &str = "kind = 'distance'\na = 'them'\nb = 'tool'\ncutoff = 1.0";
        const EXPOSURE: &str = "kind = 'exposure'\nsignal = 'd'\nbelow = 0.1";
        let rows = [
            ("them = ['pedestrian_*']", FORCE, Harm::Person),
            ("them = ['worker']", DISTANCE, Harm::Person),
            ("them = ['worker']", EXPOSURE, Harm::Person),
            ("them = ['hand']\nbody = ['chest', 'neck']", FORCE, Harm::Person),
            // Without people, a hand is a robot's.
            ("them = ['hand']", FORCE, Harm::Collision),
            ("them = ['arm/hand']\nbody = ['chest']", FORCE, Harm::Collision),
            ("them = ['post_*', 'floor']", DISTANCE, Harm::Collision),
            ("them = ['post_*']", "kind = 'contact_force'\na = 'tool'", Harm::Collision),
            ("them = ['worker']", "kind = 'speed'\nof = 'site:tip'", Harm::Limit),
            ("them = ['worker']", "kind = 'joint_torque_ratio'\nrobot = 'arm'", Harm::Limit),
            ("them = ['worker']", "kind = 'rate'\nsignal = 'd'", Harm::Comfort),
            ("them = ['worker']", "kind = 'tilt'\nof = 'body:cup'", Harm::Comfort),
        ];
        for (groups, signal, expected) in rows {
            assert_eq!(harm(&format!("tool = ['arm/*']\n{groups}"), signal), expected, "{groups}: {signal}");
        }
    }
}
