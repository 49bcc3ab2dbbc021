//! The MCAP file: topics with a schema each, messages at simulated times.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::marker::PhantomData;
use std::path::Path;

use foxglove::Encode;
use foxglove::messages::Timestamp;
use mcap::records::{MessageHeader, Metadata};
use mcap::{Attachment, Compression, WriteOptions, Writer};

/// The reason why a log cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// A file system error.
    #[error("could not write the log file")]
    Io(#[from] std::io::Error),
    /// An error of the MCAP writer.
    #[error("could not write the MCAP of the log")]
    Mcap(#[from] mcap::McapError),
    /// A message could not be encoded as protobuf.
    #[error("could not encode a message on {topic}: {message}")]
    Encode {
        /// The topic.
        topic: String,
        /// The encoder's message.
        message: String,
    },
}

/// A topic for messages of type `T`.
#[derive(Debug)]
pub(crate) struct Topic<T> {
    channel: u16,
    name: String,
    sequence: u32,
    of: PhantomData<T>,
}

/// A log being written.
pub(crate) struct Topics {
    writer: Writer<BufWriter<File>>,
    buffer: Vec<u8>,
}

impl Topics {
    pub(crate) fn create(path: &Path) -> Result<Self, LogError> {
        let options = WriteOptions::new()
            .compression(Some(Compression::Zstd))
            // More threads would not be faster: the lane has one processor.
            .compression_threads(0)
            .profile("")
            .library(concat!("assay ", env!("CARGO_PKG_VERSION")));
        let writer = options.create(BufWriter::new(File::create(path)?))?;
        Ok(Self { writer, buffer: Vec::new() })
    }

    /// Creates a topic; `facts` describe its numbers.
    pub(crate) fn topic<T: Encode>(&mut self, name: &str, facts: &[(&str, &str)]) -> Result<Topic<T>, LogError> {
        let schema = T::get_schema().map_or(Ok(0), |s| self.writer.add_schema(&s.name, &s.encoding, &s.data))?;
        let facts: BTreeMap<_, _> = facts.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let channel = self.writer.add_channel(schema, name, &T::get_message_encoding(), &facts)?;
        Ok(Topic { channel, name: name.to_owned(), sequence: 0, of: PhantomData })
    }

    /// Writes a message at simulated time `time_s`.
    pub(crate) fn write<T: Encode>(&mut self, topic: &mut Topic<T>, time_s: f64, message: &T) -> Result<(), LogError> {
        self.buffer.clear();
        // A vector grows to the length of any message.
        message
            .encode(&mut self.buffer)
            .map_err(|e| LogError::Encode { topic: topic.name.clone(), message: e.to_string() })?;
        let time = timestamp(time_s).total_nanos();
        let header =
            MessageHeader { channel_id: topic.channel, sequence: topic.sequence, log_time: time, publish_time: time };
        self.writer.write_to_known_channel(&header, &self.buffer)?;
        topic.sequence += 1;
        Ok(())
    }

    /// Adds facts about the whole file.
    pub(crate) fn metadata(&mut self, name: &str, facts: &[(String, String)]) -> Result<(), LogError> {
        let metadata = facts.iter().cloned().collect();
        Ok(self.writer.write_metadata(&Metadata { name: name.to_owned(), metadata })?)
    }

    /// Attaches a file.
    pub(crate) fn attach(&mut self, name: &str, media_type: &str, data: &[u8]) -> Result<(), LogError> {
        let (name, media_type) = (name.to_owned(), media_type.to_owned());
        let attachment = Attachment { log_time: 0, create_time: 0, name, media_type, data: Cow::Borrowed(data) };
        Ok(self.writer.attach(&attachment)?)
    }

    pub(crate) fn finish(mut self) -> Result<(), LogError> {
        self.writer.finish()?;
        Ok(())
    }
}

/// Returns simulated seconds as the schemas' timestamp.
pub(crate) fn timestamp(time_s: f64) -> Timestamp {
    // Times are multiples of a physics step of 0.1 ms or more; rounding removes the error of summing them up.
    let hundreds = (time_s.max(0.0) * 1e7).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an episode takes minutes at most")]
    let (seconds, hundreds) = ((hundreds / 1e7).floor() as u32, (hundreds % 1e7) as u32);
    Timestamp::new(seconds, hundreds * 100)
}

#[cfg(test)]
mod tests {
    use super::timestamp;

    #[test]
    fn times_are_whole() {
        let nanoseconds = |time_s| timestamp(time_s).total_nanos();
        assert_eq!(nanoseconds(0.0), 0);
        assert_eq!(nanoseconds(0.019_999_999_999), 20_000_000);
        assert_eq!(nanoseconds(0.1 + 0.2), 300_000_000);
        assert_eq!(nanoseconds(9.999_999_999_98), 10_000_000_000);
    }
}
