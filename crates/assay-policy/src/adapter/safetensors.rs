//! The header of a safetensors file, which says whether the file is complete.
//!
//! Source: the format's description in the repository `huggingface/safetensors`: a length (u64, little-endian), a JSON
//! object with type, shape and place of each tensor, then the tensors without gaps.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::shown;
use super::limits::{MAX_DIMENSIONS, MAX_HEADER_BYTES};

const LENGTH_BYTES: usize = 8;
/// Bytes of a file that contain its header.
pub(super) const START_BYTES: usize = LENGTH_BYTES + MAX_HEADER_BYTES;
const METADATA: &str = "__metadata__";
const LFS: &[u8] = b"version https://git-lfs";

#[derive(Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

/// Checks that `start`, the beginning of a file of `total` bytes, is a header that describes the whole file. Returns
/// the number of tensors, or the problem and its remedy.
pub(crate) fn check(start: &[u8], total: u64) -> Result<usize, String> {
    if start.starts_with(LFS) {
        return Err("is a pointer of Git LFS, not the file; run `git lfs pull`".to_owned());
    }
    let short = |what: &str| format!("has {total} bytes and ends inside {what}: it is incomplete; copy it again");
    let Some((length, rest)) = start.split_first_chunk::<LENGTH_BYTES>() else {
        return Err(short("its header"));
    };
    let length = u64::from_le_bytes(*length);
    let header = match usize::try_from(length) {
        Ok(length) if length <= MAX_HEADER_BYTES => rest.get(..length).ok_or_else(|| short("its header"))?,
        _ => {
            let why = "is not a safetensors file, or has too many tensors: its header would have";
            return Err(format!("{why} {length} bytes, but at most {MAX_HEADER_BYTES} are allowed"));
        }
    };
    let tensors = tensors(header).map_err(|why| format!("has an invalid header ({why}); save the weights again"))?;
    let data = tensors.last().map_or(0, |(_, tensor)| tensor.data_offsets[1]);
    let described = data.saturating_add(LENGTH_BYTES as u64 + length);
    match total.cmp(&described) {
        std::cmp::Ordering::Less => {
            Err(format!("has {total} bytes, but its header describes {described}: it is incomplete; copy it again"))
        }
        std::cmp::Ordering::Greater => {
            Err(format!("has {total} bytes, but its header describes {described}; save the weights again"))
        }
        std::cmp::Ordering::Equal => Ok(tensors.len()),
    }
}

/// Returns the tensors in the order of their places, which follow each other without gaps.
fn tensors(header: &[u8]) -> Result<Vec<(String, Tensor)>, String> {
    let entries: BTreeMap<String, Box<RawValue>> =
        serde_json::from_slice(header).map_err(|_| "it is not a JSON object".to_owned())?;
    let mut tensors = Vec::with_capacity(entries.len());
    for (name, entry) in entries {
        if name != METADATA {
            let tensor: Tensor = serde_json::from_str(entry.get())
                .map_err(|_| format!("the entry {:?} does not describe a tensor", shown(&name)))?;
            tensors.push((name, tensor));
        }
    }
    tensors.sort_by_key(|(_, tensor)| tensor.data_offsets);
    let mut end = 0;
    for (name, Tensor { dtype, shape, data_offsets: [from, to] }) in &tensors {
        let wrong = |why: &str| format!("the tensor {:?} {why}", shown(name));
        let bits = bits(dtype).ok_or_else(|| wrong("has an unknown type"))?;
        if shape.len() > MAX_DIMENSIONS {
            return Err(wrong("has too many dimensions"));
        }
        let size = shape.iter().try_fold(bits, |size, length| size.checked_mul(*length)).map(|bits| bits.div_ceil(8));
        if *from != end || to.checked_sub(*from) != size {
            return Err(wrong("has a size that differs from its shape, or a gap before it"));
        }
        end = *to;
    }
    Ok(tensors)
}

/// Returns the bits of a number of a type.
fn bits(dtype: &str) -> Option<u64> {
    Some(match dtype {
        "BOOL" | "U8" | "I8" | "F8_E4M3" | "F8_E5M2" | "F8_E8M0" => 8,
        "U16" | "I16" | "F16" | "BF16" => 16,
        "U32" | "I32" | "F32" => 32,
        "U64" | "I64" | "F64" | "C64" => 64,
        "F4" => 4,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn file(header: &str, data: usize) -> Vec<u8> {
        [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![0; data]].concat()
    }

    fn check_file(bytes: &[u8]) -> Result<usize, String> {
        check(&bytes[..bytes.len().min(START_BYTES)], bytes.len() as u64)
    }

    const TWO: &str = r#"{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},
        "b":{"dtype":"I64","shape":[],"data_offsets":[16,24]}}"#;

    #[test]
    fn a_file_is_as_long_as_its_header_says() {
        let whole = file(TWO, 24);
        assert_eq!(check_file(&whole), Ok(2));
        assert_eq!(check_file(&file("{}", 0)), Ok(0));
        for cut in 0..whole.len() {
            let why = check_file(&whole[..cut]).unwrap_err();
            assert!(why.contains("it is incomplete"), "{cut}: {why}");
        }
        let longer = [&whole[..], b"x"].concat();
        assert!(check_file(&longer).unwrap_err().contains("save the weights again"));
    }

    #[test]
    fn hostile_headers_are_refused() {
        let of = |entry: &str| format!("{{\"a\":{entry}}}");
        for (header, data, part) in [
            ("[]".to_owned(), 0, "not a JSON object"),
            ("{".to_owned(), 0, "not a JSON object"),
            (of("7"), 0, "does not describe a tensor"),
            (of(r#"{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}"#), 4, "does not describe a tensor"),
            (of(r#"{"dtype":"F32","shape":[1],"data_offsets":[4,8]}"#), 8, "a gap"),
            (of(r#"{"dtype":"F32","shape":[1],"data_offsets":[4,0]}"#), 8, "a gap"),
            (of(r#"{"dtype":"F32","shape":[2],"data_offsets":[0,4]}"#), 4, "a size that differs"),
            (of(r#"{"dtype":"O","shape":[1],"data_offsets":[0,4]}"#), 4, "unknown type"),
            (of(r#"{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}"#), 0, "a size that differs"),
            (of(r#"{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}"#), 4, "too many dimensions"),
        ] {
            let why = check_file(&file(&header, data)).unwrap_err();
            assert!(why.contains(part), "{header}: {why}");
        }
        // Seven tensors of the largest size, and one whose end is the largest number.
        let largest: Vec<u64> = (0..=7).map(|index| index << 61).chain([u64::MAX]).collect();
        let entry = |(index, ends): (usize, &[u64])| {
            format!(
                r#""{index}":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}}"#,
                ends[1] - ends[0],
                ends[0],
                ends[1]
            )
        };
        let entries: Vec<String> = largest.windows(2).enumerate().map(entry).collect();
        assert!(check_file(&file(&format!("{{{}}}", entries.join(",")), 0)).is_err());
        let huge = u64::MAX.to_le_bytes();
        assert!(check_file(&huge).unwrap_err().contains("its header would have 18446744073709551615 bytes"));
        assert!(check_file(b"version https://git-lfs.github.com/spec/v1\n").unwrap_err().contains("git lfs pull"));
        assert!(check_file(b"PK\x03\x04 a pickle of PyTorch").unwrap_err().contains("not a safetensors file"));
    }
}
