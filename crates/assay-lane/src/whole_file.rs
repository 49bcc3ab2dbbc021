//! A file whose end is an error to whoever reads beyond it. Parquet's reader of page headers takes the end of a file for bytes
//! that were skipped: a header of some bytes that announces a list of millions keeps it busy for seconds.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};

use bytes::Bytes;
use parquet::errors::Result;
use parquet::file::reader::{ChunkReader, Length};

/// The file.
#[derive(Debug)]
pub(crate) struct WholeFile(pub(crate) File);

/// Reads from a place in the file on.
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

    fn get_read(&self, start: u64) -> Result<Self::T> {
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
