//! Reads the columns of an untrusted recording. The parquet crate panics on some damaged files, so its assumptions are
//! checked here first.

use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::RowGroupReader;

/// Size of the shortest value in a recording, a whole number of 32-bit words.
const LEAST_VALUE_BYTES: u64 = 4;

/// Opens column `index` of `group`.
pub(crate) fn open_column(group: &dyn RowGroupReader, index: usize) -> Result<ColumnReader> {
    let chunk = group.metadata().column(index);
    if !has_place(chunk) {
        return Err(ParquetError::General("a column has no position in the file".to_owned()));
    }
    let descriptor = chunk.column_descr_ptr();
    // At most one value per row, so no lists.
    if descriptor.max_rep_level() > 0 || descriptor.max_def_level() > 1 {
        return Err(ParquetError::General("a column of lists".to_owned()));
    }
    let is_full_of_doubles = descriptor.physical_type() == Type::DOUBLE && descriptor.max_def_level() == 0;
    let pages = CheckedPages { pages: group.get_column_page_reader(index)?, has_dictionary: false, is_full_of_doubles };
    Ok(get_column_reader(descriptor, Box::new(pages)))
}

fn has_place(chunk: &ColumnChunkMetaData) -> bool {
    let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
    start >= 0 && chunk.compressed_size() >= 0
}

/// Pages of the kinds used in recordings: of the first version, with an encoding that traces use.
struct CheckedPages {
    pages: Box<dyn PageReader>,
    has_dictionary: bool,
    /// True if every row has a double.
    is_full_of_doubles: bool,
}

impl CheckedPages {
    fn check(&mut self, page: Page) -> Result<Page> {
        let problem = match &page {
            Page::DictionaryPage { .. } if self.has_dictionary => "a second dictionary",
            // The reader allocates space for the declared number of values.
            Page::DictionaryPage { buf, num_values, .. }
                if u64::from(*num_values) * LEAST_VALUE_BYTES > buf.len() as u64 =>
            {
                "a dictionary that is longer than its page"
            }
            Page::DictionaryPage { .. } => {
                self.has_dictionary = true;
                return Ok(page);
            }
            Page::DataPage { buf, num_values, encoding, .. } => match encoding {
                Encoding::PLAIN => return Ok(page),
                Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY if self.has_dictionary => return Ok(page),
                Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => "a page without its dictionary",
                Encoding::BYTE_STREAM_SPLIT
                    if self.is_full_of_doubles && u64::from(*num_values) * 8 == buf.len() as u64 =>
                {
                    return Ok(page);
                }
                _ => "a page of another encoding or length than a recording has",
            },
            Page::DataPageV2 { .. } => "a page of a version that no recording has",
        };
        Err(ParquetError::General(problem.to_owned()))
    }
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.pages.get_next_page()?.map(|page| self.check(page)).transpose()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}
