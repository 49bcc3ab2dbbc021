//! Pictures as PNG.

use std::{fs, io};

use crate::EpisodeRenderError;

/// Encodes a picture in memory, optimised for speed rather than size.
pub(crate) fn encode_png(width: u32, height: u32, rgb: &[u8]) -> Result<Vec<u8>, EpisodeRenderError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(rgb));
    written.map_err(|e| EpisodeRenderError::Job(io::Error::other(e)))?;
    Ok(bytes)
}

/// Width and height of a picture, and its pixels: RGB, rows from the top.
pub(crate) type SizedPicture = ((u32, u32), Vec<u8>);

/// Decodes a picture of [`encode_png`].
pub(crate) fn decode_png(bytes: &[u8]) -> Option<SizedPicture> {
    let mut reader = png::Decoder::new(io::Cursor::new(bytes)).read_info().ok()?;
    let mut pixels = vec![0; reader.output_buffer_size()?];
    let info = reader.next_frame(&mut pixels).ok()?;
    let is_rgb = info.color_type == png::ColorType::Rgb && info.bit_depth == png::BitDepth::Eight;
    is_rgb.then_some(((info.width, info.height), pixels))
}

pub(crate) fn write_png(file: fs::File, width: u32, height: u32, rgb: &[u8]) -> Result<(), png::EncodingError> {
    let mut encoder = png::Encoder::new(io::BufWriter::new(file), width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(rgb)
}
