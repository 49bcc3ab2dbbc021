//! The structures of a trace's Parquet file in Thrift's compact protocol: the footer, and the headers of pages.
//!
//! Parquet's reader skips unknown fields, and a list of booleans takes no bytes there: six bytes that declare two
//! thousand million of them occupy the reader for seconds, and a file has space for many. So everything not in these
//! tables is refused before the reader sees it: other fields, other types, fields out of order. Every remaining element
//! takes at least one byte.
//!
//! The tables follow Apache Parquet's format (`parquet.thrift`, version 2.11), as far as writers of traces use it.

use FieldType::{Bool, Bytes, I8, I16, I32, I64, List, PageBytes, Struct};

/// Maximum size of a page, in bytes: the reader allocates the declared size. Pages of a trace have 1 MiB.
const MAX_PAGE_BYTES: u64 = 64 << 20;

/// A field's type.
enum FieldType {
    Bool,
    I8,
    I16,
    I32,
    I64,
    /// An `I32` that contains the size of a page.
    PageBytes,
    Bytes,
    Struct(Fields),
    List(&'static FieldType),
}

/// The fields of a structure by their numbers.
type Fields = &'static [(i16, FieldType)];

const KEY_VALUE: Fields = &[(1, Bytes), (2, Bytes)];
const LOGICAL_TYPE: Fields = &[(1, Struct(&[])), (10, Struct(&[(1, I8), (2, Bool)]))];
const SCHEMA_ELEMENT: Fields = &[
    (1, I32),
    (2, I32),
    (3, I32),
    (4, Bytes),
    (5, I32),
    (6, I32),
    (7, I32),
    (8, I32),
    (9, I32),
    (10, Struct(LOGICAL_TYPE)),
];
const STATISTICS: Fields = &[(1, Bytes), (2, Bytes), (3, I64), (4, I64), (5, Bytes), (6, Bytes), (7, Bool), (8, Bool)];
const ENCODING_STATISTICS: Fields = &[(1, I32), (2, I32), (3, I32)];
const SIZE_STATISTICS: Fields = &[(1, I64), (2, List(&I64)), (3, List(&I64))];
const COLUMN_META_DATA: Fields = &[
    (1, I32),
    (2, List(&I32)),
    (3, List(&Bytes)),
    (4, I32),
    (5, I64),
    (6, I64),
    (7, I64),
    (8, List(&Struct(KEY_VALUE))),
    (9, I64),
    (10, I64),
    (11, I64),
    (12, Struct(STATISTICS)),
    (13, List(&Struct(ENCODING_STATISTICS))),
    (16, Struct(SIZE_STATISTICS)),
];
const COLUMN_CHUNK: Fields =
    &[(1, Bytes), (2, I64), (3, Struct(COLUMN_META_DATA)), (4, I64), (5, I32), (6, I64), (7, I32)];
const ROW_GROUP: Fields = &[(1, List(&Struct(COLUMN_CHUNK))), (2, I64), (3, I64), (5, I64), (6, I64), (7, I16)];
const FOOTER: Fields = &[
    (1, I32),
    (2, List(&Struct(SCHEMA_ELEMENT))),
    (3, I64),
    (4, List(&Struct(ROW_GROUP))),
    (5, List(&Struct(KEY_VALUE))),
    (6, Bytes),
    (7, List(&Struct(&[(1, Struct(&[])), (2, Struct(&[]))]))),
];
const PAGE_HEADER: Fields = &[
    (1, I32),
    (2, PageBytes),
    (3, PageBytes),
    (4, I32),
    (5, Struct(&[(1, I32), (2, I32), (3, I32), (4, I32), (5, Struct(STATISTICS))])),
    (7, Struct(&[(1, I32), (2, I32), (3, Bool)])),
];

/// Returns true if these bytes begin with the footer of a trace.
pub(crate) fn is_footer(bytes: &[u8]) -> bool {
    Input(bytes).structure(FOOTER).is_some()
}

/// Returns true if these bytes begin with the header of a page of a trace.
pub(crate) fn is_page_header(bytes: &[u8]) -> bool {
    Input(bytes).structure(PAGE_HEADER).is_some()
}

/// The remaining input.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn structure(&mut self, fields: Fields) -> Option<()> {
        let mut number = 0_i16;
        loop {
            let header = self.byte()?;
            if header & 0x0f == 0 {
                return (header == 0).then_some(());
            }
            // Larger steps between field numbers use a long form, which no writer of traces needs.
            let step = i16::from(header >> 4);
            number = number.checked_add(step).filter(|_| step > 0)?;
            let (_, kind) = fields.iter().find(|(known, _)| *known == number)?;
            self.value(kind, header & 0x0f)?;
        }
    }

    /// Skips a value whose declared type is `wire`.
    fn value(&mut self, kind: &FieldType, wire: u8) -> Option<()> {
        match (kind, wire) {
            (Bool, 1 | 2) => Some(()),
            (I8, 3) => self.byte().map(drop),
            (I16, 4) | (I32, 5) | (I64, 6) => self.number().map(drop),
            // Signed numbers are zigzag-encoded: a positive value is doubled.
            (PageBytes, 5) => {
                let number = self.number()?;
                (number % 2 == 0 && number / 2 <= MAX_PAGE_BYTES).then_some(())
            }
            (Bytes, 8) => {
                let length = usize::try_from(self.number()?).ok()?;
                self.0 = self.0.get(length..)?;
                Some(())
            }
            (List(element), 9) => self.list(element),
            (Struct(fields), 12) => self.structure(fields),
            _ => None,
        }
    }

    fn list(&mut self, element: &FieldType) -> Option<()> {
        let header = self.byte()?;
        let length = match header >> 4 {
            15 => self.number()?,
            short => short.into(),
        };
        // The loop ends with the input at the latest, because lists of booleans are not supported.
        (0..length).try_for_each(|_| self.value(element, header & 0x0f))
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// Reads a number encoded with seven bits per byte.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_structures_are_rejected_at_once() {
        // A footer that contains only a version.
        assert!(is_footer(&[0x15, 2, 0]));
        for (what, bytes) in [
            (
                "two thousand million truth values in a field that is skipped",
                &[0xd9, 0xf1, 0xff, 0xff, 0xff, 0xff, 7, 0][..],
            ),
            ("the same in a field with another type", &[0x39, 0xf1, 0xff, 0xff, 0xff, 0xff, 7, 0]),
            ("a list of as many numbers without them", &[0x29, 0xfc, 0xff, 0xff, 0xff, 0xff, 7, 0]),
            ("a map", &[0x1b, 0xff, 0xff, 0xff, 0xff, 7, 0x11, 0]),
            ("a field that is numbered at length", &[0x05, 2, 2, 0]),
            ("an end with something in it", &[0x15, 2, 0x10]),
            ("no end", &[0x15, 2]),
            ("a text that is longer than the rest", &[0x68, 5, b'a', 0]),
            ("a number that does not end", &[0x15, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0]),
        ] {
            assert!(!is_footer(bytes), "{what}");
        }
        assert!(is_page_header(&[0x15, 0, 0x15, 4, 0x15, 4, 0x2c, 0x15, 2, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0]));
        assert!(!is_page_header(&[0x15, 0, 0x15, 255, 255, 255, 255, 7, 0x15, 4, 0]), "a page of a gibibyte");
        assert!(!is_page_header(&[0x15, 0, 0xe9, 0xf1, 0xff, 0xff, 0xff, 0xff, 7, 0]));
    }
}
