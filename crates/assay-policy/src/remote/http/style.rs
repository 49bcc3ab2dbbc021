//! The requests and answers of the two styles.

use assay_model::frame::Dtype;
use serde_json::{Map, Value, json};

use super::numpy::{self, NumpyDecodeError, is_array, to_array};
use crate::remote::array::NumberArray;
use crate::remote::endpoint::ServerEndpoint;
use crate::remote::fault::ServerFault;
use crate::remote::observation::{ArrayView, Episode, RemoteObservation, is_image};

/// The style of a server's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// assay's own contract: named arrays.
    Named,
    /// OpenVLA and AutoEval: one image and an instruction.
    Image,
}

impl Style {
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Named => "HTTP POST /act, named arrays",
            Self::Image => "HTTP POST /act, one image and an instruction (OpenVLA and AutoEval style)",
        }
    }

    /// Checks that the scenario has what the server needs.
    pub(super) fn check(self, episode: &Episode) -> Result<(), ServerFault> {
        if self == Self::Image && episode.images().next().is_none() {
            return Err(ServerFault::mismatch(
                "the policy server has no GET /health, so it is taken for one that wants an image, and this scenario \
                 observes none; answer GET /health with 200 to get the named arrays",
            ));
        }
        Ok(())
    }

    pub(super) fn reset(self, episode: &Episode) -> Value {
        match self {
            Self::Named => {
                json!({ "episode_id": episode.id, "seed": episode.seed, "instruction": episode.instruction })
            }
            Self::Image => json!({}),
        }
    }

    pub(super) fn act(self, observation: RemoteObservation<'_>, endpoint: &ServerEndpoint) -> Value {
        let episode = observation.episode;
        match self {
            Self::Named => {
                let mut arrays: Map<String, Value> =
                    observation.arrays().map(|view| (view.spec.name.clone(), named(&view))).collect();
                arrays.insert("time".to_owned(), json!(observation.time));
                arrays.insert("time_remaining".to_owned(), json!(observation.time_remaining));
                json!({
                    "observation": arrays, "instruction": episode.instruction, "episode_id": episode.id,
                    "step": observation.step,
                })
            }
            Self::Image => image(observation, endpoint),
        }
    }
}

/// Encodes numbers as lists, which need no library, and images as json_numpy, which is smaller.
fn named(view: &ArrayView<'_>) -> Value {
    if view.spec.dtype == Dtype::F64 && view.spec.shape.len() == 1 {
        return view.numbers().collect();
    }
    numpy::encode(view.dtype(), &view.spec.shape, view.data)
}

/// Encodes the first image; all numbers in one row as `proprio`; `unnorm_key` if the address's query names one.
fn image(observation: RemoteObservation<'_>, endpoint: &ServerEndpoint) -> Value {
    let mut map = Map::new();
    map.insert("instruction".to_owned(), json!(observation.episode.instruction));
    if let Some(image) = observation.arrays().find(|view| is_image(view.spec)) {
        map.insert("image".to_owned(), numpy::encode(image.dtype(), &image.spec.shape, image.data));
    }
    let floats = || observation.arrays().filter(|view| view.spec.dtype == Dtype::F64);
    let bytes: Vec<u8> = floats().flat_map(|view| view.data).copied().collect();
    if let Ok(count @ 1..) = u32::try_from(bytes.len() / 8) {
        map.insert("proprio".to_owned(), numpy::encode("<f8", &[count], &bytes));
    }
    let query = url::form_urlencoded::parse(endpoint.query().unwrap_or_default().as_bytes());
    for (name, value) in query.filter(|(name, _)| name == "unnorm_key") {
        map.insert(name.into_owned(), json!(value));
    }
    Value::Object(map)
}

/// Returns the actions of an answer: `{"actions": ...}`, `{"action": ...}`, or the array itself; also as JSON within a
/// JSON text, as json_numpy servers do when their framework encodes a second time.
pub(super) fn actions(reply: &Value) -> Result<NumberArray, ServerFault> {
    if let Value::String(text) = reply {
        // OpenVLA's server answers 200 "error" if it failed.
        let inner: Value = serde_json::from_str(text).map_err(|_| ServerFault::server(text))?;
        return if inner.is_string() { Err(ServerFault::server(text)) } else { actions(&inner) };
    }
    let found = match reply {
        Value::Object(map) if !is_array(reply) => map.get("actions").or_else(|| map.get("action")),
        other => Some(other),
    };
    let Some(value) = found else {
        if let Some(error) = reply.get("error").or_else(|| reply.get("detail")) {
            return Err(ServerFault::server(error.as_str().map_or_else(|| error.to_string(), str::to_owned).as_str()));
        }
        return Err(ServerFault::bad_action("the answer has neither actions nor action"));
    };
    to_array(value).map_err(|error| match error {
        NumpyDecodeError::Element(element) => ServerFault::bad_action(element.to_string()),
        other => ServerFault::bad_action(format!("actions: {other}")),
    })
}
