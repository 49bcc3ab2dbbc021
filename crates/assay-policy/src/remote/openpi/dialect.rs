//! Plain openpi, or the RoboArena dialect of it (robo-arena/roboarena `policy_server.py`, also spoken by vLLM-Omni).

use assay_model::sanitise;
use rmpv::Value;

use super::codec::{array, get};
use crate::remote::fault::ServerFault;
use crate::remote::observation::{Episode, RemoteObservation};

/// Maximum length of the name of an action space; the rest is dropped.
const MAX_NAME_BYTES: usize = 64;

/// The dialect of a server.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Dialect {
    OpenPi,
    RoboArena(Needs),
}

/// The declared requirements of a RoboArena server.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Needs {
    wrist_camera: bool,
    stereo_camera: bool,
    external_cameras: u64,
    /// Height and width.
    resolution: Option<[u64; 2]>,
    action_space: String,
}

impl Dialect {
    /// Determines the dialect from the server's first message.
    pub(super) fn of(metadata: &Value) -> Self {
        let flag = |name: &str| get(metadata, name).and_then(Value::as_bool).unwrap_or(false);
        let number = |value: &Value| value.as_u64();
        match (
            get(metadata, "action_space").and_then(Value::as_str),
            get(metadata, "n_external_cameras").and_then(number),
        ) {
            (Some(action_space), Some(external_cameras)) => Self::RoboArena(Needs {
                wrist_camera: flag("needs_wrist_camera"),
                stereo_camera: flag("needs_stereo_camera"),
                external_cameras,
                resolution: get(metadata, "image_resolution")
                    .and_then(Value::as_array)
                    .and_then(|pair| pair.iter().map(number).collect::<Option<Vec<_>>>())
                    .and_then(|pair| pair.try_into().ok()),
                action_space: sanitise(action_space, MAX_NAME_BYTES),
            }),
            _ => Self::OpenPi,
        }
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Self::OpenPi => "openpi over WebSocket".to_owned(),
            Self::RoboArena(needs) => {
                format!("openpi over WebSocket, RoboArena dialect (action space {})", needs.action_space)
            }
        }
    }

    /// Checks that the scenario has what the server needs.
    pub(super) fn check(&self, episode: &Episode) -> Result<(), ServerFault> {
        let Self::RoboArena(needs) = self else { return Ok(()) };
        let mut wanted = Vec::new();
        let sides: &[&str] = if needs.stereo_camera { &["left", "right"] } else { &["left"] };
        for side in sides {
            wanted.extend(needs.wrist_camera.then(|| format!("wrist_image_{side}")));
            wanted.extend((0..needs.external_cameras.min(2)).map(|i| format!("exterior_image_{i}_{side}")));
        }
        let offered = |name: &String| episode.images().any(|image| &image.name == name);
        if let Some(missing) = wanted.iter().find(|name| !offered(name)) {
            return Err(ServerFault::mismatch(format!(
                "the policy server needs the image {missing}, which this scenario does not observe"
            )));
        }
        let Some([height, width]) = needs.resolution else { return Ok(()) };
        let fits = |shape: &[u32]| shape[..2].iter().map(|n| u64::from(*n)).eq([height, width]);
        match episode.images().find(|image| wanted.contains(&image.name) && !fits(&image.shape)) {
            Some(image) => Err(ServerFault::mismatch(format!(
                "the policy server needs images of {height} x {width} pixels; {} has {} x {}",
                image.name, image.shape[0], image.shape[1]
            ))),
            None => Ok(()),
        }
    }

    /// Returns the message that begins an episode, if the dialect has one.
    pub(super) fn reset(&self, episode: &Episode) -> Option<Value> {
        let reset = || {
            let session = ("session_id".into(), episode.id.as_str().into());
            Value::Map(vec![("endpoint".into(), "reset".into()), session])
        };
        matches!(self, Self::RoboArena(_)).then(reset)
    }

    /// Returns the request for actions.
    pub(super) fn request(&self, observation: RemoteObservation<'_>) -> Value {
        let key = |name: &str| Value::from(format!("observation/{name}"));
        let mut map: Vec<(Value, Value)> = observation
            .arrays()
            .map(|view| (key(&view.spec.name), array(view.dtype(), &view.spec.shape, view.data)))
            .collect();
        map.push((key("time"), observation.time.into()));
        map.push((key("time_remaining"), observation.time_remaining.into()));
        map.push(("prompt".into(), observation.episode.instruction.as_str().into()));
        if let Self::RoboArena(_) = self {
            map.push(("endpoint".into(), "infer".into()));
            map.push(("session_id".into(), observation.episode.id.as_str().into()));
        }
        Value::Map(map)
    }
}

/// Returns true if the answer to a reset reports success: text from RoboArena's own server, a map from vLLM-Omni.
pub(super) fn is_reset_done(text: &str) -> bool {
    text.trim().eq_ignore_ascii_case("reset successful")
}
