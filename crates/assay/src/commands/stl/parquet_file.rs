//! Traces in Parquet, such as `trace.parquet` of a results folder.

use std::fs::File;

use anyhow::{Context, ensure};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::columns::{Columns, MAX_COLUMNS, MAX_VALUES, time_column};

/// First bytes of a file in Parquet.
pub(super) const MAGIC: &[u8] = b"PAR1";

/// Reads a trace. Columns of other types than numbers, or with lists, can't be used.
pub(super) fn read(file: File) -> anyhow::Result<Columns> {
    let reader = SerializedFileReader::new(file).context("it is not readable as Parquet")?;
    let schema = reader.metadata().file_metadata().schema_descr();
    let names: Vec<String> = schema.columns().iter().map(|column| column.path().string()).collect();
    ensure!(names.len() <= MAX_COLUMNS, "more than {MAX_COLUMNS} columns");
    let time_at = time_column(&names)?;
    let (mut values, mut problems) = (vec![Vec::new(); names.len()], vec![None; names.len()]);
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(usize::MAX);
        let is_full = values[time_at].len().saturating_add(rows) > MAX_VALUES / names.len();
        ensure!(!is_full, "more than {MAX_VALUES} numbers; shorten the trace");
        for (index, name) in names.iter().enumerate() {
            let column = &schema.columns()[index];
            let is_flat = column.max_rep_level() == 0;
            let read = if is_flat { numbers(group.get_column_reader(index)?, rows)? } else { None };
            match read {
                Some(read) => values[index].extend(read),
                None => {
                    problems[index] = Some(format!("column {name:?} has no numbers"));
                    values[index].extend(std::iter::repeat_n(f64::NAN, rows));
                }
            }
        }
    }
    ensure!(problems[time_at].is_none(), "column {:?} has no numbers", names[time_at]);
    ensure!(values[time_at].iter().all(|time| time.is_finite()), "a time must be a finite number of seconds");
    Ok(Columns { names, values, problems, time_at, rounding_s: 0.0 })
}

fn numbers(column: ColumnReader, rows: usize) -> anyhow::Result<Option<Vec<f64>>> {
    #[expect(clippy::cast_precision_loss, reason = "a time in nanoseconds is only compared with others")]
    let of_long = |value: &i64| *value as f64;
    Ok(Some(match column {
        ColumnReader::DoubleColumnReader(column) => all(column, rows, |value| *value)?,
        ColumnReader::FloatColumnReader(column) => all(column, rows, |value| f64::from(*value))?,
        ColumnReader::Int32ColumnReader(column) => all(column, rows, |value| f64::from(*value))?,
        ColumnReader::Int64ColumnReader(column) => all(column, rows, of_long)?,
        ColumnReader::BoolColumnReader(column) => all(column, rows, |value| f64::from(u8::from(*value)))?,
        _ => return Ok(None),
    }))
}

/// Reads a column; NaN where there is no value.
fn all<T: DataType>(
    mut column: ColumnReaderImpl<T>,
    rows: usize,
    number: impl Fn(&T::T) -> f64,
) -> anyhow::Result<Vec<f64>> {
    let (mut found, mut levels) = (Vec::new(), Vec::new());
    column.read_records(rows, Some(&mut levels), None, &mut found)?;
    if levels.is_empty() {
        return Ok(found.iter().map(number).collect());
    }
    let top = levels.iter().copied().max().unwrap_or(0);
    let is_present = |level: i16| level == top && !found.is_empty();
    let mut values = found.iter();
    let of = |level: &i16| if is_present(*level) { values.next().map_or(f64::NAN, &number) } else { f64::NAN };
    Ok(levels.iter().map(of).collect())
}
