//! Reads and writes `trace.parquet`, the trace on disk.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, Repetition, Type as Physical};
use parquet::column::reader::ColumnReader;
use parquet::data_type::{DoubleType, FixedLenByteArray, FixedLenByteArrayType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};

use crate::trace_pages::open_column;
use crate::whole_file::WholeFile;
use crate::{Inputs, Trace};

/// Name of the column with the row's control step.
const CONTROL_STEP: &str = "control_step";
/// Name of the column with the hash, present on the last row of each control step.
const TRACE_HASH: &str = "trace_hash";
/// Name of the column with the policy's latency, present on the first row of each control step.
const LATENCY: &str = "policy_latency_ms";
/// Prefixes of the names of a trace's own columns; every other column of doubles is an external input.
const OWN: [&str; 5] = ["time_s", "qpos", "qvel", "action", "signal"];
/// Maximum number of rows read back.
const MAX_ROWS: usize = 1_000_000;
/// Maximum number of values read back (1 GiB of them).
const MAX_VALUES: usize = 1 << 27;

/// The reason why a trace cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TraceFileError {
    /// A file system error.
    #[error("could not read or write the trace file")]
    Io(#[from] std::io::Error),
    /// A Parquet error.
    #[error("could not read or write the Parquet of the trace")]
    Parquet(#[from] ParquetError),
    /// The file is not a trace.
    #[error("not a trace: {0}")]
    Shape(&'static str),
}

impl Trace {
    /// Writes the trace, with doubles byte-split and compressed and the hash on the last row of each control step.
    ///
    /// # Errors
    /// [`TraceFileError`] if the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), TraceFileError> {
        self.write_with(path, self.properties())
    }

    /// Writes the same trace uncompressed, in a form that a packer compresses better.
    ///
    /// # Errors
    /// As for [`Self::write`].
    pub fn write_plain(&self, path: &Path) -> Result<(), TraceFileError> {
        let properties = self.common().set_compression(Compression::UNCOMPRESSED).set_encoding(Encoding::PLAIN);
        self.write_with(path, properties.build())
    }

    fn write_with(&self, path: &Path, properties: WriterProperties) -> Result<(), TraceFileError> {
        let mut writer =
            SerializedFileWriter::new(File::create(path)?, Arc::new(self.schema()?), Arc::new(properties))?;
        let mut group = writer.next_row_group()?;
        for values in self.columns.iter().chain(&self.inputs.columns) {
            let mut column = next(group.next_column()?)?;
            column.typed::<DoubleType>().write_batch(values, None, None)?;
            column.close()?;
        }
        let mut column = next(group.next_column()?)?;
        column.typed::<Int32Type>().write_batch(&self.control_step, None, None)?;
        column.close()?;
        let (latencies, levels) = self.latency_column();
        let mut column = next(group.next_column()?)?;
        column.typed::<DoubleType>().write_batch(&latencies, Some(&levels), None)?;
        column.close()?;
        let (hashes, levels) = self.hash_column();
        let mut column = next(group.next_column()?)?;
        column.typed::<FixedLenByteArrayType>().write_batch(&hashes, Some(&levels), None)?;
        column.close()?;
        group.close()?;
        writer.close()?;
        Ok(())
    }

    /// Reads a trace back.
    ///
    /// # Errors
    /// [`TraceFileError`] if the file is not a trace.
    pub fn read(path: &Path) -> Result<Self, TraceFileError> {
        let reader = SerializedFileReader::new(WholeFile::open(path)?)?;
        if reader.metadata().num_row_groups() != 1 {
            return Err(TraceFileError::Shape("not one group of rows"));
        }
        let group = reader.get_row_group(0)?;
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(usize::MAX);
        if rows > MAX_ROWS || rows.saturating_mul(group.num_columns()) > MAX_VALUES {
            return Err(TraceFileError::Shape("too many rows"));
        }
        let mut trace = Self { facts: facts(&reader), ..Self::default() };
        for (index, column) in group.metadata().columns().iter().enumerate() {
            let name = column.column_path().parts().join(".");
            match open_column(&*group, index)? {
                ColumnReader::DoubleColumnReader(mut doubles) if name == LATENCY => {
                    let mut levels = Vec::new();
                    doubles.read_records(rows, Some(&mut levels), None, &mut trace.latency_ms)?;
                }
                ColumnReader::DoubleColumnReader(mut doubles) => {
                    let mut values = Vec::new();
                    doubles.read_records(rows, None, None, &mut values)?;
                    let own = OWN.contains(&name.split('.').next().unwrap_or_default());
                    let Inputs { names, columns } = &mut trace.inputs;
                    let (names, columns) = if own { (&mut trace.names, &mut trace.columns) } else { (names, columns) };
                    names.push(name);
                    columns.push(values);
                }
                ColumnReader::Int32ColumnReader(mut steps) => {
                    steps.read_records(rows, None, None, &mut trace.control_step)?;
                }
                ColumnReader::FixedLenByteArrayColumnReader(mut hashes) => {
                    let (mut values, mut levels) = (Vec::new(), Vec::new());
                    hashes.read_records(rows, Some(&mut levels), None, &mut values)?;
                    trace.hashes = values.iter().filter_map(|hash| hash.data().try_into().ok()).collect();
                }
                _ => return Err(TraceFileError::Shape("a column of an unknown type")),
            }
        }
        trace.first_signal = trace.names.iter().position(|n| n.starts_with("signal.")).unwrap_or(trace.names.len());
        if trace.columns.iter().chain(&trace.inputs.columns).any(|column| column.len() != trace.rows()) {
            return Err(TraceFileError::Shape("columns of different length"));
        }
        Ok(trace)
    }

    fn schema(&self) -> Result<Type, ParquetError> {
        let field = |name: &str, physical, repetition, length| {
            let field = Type::primitive_type_builder(name, physical).with_repetition(repetition).with_length(length);
            field.build().map(Arc::new)
        };
        let mut fields: Vec<_> = self
            .names
            .iter()
            .chain(&self.inputs.names)
            .map(|name| field(name, Physical::DOUBLE, Repetition::REQUIRED, -1))
            .collect::<Result<_, _>>()?;
        fields.push(field(CONTROL_STEP, Physical::INT32, Repetition::REQUIRED, -1)?);
        fields.push(field(LATENCY, Physical::DOUBLE, Repetition::OPTIONAL, -1)?);
        fields.push(field(TRACE_HASH, Physical::FIXED_LEN_BYTE_ARRAY, Repetition::OPTIONAL, 32)?);
        Type::group_type_builder("trace").with_fields(fields).build()
    }

    fn common(&self) -> WriterPropertiesBuilder {
        let facts = self.facts.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
        WriterProperties::builder()
            .set_statistics_enabled(EnabledStatistics::None)
            .set_dictionary_enabled(false)
            .set_key_value_metadata(Some(facts))
    }

    fn properties(&self) -> WriterProperties {
        // Nearly as small as byte-split doubles with Zstandard, in a third of the time: there is a context per column.
        let mut properties = self.common().set_compression(Compression::LZ4_RAW);
        for name in self.names.iter().chain(&self.inputs.names) {
            let path = ColumnPath::from(vec![name.clone()]);
            if name.starts_with("action.") || name.starts_with("eq_active.") {
                properties = properties.set_column_dictionary_enabled(path, true);
            } else {
                properties = properties.set_column_encoding(path, Encoding::BYTE_STREAM_SPLIT);
            }
        }
        properties.build()
    }

    /// Returns the latency on the first row of each control step. The last action may have no physics step.
    fn latency_column(&self) -> (Vec<f64>, Vec<i16>) {
        let mut levels = vec![0; self.rows()];
        let mut values = Vec::new();
        for (row, latency) in self.control_rows().into_iter().zip(&self.latency_ms) {
            levels[row] = 1;
            values.push(*latency);
        }
        (values, levels)
    }

    fn hash_column(&self) -> (Vec<FixedLenByteArray>, Vec<i16>) {
        let last_row = |row: usize| self.control_step.get(row + 1) != Some(&self.control_step[row]);
        let hash = |row: usize| usize::try_from(self.control_step[row]).ok().and_then(|step| self.hashes.get(step));
        let found: Vec<_> = (0..self.rows()).map(|row| if last_row(row) { hash(row) } else { None }).collect();
        let values = found.iter().flatten().map(|hash| FixedLenByteArray::from(hash.to_vec())).collect();
        (values, found.iter().map(|hash| i16::from(hash.is_some())).collect())
    }
}

fn facts(reader: &SerializedFileReader<WholeFile>) -> Vec<(String, String)> {
    let facts = reader.metadata().file_metadata().key_value_metadata();
    let pair = |fact: &KeyValue| Some((fact.key.clone(), fact.value.clone()?));
    facts.into_iter().flatten().filter_map(pair).collect()
}

fn next<T>(column: Option<T>) -> Result<T, TraceFileError> {
    column.ok_or(TraceFileError::Shape("fewer columns than the schema has"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_written_trace_can_be_read() {
        let trace = Trace {
            names: vec!["time_s".into(), "qpos.0".into(), "action.0".into(), "signal.force".into()],
            columns: vec![vec![0.0, 0.1, 0.2], vec![1.0, f64::NAN, -0.0], vec![5.0; 3], vec![1e300, 0.1, 3.0]],
            control_step: vec![0, 0, 1],
            inputs: Inputs { names: vec!["ctrl.0".into()], columns: vec![vec![0.5, 0.25, 0.125]] },
            latency_ms: vec![1.5, 2.5],
            involved: Vec::new(),
            hashes: vec![[7; 32], [9; 32]],
            facts: vec![("scenario".into(), "x".into())],
            first_signal: 3,
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.parquet");
        trace.write(&path).unwrap();
        let back = Trace::read(&path).unwrap();
        assert_eq!(back.names, trace.names);
        assert_eq!(back.control_step, trace.control_step);
        assert_eq!((&back.inputs, &back.latency_ms, &back.facts), (&trace.inputs, &trace.latency_ms, &trace.facts));
        assert_eq!((back.control_rows(), back.fact("scenario")), (vec![0, 2], Some("x")));
        assert_eq!(back.hashes, trace.hashes);
        trace.write_plain(&path).unwrap();
        let plain = Trace::read(&path).unwrap();
        assert_eq!((&plain.names, &plain.hashes, &plain.latency_ms), (&back.names, &back.hashes, &back.latency_ms));
        let bits = |t: &Trace| t.columns.iter().flatten().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!((bits(&back), bits(&plain)), (bits(&trace), bits(&trace)));
        assert_eq!(back.signals().len(), 2);
        assert_eq!(back.group("qpos").len(), 1);
        assert_eq!(back.group("qpos")[0][2].to_bits(), (-0.0_f64).to_bits());
    }

    #[test]
    fn invalid_files_are_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.parquet");
        std::fs::write(&path, b"PAR1 rubbish PAR1").unwrap();
        assert!(Trace::read(&path).is_err());
    }

    #[test]
    fn damage_is_an_error_at_any_position() {
        let trace = Trace {
            names: vec!["time_s".into(), "action.0".into()],
            columns: vec![vec![0.0, 0.1, 0.2, 0.3], vec![5.0; 4]],
            control_step: vec![0, 0, 1, 1],
            latency_ms: vec![1.5, 2.5],
            hashes: vec![[7; 32], [9; 32]],
            first_signal: 2,
            ..Trace::default()
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.parquet");
        trace.write(&path).unwrap();
        let good = std::fs::read(&path).unwrap();
        let mut refused = 0;
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                std::fs::write(&path, bad).unwrap();
                refused += usize::from(Trace::read(&path).is_err());
            }
        }
        assert!(refused > good.len(), "{refused} of {} damaged files were refused", good.len() * 8);
    }
}
