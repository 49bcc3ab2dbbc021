//! Encodes pictures as PNG.

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

pub(crate) fn write_png(file: fs::File, width: u32, height: u32, rgb: &[u8]) -> Result<(), png::EncodingError> {
    let mut encoder = png::Encoder::new(io::BufWriter::new(file), width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(rgb)
}
