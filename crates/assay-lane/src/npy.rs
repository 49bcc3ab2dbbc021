//! numpy's file formats: NPY 1.0 (<https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>) and NPZ, a
//! zip archive of them.

use std::io::{self, Seek, Write};

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Alignment of the header's length.
const ALIGNMENT: usize = 64;
/// Length of magic, version and the header's length field.
const PREFIX: usize = 10;

/// An array to write, in row-major order.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NpyArray<'a> {
    F64(&'a [f64], &'a [usize]),
    I64(&'a [i64], &'a [usize]),
}

impl NpyArray<'_> {
    /// Returns the bytes of the NPY file.
    pub(crate) fn bytes(self) -> Vec<u8> {
        let (kind, shape) = match self {
            Self::F64(_, shape) => ("<f8", shape),
            Self::I64(_, shape) => ("<i8", shape),
        };
        let shape: Vec<String> = shape.iter().map(ToString::to_string).collect();
        // A tuple with one element needs a comma.
        let comma = if shape.len() == 1 { "," } else { "" };
        let mut header =
            format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({}{comma}), }}", shape.join(", "));
        let padding = (PREFIX + header.len() + 1).next_multiple_of(ALIGNMENT) - (PREFIX + header.len() + 1);
        header.push_str(&" ".repeat(padding));
        header.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend_from_slice(&u16::try_from(header.len()).unwrap_or(u16::MAX).to_le_bytes());
        bytes.extend_from_slice(header.as_bytes());
        match self {
            Self::F64(values, _) => values.iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes())),
            Self::I64(values, _) => values.iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes())),
        }
        bytes
    }
}

/// Writes named arrays as an NPZ archive. The same arrays result in the same bytes.
pub(crate) fn write_npz<W: Write + Seek>(writer: W, arrays: &[(String, NpyArray<'_>)]) -> Result<(), ZipError> {
    let mut archive = ZipWriter::new(writer);
    // Stored uncompressed: doubles hardly compress, and deflating them would take longer than writing all other
    // evidence.
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, array) in arrays {
        archive.start_file(format!("{name}.npy"), options)?;
        archive.write_all(&array.bytes()).map_err(ZipError::Io)?;
    }
    archive.finish()?;
    Ok(())
}

/// Converts an archive's error into an I/O error.
pub(crate) fn io_error(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) => error,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::NpyArray;

    #[test]
    fn a_header_equals_that_of_numpy() {
        // np.save of np.arange(6.0).reshape(2, 3), numpy 2.4.
        let values: Vec<f64> = (0..6).map(f64::from).collect();
        let bytes = NpyArray::F64(&values, &[2, 3]).bytes();
        let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }";
        let mut expected = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        expected.extend(format!("{text:<117}\n").into_bytes());
        assert_eq!(&bytes[..128], expected);
        assert_eq!(bytes.len(), 128 + 48);
        let one = NpyArray::I64(&[7], &[1]).bytes();
        assert!(one.len() == 136 && one.windows(12).any(|w| w == b"'shape': (1,"), "a comma makes it a tuple");
    }
}
