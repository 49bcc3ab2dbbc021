//! A file for which reading beyond the end is an error. Parquet's reader of page headers treats the end of a file as
//! skipped bytes: a header of some bytes that declares a list of millions occupies it for seconds. The footer and the
//! page headers must also be those of a trace ([`crate::parquet_shape`]).

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use crate::parquet_shape::{is_footer, is_page_header};

/// Length of a Parquet file's tail: the footer's length and a magic number.
const TAIL_BYTES: u64 = 8;
/// Maximum size of the footer, in bytes: that of a trace has a few hundred for each column.
const MAX_FOOTER_BYTES: u64 = 64 << 20;
/// Maximum size of a page header, in bytes.
const MAX_PAGE_HEADER_BYTES: usize = 4096;

/// The file.
#[derive(Debug)]
pub(crate) struct WholeFile(File);

impl WholeFile {
    /// Opens a file, and checks its footer.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut tail = [0; 8];
        file.read_exact_at(&mut tail, length.checked_sub(TAIL_BYTES).ok_or_else(|| other("a file without an end"))?)?;
        let [a, b, c, d, ..] = tail;
        let footer = u64::from(u32::from_le_bytes([a, b, c, d]));
        let start = (length - TAIL_BYTES).checked_sub(footer).filter(|_| footer <= MAX_FOOTER_BYTES);
        let start = start.ok_or_else(|| other("a footer that is longer than its file"))?;
        // Only now, so that a file of eight bytes causes no larger allocation.
        let mut bytes = vec![0; usize::try_from(footer).unwrap_or_default()];
        file.read_exact_at(&mut bytes, start)?;
        if is_footer(&bytes) { Ok(Self(file)) } else { Err(other("a footer that no trace has")) }
    }
}

fn other(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

/// Reads from a position in the file onwards.
#[derive(Debug)]
pub(crate) struct UpToTheEnd<R>(R);

impl<R: Read> Read for UpToTheEnd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 if !buffer.is_empty() => Err(ErrorKind::UnexpectedEof.into()),
            read => Ok(read),
        }
    }
}

impl Length for WholeFile {
    fn len(&self) -> u64 {
        Length::len(&self.0)
    }
}

impl ChunkReader for WholeFile {
    type T = UpToTheEnd<BufReader<File>>;

    /// Called for the end of the file, and for each page at its header.
    fn get_read(&self, start: u64) -> Result<Self::T> {
        if start.checked_add(TAIL_BYTES) != Some(self.len()) {
            let mut header = [0; MAX_PAGE_HEADER_BYTES];
            let read = self.0.read_at(&mut header, start)?;
            if !is_page_header(&header[..read]) {
                return Err(other("a header of a page that no trace has"));
            }
        }
        self.0.get_read(start).map(UpToTheEnd)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.0.get_bytes(start, length)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn nothing_can_be_skipped_beyond_the_end() {
        let mut four = UpToTheEnd(&[1_u8; 4][..]);
        assert_eq!(io::copy(&mut four.by_ref().take(3), &mut io::sink()).unwrap(), 3);
        let beyond = io::copy(&mut four.by_ref().take(2), &mut io::sink());
        assert_eq!(beyond.unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(four.read(&mut []).unwrap(), 0);
    }
}
