//! Pages that are compared with the footer as they are read.
//!
//! The checksum of a page is that of its content. Its header has none: a changed bit in it may hide values, or decode
//! them as others. So the numbers of values are compared with that of the column chunk, and encodings with those that
//! the footer lists.

use std::ops::Range;
use std::sync::Arc;

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;

use super::page_checksums::{check_chunk, in_chunk};
use super::source_bytes::{SourceBytes, chunk_range};
use mortice_base::error::Error;

/// The pages of a column chunk.
pub(super) struct CheckedPages {
    pages: Box<dyn PageReader>,
    bytes: Arc<SourceBytes>,
    chunk: ColumnChunkMetaData,
    row_group: usize,
    /// Of the pages so far.
    values: u64,
}

impl CheckedPages {
    pub(super) fn new(
        pages: Box<dyn PageReader>,
        bytes: Arc<SourceBytes>,
        chunk: &ColumnChunkMetaData,
        row_group: usize,
    ) -> Self {
        Self { pages, bytes, chunk: chunk.clone(), row_group, values: 0 }
    }

    /// Compares the number of values in all headers of the chunk with the footer's.
    pub(super) fn check_headers(&self, headers: &mut dyn PageReader) -> Result<()> {
        let mut values = 0_u64;
        loop {
            match headers.peek_next_page().map_err(|error| self.located(error))? {
                Some(page) => values = values.saturating_add(values_of(&page)),
                None => return self.check_values(values),
            }
            headers.skip_next_page().map_err(|error| self.located(error))?;
        }
    }

    fn check_values(&self, found: u64) -> Result<()> {
        match u64::try_from(self.chunk.num_values()) {
            Ok(expected) if expected == found => Ok(()),
            _ => Err(self.damaged(&format!("{found} values in its pages, {} by the footer", self.chunk.num_values()))),
        }
    }

    fn check_page(&mut self, page: &Page) -> Result<()> {
        let (encoding, levels) = match page {
            Page::DictionaryPage { .. } => return Ok(()),
            Page::DataPage { encoding, def_level_encoding, rep_level_encoding, .. } => {
                (*encoding, [*def_level_encoding, *rep_level_encoding])
            }
            Page::DataPageV2 { encoding, .. } => (*encoding, [Encoding::RLE; 2]),
        };
        self.values = self.values.saturating_add(u64::from(page.num_values()));
        let unlisted = (!self.is_listed(encoding)).then_some(encoding);
        // Levels are runs, which writers need not list, or in files of old releases bit-packed values.
        let is_other = |level: &Encoding| *level != Encoding::RLE && !self.is_listed(*level);
        match unlisted.or_else(|| levels.into_iter().find(is_other)) {
            Some(other) => {
                Err(self.damaged(&format!("a page has the encoding {other}, which the footer does not list")))
            }
            None => Ok(()),
        }
    }

    /// Whether the footer lists an encoding for the chunk. The encoding of a dictionary's indexes has two names.
    fn is_listed(&self, encoding: Encoding) -> bool {
        const INDEXES: [Encoding; 2] = [Encoding::RLE_DICTIONARY, Encoding::PLAIN_DICTIONARY];
        let statistics = self.chunk.page_encoding_stats_mask();
        let has = |one| self.chunk.encodings_mask().is_set(one) || statistics.is_some_and(|mask| mask.is_set(one));
        if INDEXES.contains(&encoding) { INDEXES.into_iter().any(has) } else { has(encoding) }
    }

    fn damaged(&self, what: &str) -> ParquetError {
        let error = Error::invalid_table(format!("the Parquet file is damaged: {what}"));
        self.failed(error.at_offset(self.range().start))
    }

    /// An error of reading a page. If the checksum of a page is wrong, it says where that page is.
    fn located(&self, error: ParquetError) -> ParquetError {
        let range = self.range();
        let wrong = self.bytes.source.read(range.clone()).and_then(|content| check_chunk(&content, &range)).err();
        match wrong {
            Some(wrong) => self
                .failed(Error::invalid_table(wrong.text()).at_offset(wrong.location().offset.unwrap_or(range.start))),
            None => self.failed(
                Error::invalid_table("cannot read a page: it is damaged, or uses an unsupported feature")
                    .caused_by(error)
                    .at_offset(range.start),
            ),
        }
    }

    fn failed(&self, error: Error) -> ParquetError {
        let located = in_chunk(error, &self.chunk.column_path().string(), self.row_group);
        self.bytes.failed(self.bytes.error(located))
    }

    fn range(&self) -> Range<u64> {
        chunk_range(&self.chunk)
    }
}

fn values_of(page: &PageMetadata) -> u64 {
    page.num_levels.unwrap_or(0) as u64
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page().map_err(|error| self.located(error))?;
        match &page {
            Some(page) => self.check_page(page)?,
            None => self.check_values(self.values)?,
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page().map_err(|error| self.located(error))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        let page = self.peek_next_page()?;
        self.values = self.values.saturating_add(page.map_or(0, |page| values_of(&page)));
        self.pages.skip_next_page().map_err(|error| self.located(error))
    }

    fn supports_deferred_dictionary(&self) -> bool {
        self.pages.supports_deferred_dictionary()
    }

    fn take_deferred_dictionary(&mut self) -> Result<Option<Page>> {
        self.pages.take_deferred_dictionary().map_err(|error| self.located(error))
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary().map_err(|error| self.located(error))
    }
}
