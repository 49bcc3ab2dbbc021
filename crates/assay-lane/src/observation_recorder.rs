//! Records observations and actions on request, compressed and within a limit, while the episode runs.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use assay_model::lane::{RunEpisode, files};
use assay_model::{RecordingHeader, StepEncoder};
use assay_scenario::Scenario;
use assay_sim::Simulation;
use zstd::Encoder;

use crate::evidence::{EvidenceError, folder_in};

/// Compression level. Rendered images shrink to a third or less, at several hundred MB per second.
const LEVEL: i32 = 1;

/// A recording being written.
pub(crate) struct ObservationRecorder {
    path: PathBuf,
    /// `None` once the recording is larger than permitted.
    encoder: Option<Encoder<'static, CountingFile>>,
    steps: StepEncoder,
    max_bytes: u64,
    buffer: Vec<u8>,
}

impl std::fmt::Debug for ObservationRecorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ObservationRecorder").field("path", &self.path).finish_non_exhaustive()
    }
}

impl ObservationRecorder {
    /// Begins the recording that `run` requests, in its evidence folder; `None` if it requests none.
    pub(crate) fn start(
        scratch: &Path,
        run: &RunEpisode,
        scenario: &Scenario,
        simulation: &Simulation,
    ) -> Result<Option<Self>, EvidenceError> {
        let (Some(folder), Some(max_bytes)) = (&run.evidence, run.observations) else { return Ok(None) };
        let folder = folder_in(scratch, folder)?;
        fs::create_dir_all(&folder)?;
        let header = RecordingHeader {
            scenario: scenario.id.to_string(),
            scenario_digest: scenario.digest,
            episode: run.episode,
            instruction: scenario.instruction.clone(),
            control_hz: scenario.world.control_hz,
            observation: simulation.observation_spec(),
            action: scenario.control.action.iter().map(|number| number.name.clone()).collect(),
        };
        let path = folder.join(files::OBSERVATIONS);
        let file = CountingFile { file: BufWriter::new(File::create(&path)?), bytes: 0 };
        let mut encoder = Encoder::new(file, LEVEL)?;
        encoder.write_all(&header.encode().map_err(io::Error::from)?)?;
        let steps = StepEncoder::new(&header.observation);
        Ok(Some(Self { path, encoder: Some(encoder), steps, max_bytes, buffer: Vec::new() }))
    }

    /// Adds an observation (time and time remaining first) and the policy's answer to it.
    pub(crate) fn push(&mut self, observation: &[u8], action: &[f64]) -> io::Result<()> {
        let Some(encoder) = &mut self.encoder else { return Ok(()) };
        self.buffer.clear();
        self.steps.encode(observation, action, &mut self.buffer);
        encoder.write_all(&self.buffer)?;
        if encoder.get_ref().bytes > self.max_bytes {
            self.encoder = None;
            fs::remove_file(&self.path)?;
        }
        Ok(())
    }

    /// Completes the recording; returns false if it was larger than permitted, and removed.
    pub(crate) fn finish(self) -> io::Result<bool> {
        let Some(encoder) = self.encoder else { return Ok(false) };
        let mut file = encoder.finish()?;
        file.flush()?;
        if file.bytes > self.max_bytes {
            fs::remove_file(&self.path)?;
            return Ok(false);
        }
        Ok(true)
    }
}

/// A file that counts the bytes written to it.
struct CountingFile {
    file: BufWriter<File>,
    bytes: u64,
}

impl Write for CountingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
