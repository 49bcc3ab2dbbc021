//! The recording of an episode's observations and actions, exactly as they were exchanged with the policy. A lane
//! writes it on request ([`crate::lane::files::OBSERVATIONS`]); `assay-dataset` reads it.
//!
//! The file is one Zstandard stream of:
//!
//! `magic | u32 length | RecordingHeader as JSON | steps`
//!
//! A step is `time f64 | time_remaining f64`, for each array `0u8` (its bytes are those of the step before) or `1u8`
//! and its bytes, then the action as it was answered, before clipping. All numbers are little-endian.

use serde::{Deserialize, Serialize};

use crate::Sha256Digest;
use crate::frame::ArraySpec;

/// First bytes of the stream.
pub const RECORDING_MAGIC: [u8; 8] = *b"ASYOBS1\n";
/// Maximum length of the header, in bytes.
pub const MAX_RECORDING_HEADER_BYTES: u32 = 1 << 20;
/// Maximum number of arrays of an observation.
const MAX_ARRAYS: usize = 512;
/// Maximum size of an observation's arrays, in bytes.
const MAX_OBSERVATION_BYTES: usize = 64 << 20;
/// Maximum number of values of an action.
const MAX_ACTION_DIM: usize = 512;
/// Size of time and remaining time, in bytes.
const TIMES_BYTES: usize = 16;

/// Description of a recorded episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordingHeader {
    /// Id of the scenario.
    pub scenario: String,
    /// SHA-256 over the files of the scenario and its robots.
    pub scenario_digest: Sha256Digest,
    /// Index of the episode in its job.
    pub episode: u32,
    /// Task in words, as passed to the policy.
    pub instruction: Option<String>,
    /// Observations and actions per simulated second.
    pub control_hz: f64,
    /// Arrays of an observation, in order.
    pub observation: Vec<ArraySpec>,
    /// Names of the action's values, in order.
    pub action: Vec<String>,
}

/// A recording that does not follow the format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// The file is not a recording.
    #[error("not a recording of observations")]
    Magic,
    /// The header is too long.
    #[error("the header has {0} bytes, but at most {MAX_RECORDING_HEADER_BYTES} are allowed")]
    HeaderLength(u32),
    /// The header is not valid.
    #[error("the header is not valid: {0}")]
    Header(String),
    /// The file ends before its header, or is not compressed as recordings are.
    #[error("the file is cut off or damaged")]
    Truncated,
    /// The step is cut off or damaged, repeats an array that was never sent, or has a mark that is neither 0 nor 1.
    #[error("step {0} is damaged")]
    Step(u32),
}

impl RecordingHeader {
    /// Encodes the beginning of a recording.
    ///
    /// # Errors
    /// The header cannot be encoded as JSON.
    pub fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        let json = serde_json::to_vec(self)?;
        let length = u32::try_from(json.len()).unwrap_or(u32::MAX);
        Ok([&RECORDING_MAGIC[..], &length.to_le_bytes(), &json].concat())
    }

    /// Returns the length of the header that follows these bytes, the first 12 of the stream.
    ///
    /// # Errors
    /// [`RecordingError`] if they do not begin a recording.
    pub fn length(beginning: [u8; 12]) -> Result<u32, RecordingError> {
        if beginning[..8] != RECORDING_MAGIC {
            return Err(RecordingError::Magic);
        }
        let length = u32::from_le_bytes([beginning[8], beginning[9], beginning[10], beginning[11]]);
        if length > MAX_RECORDING_HEADER_BYTES { Err(RecordingError::HeaderLength(length)) } else { Ok(length) }
    }

    /// Decodes a header, within the limits that every recording has.
    ///
    /// # Errors
    /// [`RecordingError`] if it is not valid.
    pub fn decode(json: &[u8]) -> Result<Self, RecordingError> {
        let header: Self = serde_json::from_slice(json).map_err(|e| RecordingError::Header(e.to_string()))?;
        let fail = |problem: &str| Err(RecordingError::Header(problem.to_owned()));
        if header.observation.len() > MAX_ARRAYS || header.action.len() > MAX_ACTION_DIM {
            return fail("too many arrays");
        }
        let sizes = header.observation.iter().map(ArraySpec::size_bytes);
        if sizes.fold(0, usize::saturating_add) > MAX_OBSERVATION_BYTES {
            return fail("the observation is too large");
        }
        if header.action.is_empty() || header.observation.iter().any(|array| array.size_bytes() == 0) {
            return fail("an array or the action is empty");
        }
        if !(header.control_hz.is_finite() && header.control_hz > 0.0) {
            return fail("the control rate is not positive");
        }
        Ok(header)
    }
}

/// Encodes the steps of a recording.
#[derive(Debug)]
pub struct StepEncoder {
    /// Sizes of the arrays, in bytes.
    sizes: Vec<usize>,
    /// Arrays of the last step; `None` before the first.
    last: Option<Vec<u8>>,
}

impl StepEncoder {
    /// Creates an encoder for observations of these arrays.
    #[must_use]
    pub fn new(observation: &[ArraySpec]) -> Self {
        Self { sizes: observation.iter().map(ArraySpec::size_bytes).collect(), last: None }
    }

    /// Appends a step to `out`: the observation as it was sent (time, time remaining, arrays) and the answered action.
    pub fn encode(&mut self, observation: &[u8], action: &[f64], out: &mut Vec<u8>) {
        let (times, arrays) = observation.split_at(TIMES_BYTES.min(observation.len()));
        out.extend_from_slice(times);
        let mut start = 0;
        for size in &self.sizes {
            let range = start..(start + size).min(arrays.len());
            start = range.end;
            let array = arrays.get(range.clone()).unwrap_or_default();
            let same = self.last.as_ref().and_then(|last| last.get(range)).is_some_and(|last| last == array);
            out.push(u8::from(!same));
            if !same {
                out.extend_from_slice(array);
            }
        }
        let last = self.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(arrays);
        action.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::frame::Dtype;

    fn header(observation: Vec<ArraySpec>) -> RecordingHeader {
        RecordingHeader {
            scenario: "x".to_owned(),
            scenario_digest: Sha256Digest::new([1; 32]),
            episode: 3,
            instruction: None,
            control_hz: 50.0,
            observation,
            action: vec!["force".to_owned()],
        }
    }

    #[test]
    fn a_header_survives_and_its_limits_hold() {
        let array = |shape: &[u32]| ArraySpec { name: "a".to_owned(), dtype: Dtype::F32, shape: shape.to_vec() };
        let good = header(vec![array(&[2, 3])]);
        let bytes = good.encode().unwrap();
        let length = RecordingHeader::length(bytes[..12].try_into().unwrap()).unwrap();
        assert_eq!(length as usize, bytes.len() - 12);
        assert_eq!(RecordingHeader::decode(&bytes[12..]), Ok(good.clone()));
        for bad in [
            header(vec![array(&[u32::MAX; 3])]),
            header(vec![array(&[4096, 4096]); 2]),
            header(vec![array(&[]); 513]),
            RecordingHeader { control_hz: 0.0, ..good.clone() },
            RecordingHeader { action: vec![String::new(); 513], ..good },
        ] {
            let bytes = bad.encode().unwrap();
            assert!(matches!(RecordingHeader::decode(&bytes[12..]), Err(RecordingError::Header(_))));
        }
        assert_eq!(RecordingHeader::length(*b"ASYOBS2\n\0\0\0\0"), Err(RecordingError::Magic));
        assert_eq!(RecordingHeader::length(*b"ASYOBS1\n\xff\xff\xff\xff"), Err(RecordingError::HeaderLength(u32::MAX)));
    }

    #[test]
    fn an_array_that_stays_the_same_is_written_once() {
        let array = |shape: &[u32]| ArraySpec { name: "a".to_owned(), dtype: Dtype::U8, shape: shape.to_vec() };
        let mut encoder = StepEncoder::new(&[array(&[2]), array(&[1]), array(&[0])]);
        let step = |arrays: [u8; 3]| [&[7; 16][..], &arrays].concat();
        let mut out = Vec::new();
        encoder.encode(&step([1, 2, 3]), &[0.5], &mut out);
        assert_eq!(out, [&[7; 16][..], &[1, 1, 2, 1, 3, 1], &0.5_f64.to_le_bytes()].concat());
        out.clear();
        encoder.encode(&step([1, 2, 4]), &[0.5], &mut out);
        assert_eq!(out, [&[7; 16][..], &[0, 1, 4, 0], &0.5_f64.to_le_bytes()].concat());
    }
}
