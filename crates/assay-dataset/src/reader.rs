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
    /// Whether it differs from the step before; true in the first step.
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
    /// The file cannot be read, or is no recording.
    pub fn open(file: R, episode: u32) -> Result<Self, DatasetError> {
        let fail = |source| DatasetError::Recording { episode, source };
        let mut stream = Decoder::new(file)?;
        stream.window_log_max(MAX_WINDOW_LOG)?;
        let mut beginning = [0; 12];
        stream.read_exact(&mut beginning)?;
        let mut json = vec![0; RecordingHeader::length(beginning).map_err(fail)? as usize];
        stream.read_exact(&mut json)?;
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
        let damaged = DatasetError::Recording {
            episode: self.header.episode,
            source: RecordingError::Step(self.steps),
        };
        let mut times = [0; 16];
        // The end of the stream is the end of the recording only where a step would begin.
        if self.stream.read(&mut times[..1])? == 0 {
            return Ok(None);
        }
        if self.steps == MAX_STEPS {
            return Err(damaged);
        }
        self.stream.read_exact(&mut times[1..])?;
        for array in &mut self.arrays {
            let mut mark = [0];
            self.stream.read_exact(&mut mark)?;
            array.is_new = match mark {
                [1] => true,
                [0] if self.steps > 0 => false,
                _ => return Err(damaged),
            };
            if array.is_new {
                let size = array.spec.size_bytes();
                array.bytes.clear();
                let read = (&mut self.stream).take(size as u64).read_to_end(&mut array.bytes)?;
                if read < size {
                    return Err(damaged);
                }
            }
        }
        for value in &mut self.action {
            let mut bytes = [0; 8];
            self.stream.read_exact(&mut bytes)?;
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
