//! Columns of a Parquet table, and the writer of its row groups.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, FloatType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};

/// Maximum size of a dictionary. Repeated images of a row group are stored once, in its dictionary.
const MAX_DICTIONARY_BYTES: usize = 256 << 20;

/// Values of a column: one per row.
#[derive(Debug, Clone)]
pub(crate) enum Values {
    Int64(Vec<i64>),
    /// Shown as unsigned.
    UInt64(Vec<u64>),
    Boolean(Vec<bool>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Text(Vec<String>),
    Bytes(Vec<Bytes>),
    /// A struct of `bytes` and `path`, as the `datasets` library stores images; there are no paths.
    Image(Vec<Bytes>),
    /// Lists of this many numbers.
    Float32Lists(usize, Vec<f32>),
    Float64Lists(usize, Vec<f64>),
    /// Lists of one text.
    TextLists(Vec<String>),
}

/// A column with its name.
#[derive(Debug, Clone)]
pub(crate) struct TableColumn {
    pub(crate) name: String,
    pub(crate) values: Values,
}

impl TableColumn {
    pub(crate) fn new(name: impl Into<String>, values: Values) -> Self {
        Self { name: name.into(), values }
    }

    fn field(&self) -> Result<TypePtr, ParquetError> {
        let name = self.name.as_str();
        let text = Some(LogicalType::String);
        let unsigned = Some(LogicalType::integer(64, false));
        match &self.values {
            Values::Int64(_) => leaf(name, Physical::INT64, None, Repetition::REQUIRED),
            Values::UInt64(_) => leaf(name, Physical::INT64, unsigned, Repetition::REQUIRED),
            Values::Boolean(_) => leaf(name, Physical::BOOLEAN, None, Repetition::REQUIRED),
            Values::Float32(_) => leaf(name, Physical::FLOAT, None, Repetition::REQUIRED),
            Values::Float64(_) => leaf(name, Physical::DOUBLE, None, Repetition::REQUIRED),
            Values::Text(_) => leaf(name, Physical::BYTE_ARRAY, text, Repetition::REQUIRED),
            Values::Bytes(_) => leaf(name, Physical::BYTE_ARRAY, None, Repetition::REQUIRED),
            Values::Image(_) => {
                let bytes = leaf("bytes", Physical::BYTE_ARRAY, None, Repetition::REQUIRED)?;
                let path = leaf("path", Physical::BYTE_ARRAY, text, Repetition::OPTIONAL)?;
                group(name, Repetition::REQUIRED, None, vec![bytes, path])
            }
            Values::Float32Lists(..) => list(name, Physical::FLOAT, None),
            Values::Float64Lists(..) => list(name, Physical::DOUBLE, None),
            Values::TextLists(_) => list(name, Physical::BYTE_ARRAY, text),
        }
    }

    fn write(&self, group: &mut SerializedRowGroupWriter<'_, File>) -> Result<(), ParquetError> {
        match &self.values {
            Values::Int64(values) => write::<Int64Type>(group, values, None),
            Values::UInt64(values) => {
                let values: Vec<i64> = values.iter().map(|value| value.cast_signed()).collect();
                write::<Int64Type>(group, &values, None)
            }
            Values::Boolean(values) => write::<BoolType>(group, values, None),
            Values::Float32(values) => write::<FloatType>(group, values, None),
            Values::Float64(values) => write::<DoubleType>(group, values, None),
            Values::Text(values) => write::<ByteArrayType>(group, &texts(values), None),
            Values::Bytes(values) => write::<ByteArrayType>(group, &byte_arrays(values), None),
            Values::Image(values) => {
                write::<ByteArrayType>(group, &byte_arrays(values), None)?;
                write::<ByteArrayType>(group, &[], Some((vec![0; values.len()], None)))
            }
            Values::Float32Lists(length, values) => write::<FloatType>(group, values, Some(levels(*length, values))),
            Values::Float64Lists(length, values) => write::<DoubleType>(group, values, Some(levels(*length, values))),
            Values::TextLists(values) => write::<ByteArrayType>(group, &texts(values), Some(levels(1, values))),
        }
    }
}

/// Definition levels, and repetition levels of lists.
type Levels = (Vec<i16>, Option<Vec<i16>>);

/// Returns the levels of lists of `length` values, without empty lists.
fn levels<T>(length: usize, values: &[T]) -> Levels {
    let repeated = (0..values.len()).map(|index| i16::from(index % length.max(1) != 0)).collect();
    (vec![1; values.len()], Some(repeated))
}

fn byte_arrays(values: &[Bytes]) -> Vec<ByteArray> {
    values.iter().map(|value| ByteArray::from(value.clone())).collect()
}

fn texts(values: &[String]) -> Vec<ByteArray> {
    values.iter().map(|value| ByteArray::from(value.as_str())).collect()
}

fn leaf(
    name: &str,
    physical: Physical,
    logical: Option<LogicalType>,
    repetition: Repetition,
) -> Result<TypePtr, ParquetError> {
    let field = Type::primitive_type_builder(name, physical).with_logical_type(logical).with_repetition(repetition);
    Ok(Arc::new(field.build()?))
}

fn group(
    name: &str,
    repetition: Repetition,
    logical: Option<LogicalType>,
    fields: Vec<TypePtr>,
) -> Result<TypePtr, ParquetError> {
    let group = Type::group_type_builder(name).with_repetition(repetition).with_logical_type(logical);
    Ok(Arc::new(group.with_fields(fields).build()?))
}

fn list(name: &str, physical: Physical, logical: Option<LogicalType>) -> Result<TypePtr, ParquetError> {
    let element = leaf("element", physical, logical, Repetition::REQUIRED)?;
    let repeated = group("list", Repetition::REPEATED, None, vec![element])?;
    group(name, Repetition::REQUIRED, Some(LogicalType::List), vec![repeated])
}

fn write<T: parquet::data_type::DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[T::T],
    levels: Option<Levels>,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("more columns than the schema has".to_owned());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    let (defined, repeated) = levels.map_or((None, None), |(defined, repeated)| (Some(defined), repeated));
    column.typed::<T>().write_batch(values, defined.as_deref(), repeated.as_deref())?;
    column.close()
}

/// A Parquet file being written, a row group at a time.
pub(crate) struct TableWriter {
    writer: SerializedFileWriter<File>,
}

impl TableWriter {
    /// Creates a file with the schema of `columns`, which is not written yet.
    pub(crate) fn create(path: &Path, columns: &[TableColumn], facts: Vec<KeyValue>) -> Result<Self, ParquetError> {
        let fields = columns.iter().map(TableColumn::field).collect::<Result<_, _>>()?;
        let schema = Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?);
        let mut properties = WriterProperties::builder()
            .set_statistics_enabled(EnabledStatistics::None)
            .set_dictionary_enabled(false)
            .set_dictionary_page_size_limit(MAX_DICTIONARY_BYTES)
            .set_compression(Compression::LZ4_RAW)
            .set_key_value_metadata(Some(facts));
        for column in columns {
            let path = match &column.values {
                Values::Image(_) => vec![column.name.clone(), "bytes".to_owned()],
                Values::Bytes(_) => vec![column.name.clone()],
                _ => continue,
            };
            properties = properties.set_column_dictionary_enabled(ColumnPath::from(path), true);
        }
        let file = File::create(path)?;
        Ok(Self { writer: SerializedFileWriter::new(file, schema, Arc::new(properties.build()))? })
    }

    /// Writes a row group of these columns, which must be those of the schema.
    pub(crate) fn write(&mut self, columns: &[TableColumn]) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        columns.iter().try_for_each(|column| column.write(&mut group))?;
        group.close()?;
        Ok(())
    }

    /// Returns the bytes written so far.
    pub(crate) fn size_bytes(&self) -> usize {
        self.writer.bytes_written()
    }

    pub(crate) fn finish(self) -> Result<(), ParquetError> {
        self.writer.close()?;
        Ok(())
    }
}
