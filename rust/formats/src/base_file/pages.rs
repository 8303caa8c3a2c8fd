//! The pages of Parquet column chunks, those of gzip inflated here.
//!
//! Hudi compresses base files by gzip by default, and inflating them is half of the work of reading them. The parquet
//! crate inflates a page as a stream; libdeflate takes it as a whole, in two thirds of the time. So the crate's page
//! reader gets metadata by which such chunks are not compressed, and what it returns is inflated before it is decoded.

use std::sync::Arc;

use bytes::Bytes;
use libdeflater::Decompressor;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::Compression;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;

use super::checked_pages::CheckedPages;
use super::source_bytes::SourceBytes;
use mortice_base::gzip::{MAX_RATIO, inflate_member, inflate_stream};

/// The most bytes of a page: its length is a signed integer of 32 bits in its header.
const MAX_PAGE: usize = i32::MAX as usize;

/// The column chunks of some row groups of a file.
pub(super) struct ColumnPages {
    bytes: Arc<SourceBytes>,
    metadata: Arc<ParquetMetaData>,
    row_groups: Vec<usize>,
    leaves_pages_out: bool,
}

impl ColumnPages {
    /// The chunks of `row_groups`, by their numbers in the file; of all of them for `None`.
    pub(super) fn new(bytes: SourceBytes, metadata: Arc<ParquetMetaData>, row_groups: Option<Vec<usize>>) -> Self {
        let row_groups = row_groups.unwrap_or_else(|| (0..metadata.num_row_groups()).collect());
        Self { bytes: Arc::new(bytes), metadata, row_groups, leaves_pages_out: false }
    }

    /// The same for a selection of rows. Pages are left out by what their headers say, so that the headers are compared
    /// with the footer before.
    pub(super) fn with_pages_left_out(mut self) -> Self {
        self.leaves_pages_out = true;
        self
    }

    /// The pages of a column chunk.
    pub(super) fn pages(&self, row_group: usize, column: usize) -> Result<Box<dyn PageReader>> {
        let (bytes, metadata) = (Arc::clone(&self.bytes), Arc::clone(&self.metadata));
        Chunks { bytes, metadata, row_groups: Vec::new().into_iter(), column, leaves_pages_out: false }.pages(row_group)
    }
}

impl RowGroups for ColumnPages {
    fn num_rows(&self) -> usize {
        self.row_groups().map(|group| usize::try_from(group.num_rows()).unwrap_or(0)).sum()
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        let (bytes, metadata) = (Arc::clone(&self.bytes), Arc::clone(&self.metadata));
        let (row_groups, leaves_pages_out) = (self.row_groups.clone().into_iter(), self.leaves_pages_out);
        Ok(Box::new(Chunks { bytes, metadata, row_groups, column, leaves_pages_out }))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.row_groups.iter().filter_map(|group| self.metadata.row_groups().get(*group)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// One column's chunks, row group by row group.
struct Chunks {
    bytes: Arc<SourceBytes>,
    metadata: Arc<ParquetMetaData>,
    row_groups: std::vec::IntoIter<usize>,
    column: usize,
    leaves_pages_out: bool,
}

impl Chunks {
    fn pages(&self, row_group: usize) -> Result<Box<dyn PageReader>> {
        let group = self.metadata.row_groups().get(row_group);
        let group = group.ok_or_else(|| ParquetError::General(format!("no row group {row_group}")))?;
        let chunk = group.columns().get(self.column);
        let chunk = chunk.ok_or_else(|| ParquetError::General(format!("no column chunk {}", self.column)))?;
        let rows = usize::try_from(group.num_rows())?;
        let reader =
            |chunk: &ColumnChunkMetaData| SerializedPageReader::new(Arc::clone(&self.bytes), chunk, rows, None);
        let pages: Box<dyn PageReader> = if matches!(chunk.compression(), Compression::GZIP(_)) {
            let stored = chunk.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build()?;
            Box::new(Inflating { stored: reader(&stored)?, decompressor: Decompressor::new() })
        } else {
            Box::new(reader(chunk)?)
        };
        let pages = CheckedPages::new(pages, Arc::clone(&self.bytes), chunk, row_group);
        if self.leaves_pages_out {
            pages.check_headers(&mut reader(chunk)?)?;
        }
        Ok(Box::new(pages))
    }
}

impl Iterator for Chunks {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        let group = self.row_groups.next()?;
        Some(self.pages(group))
    }
}

impl PageIterator for Chunks {}

/// The pages of one chunk, inflated.
struct Inflating {
    /// The pages as they are stored.
    stored: SerializedPageReader<SourceBytes>,
    decompressor: Decompressor,
}

impl Inflating {
    fn inflated(&mut self, mut page: Page) -> Result<Page> {
        match &mut page {
            Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. } => {
                *buf = inflate(&mut self.decompressor, buf, 0)?;
            }
            Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, is_compressed: true, .. } => {
                let levels = (*def_levels_byte_len as usize).saturating_add(*rep_levels_byte_len as usize);
                *buf = inflate(&mut self.decompressor, buf, levels)?;
            }
            Page::DataPageV2 { is_compressed: false, .. } => {}
        }
        Ok(page)
    }
}

impl Iterator for Inflating {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Inflating {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.stored.get_next_page()?;
        page.map(|page| self.inflated(page)).transpose()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.stored.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.stored.skip_next_page()
    }

    fn supports_deferred_dictionary(&self) -> bool {
        self.stored.supports_deferred_dictionary()
    }

    fn take_deferred_dictionary(&mut self) -> Result<Option<Page>> {
        let page = self.stored.take_deferred_dictionary()?;
        page.map(|page| self.inflated(page)).transpose()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.stored.at_record_boundary()
    }
}

/// Returns a page whose first `plain` bytes are not compressed, with the rest inflated.
fn inflate(decompressor: &mut Decompressor, page: &Bytes, plain: usize) -> Result<Bytes> {
    let (Some(levels), Some(gzip)) = (page.get(..plain), page.get(plain..)) else {
        return Err(ParquetError::General(format!("invalid page: {} bytes, {plain} of them levels", page.len())));
    };
    // A page without a value may have no content at all.
    if gzip.is_empty() {
        return Ok(page.clone());
    }
    // A gzip member ends with the length of its content.
    let Some((rest, len)) = gzip.split_last_chunk() else {
        return Err(ParquetError::General(format!("invalid gzip page of {} bytes", gzip.len())));
    };
    let len = u32::from_le_bytes(*len) as usize;
    if len <= rest.len().saturating_mul(MAX_RATIO) && plain.saturating_add(len) <= MAX_PAGE {
        let mut inflated = vec![0; plain.saturating_add(len)];
        if let Some((head, content)) = inflated.split_at_mut_checked(plain) {
            head.copy_from_slice(levels);
            if inflate_member(decompressor, gzip, content) {
                return Ok(inflated.into());
            }
        }
    }
    let mut inflated = levels.to_vec();
    inflate_stream(gzip, MAX_PAGE as u64 + 1, &mut inflated)
        .map_err(|error| ParquetError::General(format!("invalid gzip page of {} bytes: {error}", gzip.len())))?;
    if inflated.len() > MAX_PAGE {
        return Err(ParquetError::General(format!("invalid gzip page: more than {MAX_PAGE} inflated bytes")));
    }
    Ok(inflated.into())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn inflated(page: Vec<u8>, plain: usize) -> Result<Vec<u8>> {
        inflate(&mut Decompressor::new(), &page.into(), plain).map(|bytes| bytes.to_vec())
    }

    #[test]
    fn pages_are_inflated() {
        let long: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        for content in [&b""[..], b"a", b"words and words and words", &long] {
            assert_eq!(inflated(gzip(content), 0).unwrap(), content);
            let levels = [&b"\x01\x02\x03"[..], &gzip(content)].concat();
            assert_eq!(inflated(levels, 3).unwrap(), [&b"\x01\x02\x03"[..], content].concat());
        }
    }

    #[test]
    fn pages_without_content_are_as_they_are() {
        assert_eq!(inflated(Vec::new(), 0).unwrap(), b"");
        assert_eq!(inflated(b"ab".to_vec(), 2).unwrap(), b"ab");
        assert!(inflated(b"ab".to_vec(), 3).is_err());
    }

    #[test]
    fn pages_of_several_members_are_inflated_to_their_end() {
        let members = [gzip(b"first"), gzip(b"other"), gzip(b"a longer one")].concat();
        assert_eq!(inflated(members, 0).unwrap(), b"firstothera longer one");
        let of_one_length = [gzip(b"first"), gzip(b"other")].concat();
        assert_eq!(inflated(of_one_length, 0).unwrap(), b"firstother");
        let alike = [gzip(b"first"), gzip(b"first")].concat();
        assert_eq!(inflated(alike, 0).unwrap(), b"firstfirst");
    }

    #[test]
    fn what_looks_like_a_member_within_one_is_inflated() {
        let content = [&b"\x1f\x8b\x08"[..], b"between", b"\x1f\x8b\x08"].concat();
        let mut stored = GzEncoder::new(Vec::new(), flate2::Compression::none());
        stored.write_all(&content).unwrap();
        assert_eq!(inflated(stored.finish().unwrap(), 0).unwrap(), content);
    }

    #[test]
    fn damage_is_an_error() {
        let whole = gzip(b"words and words and words");
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x55;
            // A few bytes of the header carry nothing: time, system, level.
            if !(4..10).contains(&at) {
                assert!(inflated(damaged, 0).is_err(), "byte {at}");
            }
            assert!(at == 0 || inflated(whole[..at].to_vec(), 0).is_err(), "cut at {at}");
        }
        let mut long = whole;
        let at = long.len() - 4;
        long[at..].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(inflated(long, 0).is_err());
    }
}
