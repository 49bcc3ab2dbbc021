//! Arrays as servers send them: a numpy dtype, a shape, bytes. All are converted to float64.

use std::fmt;

use assay_model::sanitise;

/// An array of numbers in C order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NumberArray {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f64>,
}

/// An invalid array.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ArrayError {
    #[error("dtype {0:?} is not supported; send float16 to float64, integers or bool")]
    Dtype(String),
    #[error("an array of shape {shape:?} and dtype {dtype} must have {wanted} bytes, not {got}")]
    Length { shape: Vec<usize>, dtype: String, wanted: usize, got: usize },
    #[error("an array with more dimensions or elements than any action has")]
    TooLarge,
}

/// An element of nested lists that is not a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ElementError {
    /// Its number in the list of each depth.
    pub(crate) path: Vec<usize>,
    /// The element, as its format writes it.
    pub(crate) shown: String,
}

impl std::error::Error for ElementError {}

impl fmt::Display for ElementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("actions")?;
        self.path.iter().try_for_each(|number| write!(f, "[{number}]"))?;
        match self.shown.as_str() {
            word @ ("NaN" | "Infinity" | "-Infinity") => {
                write!(f, " is {word}: every number of an action must be finite")
            }
            other => write!(f, " is {other}, not a number"),
        }
    }
}

/// Maximum length of an element in a message, in bytes.
const SHOWN_BYTES: usize = 40;

impl ElementError {
    /// Creates the error of an element; `kind` is the name of its type.
    pub(crate) fn new(path: &[usize], text: &str, kind: &str) -> Self {
        let shown = match (text, kind) {
            ("NaN" | "Infinity" | "-Infinity", _) | (_, "") => sanitise(text, SHOWN_BYTES),
            _ => format!("{:?} ({kind})", sanitise(text, SHOWN_BYTES)),
        };
        Self { path: path.to_vec(), shown }
    }
}

/// Maximum number of dimensions.
pub(crate) const MAX_DIMENSIONS: usize = 4;

impl NumberArray {
    /// Decodes `data` according to numpy's `dtype` string (`<f8`, `|u1`, `>f4`) or name (`float64`).
    pub(crate) fn decode(dtype: &str, shape: Vec<usize>, data: &[u8]) -> Result<Self, ArrayError> {
        let unknown = || ArrayError::Dtype(sanitise(dtype, 16));
        let (order, kind) = named(dtype).or_else(|| dtype.split_at_checked(1)).ok_or_else(unknown)?;
        let big = match order {
            "<" | "|" => false,
            ">" => true,
            _ => return Err(unknown()),
        };
        let (read, size) = reader(kind).ok_or_else(unknown)?;
        if shape.len() > MAX_DIMENSIONS {
            return Err(ArrayError::TooLarge);
        }
        let elements = shape.iter().try_fold(1_usize, |product, n| product.checked_mul(*n));
        let wanted = elements.and_then(|n| n.checked_mul(size)).ok_or(ArrayError::TooLarge)?;
        if wanted != data.len() {
            return Err(ArrayError::Length { shape, dtype: dtype.to_owned(), wanted, got: data.len() });
        }
        let value = |bytes: &[u8]| {
            let mut eight = [0; 8];
            eight[..size].copy_from_slice(bytes);
            if big {
                eight[..size].reverse();
            }
            read(eight)
        };
        Ok(Self { shape, values: data.chunks_exact(size).map(value).collect() })
    }
}

type Read = fn([u8; 8]) -> f64;

/// Returns the byte order and kind of a type that is given by its name, as `str(array.dtype)` in Python writes it.
fn named(dtype: &str) -> Option<(&'static str, &'static str)> {
    let kind = match dtype {
        "float64" => "f8",
        "float32" => "f4",
        "float16" => "f2",
        "bfloat16" => "bf2",
        "int8" => "i1",
        "int16" => "i2",
        "int32" => "i4",
        "int64" => "i8",
        "uint8" => "u1",
        "uint16" => "u2",
        "uint32" => "u4",
        "uint64" => "u8",
        "bool" => "b1",
        _ => return None,
    };
    Some(("<", kind))
}

/// Returns the decoder of an element from its little-endian bytes (followed by zeros), and its size in bytes.
fn reader(kind: &str) -> Option<(Read, usize)> {
    Some(match kind {
        "f8" => (f64::from_le_bytes, 8),
        "f4" => (|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])), 4),
        "f2" => (|b| half(u16::from_le_bytes([b[0], b[1]])), 2),
        // The upper half of a float32.
        "bf2" => (|b| f64::from(f32::from_le_bytes([0, 0, b[0], b[1]])), 2),
        "i1" => (|b| f64::from(i8::from_le_bytes([b[0]])), 1),
        "i2" => (|b| f64::from(i16::from_le_bytes([b[0], b[1]])), 2),
        "i4" => (|b| f64::from(i32::from_le_bytes([b[0], b[1], b[2], b[3]])), 4),
        "i8" => (|b| i64::from_le_bytes(b) as f64, 8),
        "u1" | "b1" => (|b| f64::from(b[0]), 1),
        "u2" => (|b| f64::from(u16::from_le_bytes([b[0], b[1]])), 2),
        "u4" => (|b| f64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]])), 4),
        "u8" => (|b| u64::from_le_bytes(b) as f64, 8),
        _ => return None,
    })
}

/// Converts an IEEE 754 binary16 number.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff) / 1024.0);
    sign * match exponent {
        0 => fraction * 2_f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction) * 2_f64.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::{ArrayError, NumberArray, half};

    #[test]
    fn reads_arrays_that_numpy_writes() {
        let read = |dtype: &str, data: &[u8]| NumberArray::decode(dtype, vec![data.len() / 2], data).map(|a| a.values);
        assert_eq!(read("<f2", &[0x00, 0x3c, 0x00, 0xc0]), Ok(vec![1.0, -2.0]));
        assert_eq!(read("<i2", &[0xff, 0xff, 0x02, 0x00]), Ok(vec![-1.0, 2.0]));
        assert_eq!(read(">i2", &[0xff, 0xff, 0x00, 0x02]), Ok(vec![-1.0, 2.0]));
        assert_eq!(NumberArray::decode("|b1", vec![2], &[1, 0]).map(|a| a.values), Ok(vec![1.0, 0.0]));
        assert_eq!(NumberArray::decode("<f8", vec![], &0.5_f64.to_le_bytes()).map(|a| a.values), Ok(vec![0.5]));
        assert_eq!(NumberArray::decode("bfloat16", vec![1], &[0xc0, 0xbf]).map(|a| a.values), Ok(vec![-1.5]));
        assert_eq!(NumberArray::decode("uint8", vec![2], &[3, 4]).map(|a| a.values), Ok(vec![3.0, 4.0]));
        assert_eq!(NumberArray::decode("float64", vec![1], &0.5_f64.to_le_bytes()).map(|a| a.values), Ok(vec![0.5]));
        assert_eq!((half(1), half(0x7c00), half(0x7e00).is_nan()), (2_f64.powi(-24), f64::INFINITY, true));
    }

    #[test]
    fn rejects_data_that_does_not_match_its_shape_or_dtype() {
        for dtype in
            ["O", "|O", "<c8", "|V2", "<f16", "f8", "", "é", "float", "float128", "complex64", "object", "<bf2x"]
        {
            assert!(matches!(NumberArray::decode(dtype, vec![1], &[0; 8]), Err(ArrayError::Dtype(_))), "{dtype}");
        }
        assert!(matches!(
            NumberArray::decode("<f8", vec![2], &[0; 8]),
            Err(ArrayError::Length { wanted: 16, got: 8, .. })
        ));
        assert_eq!(NumberArray::decode("<f8", vec![usize::MAX, 2], &[0; 8]), Err(ArrayError::TooLarge));
        assert_eq!(NumberArray::decode("|u1", vec![1; 5], &[0]), Err(ArrayError::TooLarge));
    }
}
