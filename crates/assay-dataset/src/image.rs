//! Images of observations as PNG, which keeps every byte.

use assay_model::frame::{ArraySpec, Dtype};
use bytes::Bytes;

use crate::DatasetError;
use crate::reader::RecordedArray;

/// Returns whether the array is an image: rows of red, green and blue bytes.
pub(crate) fn is_image(spec: &ArraySpec) -> bool {
    spec.dtype == Dtype::U8 && matches!(spec.shape.as_slice(), [1..=u32::MAX, 1..=u32::MAX, 3])
}

/// The last PNG of an image, which is encoded anew only when the image changes.
#[derive(Debug, Default)]
pub(crate) struct ImageEncoder {
    png: Bytes,
}

impl ImageEncoder {
    /// Returns the PNG of an image that [`is_image`].
    pub(crate) fn png(&mut self, array: &RecordedArray) -> Result<Bytes, DatasetError> {
        if array.is_new {
            self.png = encode(&array.spec, &array.bytes)?.into();
        }
        Ok(self.png.clone())
    }
}

fn encode(spec: &ArraySpec, rgb: &[u8]) -> Result<Vec<u8>, DatasetError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, spec.shape[1], spec.shape[0]);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    encoder.write_header()?.write_image_data(rgb)?;
    Ok(bytes)
}
