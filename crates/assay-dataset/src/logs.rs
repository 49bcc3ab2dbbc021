//! `episodes/NNN.mcap`: a log per episode, with a topic per array of the observation and one for the actions, at
//! simulated times. Numbers are JSON, whose digits preserve every bit; images are PNG, depth is float32.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use assay_model::RecordingHeader;
use assay_model::frame::{ArraySpec, Dtype};
use foxglove::Encode;
use foxglove::messages::{CompressedImage, RawImage, Timestamp};
use mcap::records::{MessageHeader, Metadata};
use mcap::{Compression, WriteOptions, Writer};
use serde_json::json;

use crate::DatasetError;
use crate::episode_writer::EpisodeWriter;
use crate::image::{ImageEncoder, is_image};
use crate::job::DatasetEpisode;
use crate::reader::{RecordedArray, RecordedStep};

/// Folder of the logs.
const FOLDER: &str = "episodes";
/// Name of the schema of numbers.
const NUMBERS: &str = "assay.Numbers";
/// Schema of numbers: values in C order, and the array's shape.
const NUMBERS_SCHEMA: &str = r#"{"type":"object","properties":{
"shape":{"type":"array","items":{"type":"integer"}},"values":{"type":"array","items":{"type":"number"}}}}"#;

/// Writes the logs.
pub(crate) struct LogWriter {
    folder: PathBuf,
    log: Option<Log>,
}

/// The log of the current episode.
struct Log {
    writer: Writer<BufWriter<File>>,
    topics: Vec<ArrayTopic>,
    remaining: u16,
    action: u16,
    step: u32,
    buffer: Vec<u8>,
}

/// The topic of an array.
struct ArrayTopic {
    channel: u16,
    kind: TopicKind,
}

enum TopicKind {
    Numbers,
    Image(ImageEncoder),
    Depth,
}

impl LogWriter {
    pub(crate) fn create(folder: &Path) -> Result<Self, DatasetError> {
        let folder = folder.join(FOLDER);
        fs::create_dir_all(&folder)?;
        Ok(Self { folder, log: None })
    }
}

impl Log {
    fn create(path: &Path, episode: &DatasetEpisode, header: &RecordingHeader) -> Result<Self, DatasetError> {
        let options = WriteOptions::new()
            .compression(Some(Compression::Zstd))
            .compression_threads(0)
            .profile("")
            .library(concat!("assay ", env!("CARGO_PKG_VERSION")));
        let mut writer = options.create(BufWriter::new(File::create(path)?))?;
        let numbers = writer.add_schema(NUMBERS, "jsonschema", NUMBERS_SCHEMA.as_bytes())?;
        let none = BTreeMap::new();
        let mut topics = Vec::new();
        for spec in &header.observation {
            let name = format!("/observation/{}", spec.name);
            let (channel, kind) = match spec.dtype {
                Dtype::U8 if is_image(spec) => {
                    (channel::<CompressedImage>(&mut writer, &name)?, TopicKind::Image(ImageEncoder::default()))
                }
                Dtype::F32 if spec.shape.len() == 2 => (channel::<RawImage>(&mut writer, &name)?, TopicKind::Depth),
                _ => (writer.add_channel(numbers, &name, "json", &none)?, TopicKind::Numbers),
            };
            topics.push(ArrayTopic { channel, kind });
        }
        let remaining = writer.add_channel(numbers, "/observation/time_remaining", "json", &none)?;
        let names = BTreeMap::from([("names".to_owned(), header.action.join(","))]);
        let action = writer.add_channel(numbers, "/action", "json", &names)?;
        let facts = [
            ("episode", episode.episode.to_string()),
            ("seed", episode.seed.to_string()),
            ("success", episode.success.to_string()),
            ("scenario", header.scenario.clone()),
            ("scenario_digest", header.scenario_digest.to_string()),
            ("instruction", header.instruction.clone().unwrap_or_default()),
            ("control_hz", header.control_hz.to_string()),
        ];
        let metadata = facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        writer.write_metadata(&Metadata { name: "assay".to_owned(), metadata })?;
        Ok(Self { writer, topics, remaining, action, step: 0, buffer: Vec::new() })
    }

    fn step(&mut self, step: &RecordedStep<'_>) -> Result<(), DatasetError> {
        let time = timestamp(step.time_s);
        for (topic, array) in self.topics.iter_mut().zip(step.arrays) {
            self.buffer.clear();
            match &mut topic.kind {
                TopicKind::Numbers => numbers(&array.spec.shape, &values(array), &mut self.buffer)?,
                // A picture that is repeated is not written again.
                TopicKind::Image(_) | TopicKind::Depth if !array.is_new => continue,
                TopicKind::Image(encoder) => {
                    let data = encoder.png(array)?;
                    let frame_id = array.spec.name.clone();
                    let image = CompressedImage { timestamp: Some(time), frame_id, data, format: "png".to_owned() };
                    encode(&image, &mut self.buffer)?;
                }
                TopicKind::Depth => encode(&depth(array, time), &mut self.buffer)?,
            }
            write(&mut self.writer, topic.channel, (self.step, time), &self.buffer)?;
        }
        for (channel, values) in [(self.remaining, &[step.time_remaining_s][..]), (self.action, step.action)] {
            self.buffer.clear();
            let length = u32::try_from(values.len()).unwrap_or(u32::MAX);
            numbers(&[length], values, &mut self.buffer)?;
            write(&mut self.writer, channel, (self.step, time), &self.buffer)?;
        }
        self.step += 1;
        Ok(())
    }
}

fn channel<T: Encode>(writer: &mut Writer<BufWriter<File>>, name: &str) -> Result<u16, DatasetError> {
    let schema = T::get_schema().map_or(Ok(0), |s| writer.add_schema(&s.name, &s.encoding, &s.data))?;
    Ok(writer.add_channel(schema, name, &T::get_message_encoding(), &BTreeMap::new())?)
}

fn write(
    writer: &mut Writer<BufWriter<File>>,
    channel_id: u16,
    (sequence, time): (u32, Timestamp),
    message: &[u8],
) -> Result<(), DatasetError> {
    let time = time.total_nanos();
    let header = MessageHeader { channel_id, sequence, log_time: time, publish_time: time };
    Ok(writer.write_to_known_channel(&header, message)?)
}

fn numbers(shape: &[u32], values: &[f64], out: &mut Vec<u8>) -> Result<(), DatasetError> {
    Ok(serde_json::to_writer(out, &json!({ "shape": shape, "values": values }))?)
}

fn values(array: &RecordedArray) -> Vec<f64> {
    match array.spec.dtype {
        Dtype::F64 => array.doubles().collect(),
        Dtype::F32 => array.bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes).into()).collect(),
        Dtype::U8 => array.bytes.iter().map(|byte| f64::from(*byte)).collect(),
    }
}

fn depth(array: &RecordedArray, time: Timestamp) -> RawImage {
    let ArraySpec { name, shape, .. } = &array.spec;
    let side = |at: usize| shape.get(at).copied().unwrap_or_default();
    RawImage {
        timestamp: Some(time),
        frame_id: name.clone(),
        width: side(1),
        height: side(0),
        encoding: "32FC1".to_owned(),
        step: side(1).saturating_mul(4),
        data: array.bytes.clone().into(),
    }
}

fn encode<T: Encode>(message: &T, out: &mut Vec<u8>) -> Result<(), DatasetError> {
    message.encode(out).map_err(|e| DatasetError::Encode(e.to_string()))
}

/// Returns simulated seconds as a timestamp. A damaged recording can contain any number.
fn timestamp(time_s: f64) -> Timestamp {
    let microseconds = (time_s.clamp(0.0, f64::from(u32::MAX)) * 1e6).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped; NaN becomes 0")]
    let (seconds, rest) = ((microseconds / 1e6).floor() as u32, (microseconds % 1e6) as u32);
    Timestamp::new(seconds, rest * 1000)
}

impl EpisodeWriter for LogWriter {
    fn begin(&mut self, episode: &DatasetEpisode, header: &RecordingHeader) -> Result<(), DatasetError> {
        let path = self.folder.join(format!("{:03}.mcap", episode.episode));
        self.log = Some(Log::create(&path, episode, header)?);
        Ok(())
    }

    fn step(&mut self, step: &RecordedStep<'_>) -> Result<(), DatasetError> {
        self.log.as_mut().map_or(Ok(()), |log| log.step(step))
    }

    fn end(&mut self) -> Result<(), DatasetError> {
        if let Some(mut log) = self.log.take() {
            log.writer.finish()?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), DatasetError> {
        Ok(())
    }
}
