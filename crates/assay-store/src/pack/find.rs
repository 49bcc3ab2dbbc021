//! Detection of runs of doubles in a file. The result is only a hint: an error makes the packed file larger, never
//! wrong.

/// A run of consecutive doubles or 64-bit integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumberRun {
    /// Position of its first byte.
    pub(super) offset: usize,
    /// Number of numbers.
    pub(super) count: usize,
    /// Numbers per row, which is the distance to the most similar earlier number.
    pub(super) lag: usize,
}

/// Minimum length of a run.
const MIN_COUNT: usize = 4;
/// First bytes of a NPY array.
const NPY: &[u8] = b"\x93NUMPY\x01\x00";
/// Maximum nesting depth of skipped structures in a page header.
const MAX_DEPTH: usize = 4;
/// Maximum length of a NPY header, in bytes.
const MAX_HEADER: usize = 4096;

/// Returns the runs of numbers in a file, in order and without overlap.
pub(super) fn runs(file: &[u8]) -> Vec<NumberRun> {
    let found = if file.starts_with(b"PAR1") { parquet(file) } else { arrays(file) };
    found.into_iter().filter(|numbers| numbers.count >= MIN_COUNT).collect()
}

/// Returns the arrays of a NPY file, or of a zip archive without compression.
fn arrays(file: &[u8]) -> Vec<NumberRun> {
    let mut found = Vec::new();
    if !file.starts_with(b"PK\x03\x04") && !file.starts_with(NPY) {
        return found;
    }
    let mut from = 0;
    while let Some(at) = file[from..].windows(NPY.len()).position(|window| window == NPY) {
        let start = from + at;
        from = start + NPY.len();
        if let Some(numbers) = array(file, start) {
            from = numbers.offset + 8 * numbers.count;
            found.push(numbers);
        }
    }
    found
}

/// Parses the array whose header begins at `start`.
fn array(file: &[u8], start: usize) -> Option<NumberRun> {
    let length = file.get(start + 8..start + 10)?;
    let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
    let offset = start + 10 + length;
    let header = std::str::from_utf8(file.get(start + 10..offset)?).ok().filter(|text| text.len() <= MAX_HEADER)?;
    if !(header.contains("'<f8'") || header.contains("'<i8'")) || header.contains("True") {
        return None;
    }
    let shape = header.split_once("'shape': (")?.1.split_once(')')?.0;
    let sides: Vec<usize> = shape
        .split(',')
        .map(str::trim)
        .filter(|side| !side.is_empty())
        .map(|side| side.parse().ok())
        .collect::<Option<_>>()?;
    let count = sides.iter().try_fold(1_usize, |product, side| product.checked_mul(*side))?;
    let lag = sides.get(1..)?.iter().product::<usize>().max(1);
    let end = count.checked_mul(8)?.checked_add(offset)?;
    (end <= file.len()).then_some(NumberRun { offset, count, lag })
}

/// Returns the pages of a Parquet file with plain doubles: not compressed, encoding PLAIN, without nulls.
fn parquet(file: &[u8]) -> Vec<NumberRun> {
    let (mut found, mut at) = (Vec::new(), 4);
    // The footer at the end of the file is not a page.
    while let Some(page) = file.get(at..).and_then(page) {
        let offset = at + page.header;
        let Some(end) = offset.checked_add(page.size).filter(|end| *end <= file.len()) else { break };
        if page.plain && page.size == page.values.saturating_mul(8) {
            found.push(NumberRun { offset, count: page.values, lag: 1 });
        }
        at = end;
    }
    found
}

/// The relevant fields of a page header.
#[derive(Default)]
struct ParquetPage {
    header: usize,
    size: usize,
    values: usize,
    plain: bool,
}

/// Reads a `PageHeader` in Thrift's compact protocol.
fn page(bytes: &[u8]) -> Option<ParquetPage> {
    let (mut page, mut reader) = (ParquetPage::default(), CompactReader { bytes, at: 0 });
    let (mut kind, mut field) = (None, 0);
    while let Some(wire) = reader.field(&mut field)? {
        match (field, wire) {
            (1, 5) => kind = Some(reader.number()?),
            (3, 5) => page.size = reader.number()?,
            (5, 12) => {
                let mut inner = 0;
                while let Some(wire) = reader.field(&mut inner)? {
                    match (inner, wire) {
                        (1, 5) => page.values = reader.number()?,
                        (2, 5) => page.plain = reader.number()? == 0,
                        (_, wire) => reader.skip(wire, MAX_DEPTH)?,
                    }
                }
            }
            (_, wire) => reader.skip(wire, MAX_DEPTH)?,
        }
    }
    // Only data pages of version 1 contain plain values.
    page.plain &= kind == Some(0);
    page.header = reader.at;
    (page.size > 0).then_some(page)
}

struct CompactReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl CompactReader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// Reads the type of the next field and stores its number in `field`; `Some(None)` at the end of a struct.
    fn field(&mut self, field: &mut i32) -> Option<Option<u8>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Some(None);
        }
        let delta = byte >> 4;
        (delta != 0).then(|| *field += i32::from(delta))?;
        Some(Some(byte & 15))
    }

    /// Skips a value; lists, which do not occur in these headers, are not supported.
    fn skip(&mut self, wire: u8, depth: usize) -> Option<()> {
        match wire {
            1 | 2 => {}
            3 => self.at += 1,
            4..=6 => while self.byte()? >= 128 {},
            8 => {
                let length = self.length()?;
                self.at = self.at.checked_add(length).filter(|at| *at <= self.bytes.len())?;
            }
            12 if depth > 0 => {
                let mut field = 0;
                while let Some(wire) = self.field(&mut field)? {
                    self.skip(wire, depth - 1)?;
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Reads a non-negative zigzag number.
    fn number(&mut self) -> Option<usize> {
        self.length().filter(|value| value.is_multiple_of(2)).map(|value| value >> 1)
    }

    /// Reads an unsigned number.
    fn length(&mut self) -> Option<usize> {
        let mut value = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= usize::from(byte & 127) << shift;
            if byte < 128 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{NumberRun, page, runs};

    #[test]
    fn arrays_are_found_at_any_position() {
        let text = format!("{:<117}\n", "{'descr': '<i8', 'fortran_order': False, 'shape': (5,), }");
        let mut array = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        array.extend_from_slice(text.as_bytes());
        array.extend_from_slice(&[7; 40]);
        let file = [&b"PK\x03\x04name"[..], &array[..], b"between", &array[..]].concat();
        let expected = [136, 136 + 40 + 7 + 128].map(|offset| NumberRun { offset, count: 5, lag: 1 });
        assert_eq!(runs(&file), expected);
        assert!(runs(&file[..170]).is_empty(), "the first one is truncated");
        assert!(runs(b"text").is_empty() && runs(b"").is_empty());
    }

    #[test]
    fn a_page_header_is_read() {
        // type 0, both sizes 800, then { values 100, encoding 0, level encodings 3 and 3 }.
        let header =
            [0x15, 0, 0x15, 0xc0, 0x0c, 0x15, 0xc0, 0x0c, 0x2c, 0x15, 0xc8, 1, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0];
        let found = page(&header).map(|page| (page.header, page.size, page.values, page.plain));
        assert_eq!(found, Some((20, 800, 100, true)));
        assert!(page(&header[..10]).is_none() && page(b"\xff\xff\xff\xff").is_none());
        let mut file = b"PAR1".to_vec();
        file.extend_from_slice(&header);
        file.extend_from_slice(&[1; 800]);
        assert_eq!(runs(&file), [NumberRun { offset: 24, count: 100, lag: 1 }]);
        assert!(runs(&file[..500]).is_empty());
    }
}
