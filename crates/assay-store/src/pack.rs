//! Lossless compression of stored evidence.
//!
//! Recordings are columns of doubles that change little from row to row. General compressors see noise, because the
//! last bits of neighbours differ; so each run of doubles is first predicted, from the preceding rows or (for a
//! position) from the velocity, and the residuals are compressed with Zstandard. The positions of the runs are found in
//! the file and stored, so that [`unpack`] needs to know no file format and depends on nothing but this module.
//!
//! A packed file consists of [`MAGIC`], the length of the file (u64) and the number of runs (u32), little-endian; then
//! one Zstandard frame of the runs' [table](predict::PredictedRun), the bytes of the file outside the runs, and each
//! run's residuals, ordered by byte position within the number.
//!
//! Only files packed here are unpacked, but a disk may return anything: every number is checked before it is used.

mod find;
mod predict;

use predict::{PredictedRun, Predictions};

/// First bytes of a packed file.
const MAGIC: &[u8; 8] = b"assaypk1";
/// Number of bytes before the Zstandard frame.
pub(crate) const HEAD_BYTES: usize = 20;
/// Maximum size of a packed file, in bytes: about three copies are held in memory.
pub(crate) const MAX_BYTES: u64 = 64 << 20;
/// Maximum number of runs of a file.
const MAX_RUNS: usize = 1 << 16;
/// Compression level of Zstandard. Higher levels take ten times as long to gain 1 %.
const LEVEL: i32 = 3;

/// A packed file is damaged.
#[derive(Debug, thiserror::Error)]
#[error("a packed artifact is damaged: {0}")]
pub struct PackError(&'static str);

/// Returns true if a file with these first bytes is worth packing; videos and logs are already compressed.
pub(crate) fn is_packable(head: &[u8]) -> bool {
    // Parquet, zip (npz), npy, MuJoCo's binary model (its identifier is 54321), JSON.
    [&b"PAR1"[..], b"PK\x03\x04", b"\x93NUMPY", b"\x31\xd4\x00\x00", b"{", b"["]
        .iter()
        .any(|magic| head.starts_with(magic))
}

/// Packs the file; `None` unless it becomes smaller by a tenth and unpacks to the same bytes.
pub(crate) fn pack(file: &[u8]) -> Option<Vec<u8>> {
    let found = find::runs(file);
    let chosen = Predictions::choose(file, if found.len() > MAX_RUNS { Vec::new() } else { found });
    let runs = &chosen.runs;
    let mut body = Vec::with_capacity(file.len() + runs.len() * predict::ENTRY_BYTES);
    runs.iter().for_each(|run| run.write(&mut body));
    let mut end = 0;
    for run in runs {
        body.extend_from_slice(file.get(end..run.offset)?);
        end = run.end();
    }
    body.extend_from_slice(file.get(end..)?);
    chosen.write_misses(&mut body);
    let mut packed = MAGIC.to_vec();
    packed.extend_from_slice(&u64::try_from(file.len()).ok()?.to_le_bytes());
    packed.extend_from_slice(&u32::try_from(runs.len()).ok()?.to_le_bytes());
    packed.extend_from_slice(&zstd::bulk::compress(&body, LEVEL).ok()?);
    let smaller = packed.len() < file.len() - file.len() / 10;
    (smaller && unpacks_to(&packed, &body, file)).then_some(packed)
}

/// Returns true if the packed file, made from `body`, unpacks to `file`: an error in the prediction must never destroy
/// evidence.
fn unpacks_to(packed: &[u8], body: &[u8], file: &[u8]) -> bool {
    let Ok((length, count)) = head_of(packed) else { return false };
    let same = || {
        let parts = parts(body, count, file.len())?;
        let outside = parts.outside.iter().all(|(offset, bytes)| file[*offset..].starts_with(bytes));
        Ok::<_, PackError>(outside && predict::restores(file, &parts.runs, parts.misses))
    };
    length == file.len() as u64
        && decompressed(packed, file.len(), count).is_ok_and(|unpacked| unpacked == body)
        && same().is_ok_and(|same| same)
}

/// Returns the unpacked length; `head` holds the first [`HEAD_BYTES`] bytes.
pub(crate) fn length(head: &[u8]) -> Result<u64, PackError> {
    head_of(head).map(|(length, _)| length)
}

fn head_of(packed: &[u8]) -> Result<(u64, usize), PackError> {
    let head = packed.get(..HEAD_BYTES).filter(|head| head.starts_with(MAGIC)).ok_or(PackError("its head"))?;
    let (length, runs) =
        (head[8..16].try_into().map(u64::from_le_bytes), head[16..].try_into().map(u32::from_le_bytes));
    let (Ok(length), Ok(runs)) = (length, runs) else { return Err(PackError("its head")) };
    let runs = usize::try_from(runs).ok().filter(|runs| *runs <= MAX_RUNS).ok_or(PackError("its runs"))?;
    if length > MAX_BYTES { Err(PackError("its length")) } else { Ok((length, runs)) }
}

/// Unpacks a file.
///
/// # Errors
/// [`PackError`] if the bytes were not produced by [`pack`].
pub(crate) fn unpack(packed: &[u8]) -> Result<Vec<u8>, PackError> {
    let (length, count) = head_of(packed)?;
    let length = usize::try_from(length).map_err(|_| PackError("its length"))?;
    let body = decompressed(packed, length, count)?;
    let parts = parts(&body, count, length)?;
    let mut file = vec![0; length];
    for (offset, bytes) in &parts.outside {
        file[*offset..offset + bytes.len()].copy_from_slice(bytes);
    }
    predict::restore(&mut file, &parts.runs, parts.misses);
    Ok(file)
}

/// Returns what the Zstandard frame contains: the table of `count` runs, and as many bytes as the file has.
fn decompressed(packed: &[u8], length: usize, count: usize) -> Result<Vec<u8>, PackError> {
    let size = length + count * predict::ENTRY_BYTES;
    let body = zstd::bulk::decompress(&packed[HEAD_BYTES..], size).map_err(|_| PackError("its frame"))?;
    if body.len() == size { Ok(body) } else { Err(PackError("its frame's length")) }
}

/// The contents of a Zstandard frame.
struct FrameParts<'a> {
    runs: Vec<PredictedRun>,
    /// The bytes of the file outside the runs, with their positions.
    outside: Vec<(usize, &'a [u8])>,
    misses: &'a [u8],
}

/// Returns the parts of a frame with `count` runs, of a file of `length` bytes.
fn parts(body: &[u8], count: usize, length: usize) -> Result<FrameParts<'_>, PackError> {
    let table = count * predict::ENTRY_BYTES;
    if body.len() != table + length {
        return Err(PackError("its frame's length"));
    }
    let (table, mut rest) = body.split_at(table);
    let runs: Vec<PredictedRun> = table.chunks_exact(predict::ENTRY_BYTES).map(PredictedRun::read).collect();
    predict::check(&runs, length).map_err(PackError)?;
    let (mut outside, mut end) = (Vec::with_capacity(count + 1), 0);
    for (start, run_end) in runs.iter().map(|run| (run.offset, run.end())).chain([(length, length)]) {
        let (bytes, more) = rest.split_at(start - end);
        outside.push((end, bytes));
        (end, rest) = (run_end, more);
    }
    Ok(FrameParts { runs, outside, misses: rest })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, clippy::cast_precision_loss, reason = "tests")]

    use super::{HEAD_BYTES, decompressed, head_of, length, pack, unpack, unpacks_to};

    /// Returns a NPY file of doubles in rows of `width`.
    fn npy(values: &[f64], width: usize) -> Vec<u8> {
        let shape = format!("({}, {width})", values.len() / width);
        let header = format!("{:<117}\n", format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"));
        let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        file.extend_from_slice(header.as_bytes());
        file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        file
    }

    fn curve(rows: usize, width: usize) -> Vec<f64> {
        (0..rows * width).map(|i| ((i / width) as f64 * 0.01 + (i % width) as f64).sin()).collect()
    }

    #[test]
    fn smooth_numbers_are_compressed_and_restored() {
        for (rows, width) in [(2000, 1), (2000, 7), (3, 7), (1, 1)] {
            let mut file = npy(&curve(rows, width), width);
            file.extend_from_slice(b"what comes after");
            let Some(packed) = pack(&file) else {
                assert!(rows < 10);
                continue;
            };
            assert!(rows < 10 || packed.len() < file.len() * 3 / 5, "{} of {}", packed.len(), file.len());
            assert_eq!(unpack(&packed).unwrap(), file);
            assert_eq!(length(&packed[..HEAD_BYTES]).unwrap(), file.len() as u64);
        }
    }

    #[test]
    fn unusual_numbers_are_restored_to_the_bit() {
        let odd =
            [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, 5e-324, f64::MAX];
        let mut values: Vec<f64> = (0..4000).map(|i| odd[i % 7 % odd.len()]).collect();
        values.extend((0..400).map(|i| odd[(i * 5) % odd.len()]));
        values.push(f64::from_bits(0x7ff4_dead_beef_0001));
        let file = npy(&values, 1);
        assert_eq!(unpack(&pack(&file).unwrap()).unwrap(), file);
    }

    #[test]
    fn a_packed_file_counts_only_if_every_byte_comes_back() {
        let file = npy(&curve(500, 2), 2);
        let packed = pack(&file).unwrap();
        let body = decompressed(&packed, file.len(), head_of(&packed).unwrap().1).unwrap();
        assert!(unpacks_to(&packed, &body, &file));
        // In the header of the array, in its numbers, and at the end.
        for at in [0, 60, 128, 1000, 4003, file.len() - 1] {
            let mut other = file.clone();
            other[at] ^= 1;
            assert!(!unpacks_to(&packed, &body, &other), "byte {at}");
        }
        assert!(!unpacks_to(&packed, &body, &file[1..]));
        assert!(!unpacks_to(&packed, &body[1..], &file));
        assert!(!unpacks_to(&packed[..packed.len() - 1], &body, &file));
    }

    #[test]
    fn noise_is_not_packed_and_damage_is_detected() {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        let noise: Vec<u8> = (0..10_000).map(|_| next()).collect();
        assert!(pack(&noise).is_none());
        let packed = pack(&npy(&curve(500, 2), 2)).unwrap();
        let good = unpack(&packed).unwrap();
        for at in 0..packed.len() {
            let mut bad = packed.clone();
            bad[at] ^= 1 << (at % 8);
            // Detected, or without consequence; never a panic, and never more bytes than declared.
            if let Ok(back) = unpack(&bad) {
                assert_eq!(back.len(), good.len(), "at {at}");
            }
            assert!(unpack(&packed[..at]).is_err(), "cut at {at}");
        }
    }
}
