//! How many bytes the rows of a parquet column chunk take once they are decoded.
//!
//! | what is known | from |
//! |---|---|
//! | values of a fixed size | the number of values |
//! | all bytes of the strings of a chunk | size statistics, if the writer leaves them; the pages' bytes, if they are plain |
//! | where in the chunk they are | the headers of pages, which are read if the chunk is large |
//! | bytes of the strings of a dictionary | the dictionary, if its strings are long |
//!
//! A dictionary is why the bytes of a file say little: a string of a megabyte takes some bits in each row.

use std::ops::Range;

use bytes::Bytes;
use parquet::basic::{Encoding, Type};
use parquet::column::page::Page;
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};

use super::batch_plan::SizedRows;
use super::page_header::{PageHeader, PageKind, page_header};
use mortice_base::batch_limit::BatchLimit;
use mortice_base::cursor::Cursor;
use mortice_base::error::Result;
use mortice_storage::FileSource;

/// A chunk of a smaller share of a batch is taken as one: it cannot make a batch too large.
const SMALL: usize = 4;
/// Bytes of the head of a page that are read at first.
const HEAD: u64 = 128;
/// The most bytes of a page's head: it may contain the least and the greatest value.
const MOST_HEAD: u64 = 16 << 20;
/// Bytes of the offset of a string in memory.
const OFFSET: u64 = 4;

/// The encodings in parquet.thrift that tell no size.
mod encoding {
    pub(super) const PLAIN_DICTIONARY: i64 = 2;
    pub(super) const DELTA_BYTE_ARRAY: i64 = 7;
    pub(super) const RLE_DICTIONARY: i64 = 8;
}

/// A column chunk whose pages may be looked at.
pub(super) struct SizedChunk<'a> {
    pub(super) source: &'a dyn FileSource,
    pub(super) group: &'a RowGroupMetaData,
    pub(super) chunk: &'a ColumnChunkMetaData,
    /// Reads the first page: the dictionary.
    pub(super) first_page: &'a dyn Fn() -> ParquetResult<Option<Page>>,
}

impl SizedChunk<'_> {
    /// The sizes of the rows, in the order of the file.
    pub(super) fn rows(&self, limit: BatchLimit) -> Vec<SizedRows> {
        let whole = |bytes| vec![SizedRows { rows: self.group_rows(), bytes }];
        let values = positive(self.chunk.num_values());
        let descriptor = self.chunk.column_descr();
        let of_value = match self.chunk.column_type() {
            Type::BYTE_ARRAY => None,
            Type::FIXED_LEN_BYTE_ARRAY => Some(positive(i64::from(descriptor.type_length()))),
            Type::BOOLEAN => Some(1),
            Type::INT32 | Type::FLOAT => Some(4),
            Type::INT64 | Type::DOUBLE | Type::INT96 => Some(8),
        };
        let known = match of_value {
            Some(of_value) => Some(values.saturating_mul(of_value)),
            None => self.string_bytes().map(|bytes| bytes.saturating_add(values.saturating_mul(OFFSET))),
        };
        let is_small = |bytes: u64| bytes <= (limit.bytes() / SMALL) as u64;
        match known {
            Some(bytes) if is_small(bytes) => whole(bytes),
            // Rows of one value of a fixed size are alike.
            Some(bytes) if of_value.is_some() && descriptor.max_rep_level() == 0 => whole(bytes),
            _ if self.source.is_remote() => whole(known.unwrap_or_else(|| positive(self.chunk.uncompressed_size()))),
            _ => match self.pages() {
                Ok(pages) => self.of_pages(&pages, known, of_value, limit),
                // Damage is reported where the page is read.
                Err(_) => whole(known.unwrap_or_else(|| positive(self.chunk.uncompressed_size()))),
            },
        }
    }

    fn group_rows(&self) -> u64 {
        positive(self.group.num_rows())
    }

    /// The bytes of all strings, if the footer has them.
    fn string_bytes(&self) -> Option<u64> {
        if let Some(bytes) = self.chunk.unencoded_byte_array_data_bytes() {
            return u64::try_from(bytes).ok();
        }
        let shows_size = |encoding| {
            !matches!(encoding, Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY | Encoding::DELTA_BYTE_ARRAY)
        };
        let is_sized = self.chunk.dictionary_page_offset().is_none() && self.chunk.encodings().all(shows_size);
        is_sized.then(|| positive(self.chunk.uncompressed_size()))
    }

    /// The headers of the pages.
    fn pages(&self) -> Result<Vec<PageHeader>> {
        let (start, len) = self.chunk.byte_range();
        let (mut at, end) = (start, start.saturating_add(len).min(self.source.len()));
        let mut pages = Vec::new();
        while at < end {
            let (header, head) = self.page_at(at..end)?;
            at = at.saturating_add(head).saturating_add(positive(header.len));
            pages.push(header);
        }
        Ok(pages)
    }

    /// The header at the beginning of a range, and its length.
    fn page_at(&self, range: Range<u64>) -> Result<(PageHeader, u64)> {
        let mut len = HEAD;
        loop {
            let end = range.start.saturating_add(len).min(range.end);
            let bytes: Bytes = self.source.read(range.start..end)?;
            let mut cursor = Cursor::new(&bytes);
            match page_header(&mut cursor) {
                Ok(header) => return Ok((header, cursor.position() as u64)),
                Err(error) if end == range.end || len >= MOST_HEAD => return Err(error),
                Err(_) => len = len.saturating_mul(16),
            }
        }
    }

    /// The sizes of rows by the headers of their pages. `known` are the bytes of all values, `of_value` those of each.
    fn of_pages(
        &self,
        pages: &[PageHeader],
        known: Option<u64>,
        of_value: Option<u64>,
        limit: BatchLimit,
    ) -> Vec<SizedRows> {
        let all_values = positive(self.chunk.num_values()).max(1);
        let rows_of = |page: &PageHeader| match page.rows {
            Some(rows) => rows,
            None if self.chunk.column_descr().max_rep_level() == 0 => page.values,
            None => of_all(self.group_rows(), page.values, all_values),
        };
        let data = || pages.iter().filter(|page| page.kind == PageKind::Data);
        let unsized_value = || self.unsized_value(pages, known, limit);
        let of_unsized = if data().any(|page| !is_sized(page)) && of_value.is_none() { unsized_value() } else { 0 };
        let bytes_of = |page: &PageHeader| match of_value {
            Some(of_value) => page.values.saturating_mul(of_value),
            None if is_sized(page) => page.decompressed.saturating_add(page.values.saturating_mul(OFFSET)),
            None => page.values.saturating_mul(of_unsized.saturating_add(OFFSET)),
        };
        data().map(|page| SizedRows { rows: rows_of(page), bytes: bytes_of(page) }).collect()
    }

    /// The bytes of a value of the pages that do not tell them.
    fn unsized_value(&self, pages: &[PageHeader], known: Option<u64>, limit: BatchLimit) -> u64 {
        let data = || pages.iter().filter(|page| page.kind == PageKind::Data);
        if let Some(known) = known {
            let elsewhere = data().filter(|page| is_sized(page)).map(|page| page.decompressed);
            let left = known.saturating_sub(elsewhere.fold(0, u64::saturating_add));
            let values = data().filter(|page| !is_sized(page)).map(|page| page.values).fold(0, u64::saturating_add);
            return left / values.max(1);
        }
        let Some(dictionary) = pages.iter().find(|page| page.kind == PageKind::Dictionary) else {
            // Strings that share their beginnings: about as long as if they shared half of them.
            let bytes = data().map(|page| page.decompressed).fold(0, u64::saturating_add);
            return bytes.saturating_mul(2) / positive(self.chunk.num_values()).max(1);
        };
        let on_average = dictionary.decompressed / dictionary.values.max(1);
        let is_short = on_average.saturating_mul(limit.rows() as u64) <= (limit.bytes() / SMALL) as u64;
        if is_short { on_average } else { self.longest_of_dictionary().unwrap_or(on_average) }
    }

    fn longest_of_dictionary(&self) -> Option<u64> {
        let Ok(Some(Page::DictionaryPage { buf, .. })) = (self.first_page)() else { return None };
        let (mut rest, mut longest) = (buf.as_ref(), 0);
        while let Some((len, values)) = rest.split_first_chunk() {
            let len = u32::from_le_bytes(*len);
            longest = longest.max(len);
            rest = values.get(len as usize..)?;
        }
        Some(u64::from(longest))
    }
}

/// Whether the bytes of a page of strings are those of its strings.
const fn is_sized(page: &PageHeader) -> bool {
    !matches!(page.encoding, encoding::PLAIN_DICTIONARY | encoding::RLE_DICTIONARY | encoding::DELTA_BYTE_ARRAY)
}

/// The share of `all` that `some` of `count` have.
fn of_all(all: u64, some: u64, count: u64) -> u64 {
    u64::try_from(u128::from(all) * u128::from(some) / u128::from(count.max(1))).unwrap_or(u64::MAX)
}

fn positive(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
