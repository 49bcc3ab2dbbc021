//! Traces in CSV: a header, then a line for each row.

use anyhow::{anyhow, ensure};

use super::columns::{Columns, MAX_COLUMNS, MAX_VALUES, time_column};

/// Reads a trace. A field that is not a number spoils its column, unless it is a time, which is an error.
pub(super) fn read(file: impl std::io::Read) -> anyhow::Result<Columns> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(file);
    let names: Vec<String> = reader.headers()?.iter().map(str::to_owned).collect();
    ensure!(names.len() <= MAX_COLUMNS, "more than {MAX_COLUMNS} columns");
    let time_at = time_column(&names)?;
    let (mut values, mut problems) = (vec![Vec::new(); names.len()], vec![None; names.len()]);
    let mut record = csv::StringRecord::new();
    let mut decimals = Some(0);
    while reader.read_record(&mut record)? {
        let line = record.position().map_or(0, csv::Position::line);
        let is_full = values[time_at].len() >= MAX_VALUES / names.len();
        ensure!(!is_full, "line {line}: more than {MAX_VALUES} numbers; shorten the trace");
        for (index, field) in record.iter().enumerate() {
            let number = field.parse().unwrap_or_else(|_| {
                let name = &names[index];
                problems[index]
                    .get_or_insert_with(|| format!("line {line}, column {name:?}: {field:?} is not a number"));
                f64::NAN
            });
            values[index].push(number);
        }
        if let Some(problem) = problems[time_at].take() {
            return Err(anyhow!("{problem}"));
        }
        let now: f64 = values[time_at].last().copied().unwrap_or(f64::NAN);
        ensure!(now.is_finite(), "line {line}: a time must be a finite number of seconds");
        decimals = decimals.zip(decimals_of(&record[time_at])).map(|(most, own): (i32, i32)| most.max(own));
    }
    // Unknown for numbers with an exponent.
    let rounding_s = decimals.map_or(0.0, |decimals| 0.5 * 10_f64.powi(-decimals));
    Ok(Columns { names, values, problems, time_at, rounding_s })
}

fn decimals_of(number: &str) -> Option<i32> {
    let (_, decimals) = number.split_once('.').unwrap_or((number, ""));
    let is_plain = number.bytes().all(|byte| !byte.is_ascii_alphabetic());
    is_plain.then(|| i32::try_from(decimals.len()).ok()).flatten()
}
