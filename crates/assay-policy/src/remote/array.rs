//! Arrays as servers send them: a numpy dtype, a shape, bytes. All are converted to float64.

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

/// Maximum number of dimensions.
pub(crate) const MAX_DIMENSIONS: usize = 4;

impl NumberArray {
    /// Decodes `data` according to numpy's `dtype` string (`<f8`, `|u1`, `>f4`).
    pub(crate) fn decode(dtype: &str, shape: Vec<usize>, data: &[u8]) -> Result<Self, ArrayError> {
        let unknown = || ArrayError::Dtype(assay_model::sanitise(dtype, 16));
        let (order, kind) = dtype.split_at_checked(1).ok_or_else(unknown)?;
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

/// Returns the decoder of an element from its little-endian bytes (followed by zeros), and its size in bytes.
fn reader(kind: &str) -> Option<(Read, usize)> {
    Some(match kind {
        "f8" => (f64::from_le_bytes, 8),
        "f4" => (|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])), 4),
        "f2" => (|b| half(u16::from_le_bytes([b[0], b[1]])), 2),
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
        assert_eq!((half(1), half(0x7c00), half(0x7e00).is_nan()), (2_f64.powi(-24), f64::INFINITY, true));
    }

    #[test]
    fn rejects_data_that_does_not_match_its_shape_or_dtype() {
        for dtype in ["O", "|O", "<c8", "|V2", "<f16", "f8", "", "é"] {
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
