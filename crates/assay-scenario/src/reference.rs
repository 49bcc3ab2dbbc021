//! References to elements of the compiled world, written `kind:name`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// A frame of the world: `site:arm/tcp`, `body:post_0` or `geom:ball`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Frame {
    /// An MJCF site.
    Site(String),
    /// An MJCF body (its frame, not its centre of mass).
    Body(String),
    /// An MJCF geom.
    Geom(String),
}

impl FromStr for Frame {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a frame: use site:NAME, body:NAME or geom:NAME");
        let (kind, name) = text.split_once(':').filter(|(_, name)| !name.is_empty()).ok_or_else(wrong)?;
        match kind {
            "site" => Ok(Self::Site(name.to_owned())),
            "body" => Ok(Self::Body(name.to_owned())),
            "geom" => Ok(Self::Geom(name.to_owned())),
            _ => Err(wrong()),
        }
    }
}

impl TryFrom<String> for Frame {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl JsonSchema for Frame {
    fn schema_name() -> Cow<'static, str> {
        "Frame".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^(site|body|geom):.+$", "description": "site:NAME, body:NAME or geom:NAME" })
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Site(name) => write!(f, "site:{name}"),
            Self::Body(name) => write!(f, "body:{name}"),
            Self::Geom(name) => write!(f, "geom:{name}"),
        }
    }
}

/// A number of the world that a scenario can set for each episode.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Target {
    /// `body:NAME.pos.x|y|z`, m in the parent's frame.
    BodyPosition(String, usize),
    /// `body:NAME.yaw`, rad about the parent's z axis.
    BodyYaw(String),
    /// `body:NAME.mass`, kg; the inertia scales with it.
    BodyMass(String),
    /// `geom:NAME.size.0|1|2`, m, as defined by MJCF for the geom's type.
    GeomSize(String, usize),
    /// `geom:NAME.friction.0|1|2`.
    GeomFriction(String, usize),
    /// `joint:NAME.qpos`, initial position in rad or m.
    JointPosition(String),
    /// `joint:NAME.qvel`, initial velocity in rad/s or m/s.
    JointVelocity(String),
    /// `joint:NAME.damping`.
    JointDamping(String),
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} can't be set: use body:NAME.pos.x|y|z, body:NAME.yaw, body:NAME.mass, geom:NAME.size.0|1|2, \
                 geom:NAME.friction.0|1|2, joint:NAME.qpos, joint:NAME.qvel or joint:NAME.damping"
            )
        };
        let (kind, rest) = text.split_once(':').ok_or_else(wrong)?;
        let (name, field) = rest.split_once('.').filter(|(name, _)| !name.is_empty()).ok_or_else(wrong)?;
        let name = name.to_owned();
        let index = |prefix: &str, keys: [&str; 3]| {
            field.strip_prefix(prefix).and_then(|key| keys.iter().position(|k| *k == key))
        };
        let numbers = ["0", "1", "2"];
        match (kind, field) {
            ("body", "yaw") => Ok(Self::BodyYaw(name)),
            ("body", "mass") => Ok(Self::BodyMass(name)),
            ("joint", "qpos") => Ok(Self::JointPosition(name)),
            ("joint", "qvel") => Ok(Self::JointVelocity(name)),
            ("joint", "damping") => Ok(Self::JointDamping(name)),
            ("body", _) => index("pos.", ["x", "y", "z"]).map(|i| Self::BodyPosition(name, i)).ok_or_else(wrong),
            ("geom", _) if field.starts_with("size.") => {
                index("size.", numbers).map(|i| Self::GeomSize(name, i)).ok_or_else(wrong)
            }
            ("geom", _) => index("friction.", numbers).map(|i| Self::GeomFriction(name, i)).ok_or_else(wrong),
            _ => Err(wrong()),
        }
    }
}

impl TryFrom<String> for Target {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl JsonSchema for Target {
    fn schema_name() -> Cow<'static, str> {
        "Target".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let pattern =
            r"^(body:.+\.(pos\.[xyz]|yaw|mass)|geom:.+\.(size|friction)\.[012]|joint:.+\.(qpos|qvel|damping))$";
        json_schema!({ "type": "string", "pattern": pattern, "description": "The quantity of the world that a drawn number sets" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_and_targets_parse() {
        assert_eq!("site:arm/tcp".parse(), Ok(Frame::Site("arm/tcp".into())));
        assert!("arm/tcp".parse::<Frame>().is_err());
        assert_eq!("body:post.pos.z".parse(), Ok(Target::BodyPosition("post".into(), 2)));
        assert_eq!("geom:post.size.1".parse(), Ok(Target::GeomSize("post".into(), 1)));
        assert_eq!("joint:hinge.qpos".parse(), Ok(Target::JointPosition("hinge".into())));
        for bad in ["body:.pos.x", "body:a.pos.w", "geom:a.size.3", "joint:a", "a.b", ""] {
            assert!(bad.parse::<Target>().is_err(), "{bad}");
        }
    }
}
