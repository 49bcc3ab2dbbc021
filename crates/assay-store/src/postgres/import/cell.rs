//! The value of a column, on its way from one engine to the other.

use std::error::Error;

use assay_model::Sha256Writer;
use bytes::BytesMut;
use rusqlite::types::ValueRef;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

use super::super::row::storable;

type ConversionError = Box<dyn Error + Sync + Send>;

/// The value of a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Null,
    Boolean(bool),
    Integer(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
    Id(Uuid),
    Texts(Vec<String>),
}

impl Cell {
    /// Converts a value of the source to one of a column of this type.
    pub(super) fn convert(value: ValueRef<'_>, column: &Type) -> Result<Self, ConversionError> {
        let text = |bytes| std::str::from_utf8(bytes).map(|text| storable(text).into_owned());
        Ok(match (value, column) {
            (ValueRef::Null, _) => Self::Null,
            (ValueRef::Integer(number @ 0..=1), &Type::BOOL) => Self::Boolean(number == 1),
            (ValueRef::Integer(number), &Type::INT8) => Self::Integer(number),
            (ValueRef::Real(number), &Type::FLOAT8) => Self::Real(number),
            (ValueRef::Blob(bytes), &Type::BYTEA) => Self::Bytes(bytes.to_vec()),
            (ValueRef::Text(bytes), &Type::TEXT) => Self::Text(text(bytes)?),
            (ValueRef::Text(bytes), &Type::UUID) => Self::Id(text(bytes)?.parse()?),
            (ValueRef::Text(bytes), &Type::TEXT_ARRAY) => {
                let texts: Vec<String> = serde_json::from_slice(bytes)?;
                Self::Texts(texts.iter().map(|text| storable(text).into_owned()).collect())
            }
            (value, column) => return Err(format!("{:?} is not of the type {column}", value.data_type()).into()),
        })
    }

    /// Adds the value to a hash, with its kind and length, so that no two rows look the same.
    pub(super) fn hash(&self, hash: &mut Sha256Writer) {
        let mut add = |kind: u8, bytes: &[u8]| {
            hash.update([kind]);
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        match self {
            Self::Null => add(0, &[]),
            Self::Boolean(value) => add(1, &[u8::from(*value)]),
            Self::Integer(value) => add(2, &value.to_le_bytes()),
            Self::Real(value) => add(3, &value.to_le_bytes()),
            Self::Text(value) => add(4, value.as_bytes()),
            Self::Bytes(value) => add(5, value),
            Self::Id(value) => add(6, value.as_bytes()),
            Self::Texts(values) => {
                add(7, &(values.len() as u64).to_le_bytes());
                values.iter().for_each(|value| add(4, value.as_bytes()));
            }
        }
    }
}

impl ToSql for Cell {
    fn to_sql(&self, column: &Type, out: &mut BytesMut) -> Result<IsNull, ConversionError> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Boolean(value) => value.to_sql(column, out),
            Self::Integer(value) => value.to_sql(column, out),
            Self::Real(value) => value.to_sql(column, out),
            Self::Text(value) => value.to_sql(column, out),
            Self::Bytes(value) => value.to_sql(column, out),
            Self::Id(value) => value.to_sql(column, out),
            Self::Texts(value) => value.to_sql(column, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Cell {
    fn from_sql(column: &Type, raw: &'a [u8]) -> Result<Self, ConversionError> {
        Ok(match *column {
            Type::BOOL => Self::Boolean(bool::from_sql(column, raw)?),
            Type::INT8 => Self::Integer(i64::from_sql(column, raw)?),
            Type::FLOAT8 => Self::Real(f64::from_sql(column, raw)?),
            Type::TEXT => Self::Text(String::from_sql(column, raw)?),
            Type::BYTEA => Self::Bytes(Vec::from_sql(column, raw)?),
            Type::UUID => Self::Id(Uuid::from_sql(column, raw)?),
            Type::TEXT_ARRAY => Self::Texts(Vec::from_sql(column, raw)?),
            _ => return Err(format!("no column has the type {column}").into()),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, ConversionError> {
        Ok(Self::Null)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use assay_model::Sha256Digest;

    use super::*;

    #[test]
    fn a_value_of_another_kind_is_refused() {
        let convert = |value, column: Type| Cell::convert(value, &column);
        assert_eq!(convert(ValueRef::Integer(1), Type::BOOL).unwrap(), Cell::Boolean(true));
        assert_eq!(convert(ValueRef::Text(b"a\0b"), Type::TEXT).unwrap(), Cell::Text("ab".into()));
        assert_eq!(convert(ValueRef::Text(b"[\"a\"]"), Type::TEXT_ARRAY).unwrap(), Cell::Texts(vec!["a".into()]));
        assert_eq!(convert(ValueRef::Null, Type::UUID).unwrap(), Cell::Null);
        for (value, column) in [
            (ValueRef::Integer(2), Type::BOOL),
            (ValueRef::Integer(2), Type::TEXT),
            (ValueRef::Text(b"\xff"), Type::TEXT),
            (ValueRef::Text(b"no id"), Type::UUID),
            (ValueRef::Text(b"1"), Type::INT8),
        ] {
            convert(value, column).unwrap_err();
        }
    }

    #[test]
    fn rows_that_differ_have_another_hash() {
        let of = |cells: &[Cell]| {
            let mut hash = Sha256Writer::default();
            cells.iter().for_each(|cell| cell.hash(&mut hash));
            hash.finish()
        };
        let text = |text: &str| Cell::Text(text.to_owned());
        let rows = [
            vec![text("ab"), text("")],
            vec![text("a"), text("b")],
            vec![text("ab"), Cell::Null],
            vec![Cell::Bytes(b"ab".to_vec()), text("")],
            vec![Cell::Texts(vec!["ab".into(), String::new()])],
            vec![Cell::Integer(0)],
            vec![Cell::Real(0.)],
            vec![Cell::Real(-0.)],
        ];
        let hashes: std::collections::BTreeSet<Sha256Digest> = rows.iter().map(|row| of(row)).collect();
        assert_eq!(hashes.len(), rows.len());
    }
}
