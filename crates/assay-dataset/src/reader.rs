//! Reads a recording, step by step.

use std::io::{BufReader, Read};

use assay_model::frame::ArraySpec;
use assay_model::{RecordingError, RecordingHeader};
use zstd::Decoder;

use crate::DatasetError;

/// Maximum number of steps of a recording. An episode has at most 300,000 physics steps.
const MAX_STEPS: u32 = 300_000;
/// Largest window of the decompressor, as a power of two of bytes.
const MAX_WINDOW_LOG: u32 = 24;

/// An array of the current step.
#[derive(Debug, Clone)]
pub struct RecordedArray {
    /// Name, type and shape.
    pub spec: ArraySpec,
    /// Its bytes, little-endian, in C order.
    pub bytes: Vec<u8>,
    /// True in the first step, and in each step whose value differs from that of the step before.
    pub is_new: bool,
}

/// A step: what the policy received, and its answer.
#[derive(Debug)]
pub struct RecordedStep<'a> {
    /// Simulated time in s.
    pub time_s: f64,
    /// Simulated time until the time limit in s.
    pub time_remaining_s: f64,
    /// Arrays of the observation, in order.
    pub arrays: &'a [RecordedArray],
    /// The action as answered, before clipping.
    pub action: &'a [f64],
}

/// Reads a recording from `R`.
pub struct RecordingReader<R: Read> {
    header: RecordingHeader,
    stream: Decoder<'static, BufReader<R>>,
    arrays: Vec<RecordedArray>,
    action: Vec<f64>,
    steps: u32,
}

impl<R: Read> std::fmt::Debug for RecordingReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordingReader").field("steps", &self.steps).finish_non_exhaustive()
    }
}

impl RecordedArray {
    /// Returns the numbers of an array of doubles.
    pub fn doubles(&self) -> impl Iterator<Item = f64> {
        self.bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes))
    }
}

impl<R: Read> RecordingReader<R> {
    /// Reads the header of the recording of `episode`.
    ///
    /// # Errors
    /// The file cannot be read, or is not a recording.
    pub fn open(file: R, episode: u32) -> Result<Self, DatasetError> {
        let fail = |source| DatasetError::Recording { episode, source };
        let damaged = |error| damaged(error, episode, RecordingError::Truncated);
        let mut stream = Decoder::new(file)?;
        stream.window_log_max(MAX_WINDOW_LOG)?;
        let mut beginning = [0; 12];
        stream.read_exact(&mut beginning).map_err(damaged)?;
        let mut json = vec![0; RecordingHeader::length(beginning).map_err(fail)? as usize];
        stream.read_exact(&mut json).map_err(damaged)?;
        let header = RecordingHeader::decode(&json).map_err(fail)?;
        // An array gets its memory when its bytes arrive.
        let array = |spec: &ArraySpec| RecordedArray { spec: spec.clone(), bytes: Vec::new(), is_new: false };
        let arrays = header.observation.iter().map(array).collect();
        Ok(Self { action: vec![0.0; header.action.len()], header, stream, arrays, steps: 0 })
    }

    /// Returns the description of the episode.
    pub fn header(&self) -> &RecordingHeader {
        &self.header
    }

    /// Reads the next step; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub fn step(&mut self) -> Result<Option<RecordedStep<'_>>, DatasetError> {
        let (episode, step) = (self.header.episode, self.steps);
        let damaged = |error| damaged(error, episode, RecordingError::Step(step));
        let invalid = || DatasetError::Recording { episode, source: RecordingError::Step(step) };
        let mut times = [0; 16];
        // The end of the stream is the end of the recording only where a step would begin.
        if self.stream.read(&mut times[..1]).map_err(damaged)? == 0 {
            return Ok(None);
        }
        if self.steps == MAX_STEPS {
            return Err(invalid());
        }
        self.stream.read_exact(&mut times[1..]).map_err(damaged)?;
        for array in &mut self.arrays {
            let mut mark = [0];
            self.stream.read_exact(&mut mark).map_err(damaged)?;
            array.is_new = match mark {
                [1] => true,
                [0] if self.steps > 0 => false,
                _ => return Err(invalid()),
            };
            if array.is_new {
                let size = array.spec.size_bytes();
                array.bytes.clear();
                let read = (&mut self.stream).take(size as u64).read_to_end(&mut array.bytes).map_err(damaged)?;
                if read < size {
                    return Err(invalid());
                }
            }
        }
        for value in &mut self.action {
            let mut bytes = [0; 8];
            self.stream.read_exact(&mut bytes).map_err(damaged)?;
            *value = f64::from_le_bytes(bytes);
        }
        self.steps += 1;
        let [time_s, time_remaining_s] = [0, 8].map(|at| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&times[at..at + 8]);
            f64::from_le_bytes(bytes)
        });
        Ok(Some(RecordedStep { time_s, time_remaining_s, arrays: &self.arrays, action: &self.action }))
    }
}

/// Distinguishes a damaged recording from a system error while it was read.
fn damaged(error: std::io::Error, episode: u32, source: RecordingError) -> DatasetError {
    match error.raw_os_error() {
        Some(_) => DatasetError::Io(error),
        None => DatasetError::Recording { episode, source },
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use assay_model::frame::Dtype;
    use assay_model::{Sha256Digest, StepEncoder};

    use super::*;

    fn array(name: &str, dtype: Dtype, shape: &[u32]) -> ArraySpec {
        ArraySpec { name: name.to_owned(), dtype, shape: shape.to_vec() }
    }

    /// Returns a recording of three steps, uncompressed.
    fn recording() -> Vec<u8> {
        let observation = vec![array("q", Dtype::F64, &[1]), array("images/a", Dtype::U8, &[1, 1, 3])];
        let header = RecordingHeader {
            scenario: "x".to_owned(),
            scenario_digest: Sha256Digest::new([1; 32]),
            episode: 3,
            instruction: None,
            control_hz: 50.0,
            action: vec!["force".to_owned()],
            observation: observation.clone(),
        };
        let mut bytes = header.encode().unwrap();
        let mut steps = StepEncoder::new(&observation);
        for step in 0..3_u8 {
            let time = f64::from(step) * 0.02;
            let mut sent: Vec<u8> = [time, 1.0 - time, -0.0].iter().flat_map(|x: &f64| x.to_le_bytes()).collect();
            sent.extend([step / 2, 7, 255]);
            steps.encode(&sent, &[f64::from(step) + 0.5], &mut bytes);
        }
        bytes
    }

    /// Reads a whole recording: times, whether the image is new, its first byte, and the action.
    fn read(bytes: &[u8]) -> Result<Vec<(f64, bool, u8, f64)>, DatasetError> {
        let compressed = zstd::encode_all(bytes, 1).unwrap();
        let mut reader = RecordingReader::open(compressed.as_slice(), 3)?;
        let mut found = Vec::new();
        while let Some(step) = reader.step()? {
            assert_eq!(step.arrays[0].doubles().map(f64::to_bits).collect::<Vec<_>>(), [(-0.0_f64).to_bits()]);
            found.push((step.time_s, step.arrays[1].is_new, step.arrays[1].bytes[0], step.action[0]));
        }
        Ok(found)
    }

    #[test]
    fn a_recording_is_read_as_it_was_written() {
        let expected = [(0.0, true, 0, 0.5), (0.02, false, 0, 1.5), (0.04, true, 1, 2.5)];
        assert_eq!(read(&recording()).unwrap(), expected);
    }

    #[test]
    fn a_recording_that_ends_early_is_an_error_except_between_steps() {
        let bytes = recording();
        let whole = (0..bytes.len()).filter(|length| match read(&bytes[..*length]) {
            Ok(_) => true,
            Err(error) => {
                assert!(matches!(error, DatasetError::Recording { episode: 3, .. }), "{length} bytes: {error:?}");
                false
            }
        });
        let whole = whole.count();
        // After the header, and after the first and the second step.
        assert_eq!(whole, 3);
        let uncompressed = RecordingReader::open(&bytes[..], 3);
        assert!(matches!(uncompressed, Err(DatasetError::Recording { .. })), "it is not compressed");
    }

    #[test]
    fn marks_and_headers_are_checked() {
        let bytes = recording();
        let header = usize::try_from(u32::from_le_bytes(bytes[8..12].try_into().unwrap())).unwrap() + 12;
        for (at, value) in [(0, b'X'), (11, 0xff), (header + 16, 0), (header + 16, 2)] {
            let mut bad = bytes.clone();
            bad[at] = value;
            assert!(matches!(read(&bad), Err(DatasetError::Recording { episode: 3, .. })), "byte {at} = {value}");
        }
    }
}
