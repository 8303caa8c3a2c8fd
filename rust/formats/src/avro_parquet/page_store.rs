//! The pages of column chunks, with their checksums, and compressed where that is gzip.
//!
//! The parquet crate writes no checksums of pages (field `crc` of their headers), without which most codecs do not
//! notice a changed byte. Its own gzip encoder deflates a page as a stream, which is most of the work of writing;
//! libdeflate takes a page as a whole in three fifths of the time. So the crate writes its pages into a store of ours,
//! which compresses them if they are to be gzip, and adds their checksums; then the sizes in their headers and in the
//! chunk's metadata are changed to those that are written.

use std::io::{Cursor, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Buf, Bytes};
use parquet::arrow::arrow_writer::{PageKey, PageStore, PageStoreArgs, PageStoreFactory};
use parquet::basic::{Compression, GzipLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use super::page_header::{PageHeader, PageKind, internal};
use mortice_base::gzip::GzipCompressor;

/// The stores of a file's column chunks.
pub(super) struct FilePages {
    /// Of pages that the crate has not compressed.
    gzip: Option<Arc<Mutex<GzipCompressor>>>,
    /// The chunks of the row group that is begun, in the order of its columns.
    begun: Mutex<Vec<Arc<ChunkStore>>>,
}

impl std::fmt::Debug for FilePages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FilePages").finish_non_exhaustive()
    }
}

impl FilePages {
    /// The stores of pages that are as they are to be written, or are to be compressed by gzip.
    pub(super) fn new(is_gzip: bool) -> Self {
        let gzip = is_gzip.then(|| Arc::new(Mutex::new(GzipCompressor::new())));
        Self { gzip, begun: Mutex::default() }
    }

    /// The chunks whose writers were created since the last call.
    pub(super) fn take_begun(&self) -> Vec<Arc<ChunkStore>> {
        std::mem::take(&mut *locked(&self.begun))
    }
}

impl PageStoreFactory for FilePages {
    fn create(&self, _: &PageStoreArgs<'_>) -> Result<Box<dyn PageStore>> {
        let chunk = Arc::new(ChunkStore::default());
        locked(&self.begun).push(Arc::clone(&chunk));
        Ok(Box::new(Store { gzip: self.gzip.clone(), chunk, header: None }))
    }
}

/// A column chunk: the pages of it that are complete.
#[derive(Default)]
pub(super) struct ChunkStore(Mutex<Pages>);

#[derive(Default)]
struct Pages {
    /// Headers and contents.
    dictionary: Option<[Bytes; 2]>,
    data: Vec<[Bytes; 2]>,
    /// Bytes of all pages with their headers.
    stored: usize,
    /// The same as the crate has made them.
    made: usize,
    /// The bytes by which headers are longer.
    header_growth: usize,
}

impl ChunkStore {
    /// Of an estimate that counts pages as the crate has made them, that with the bytes they have now.
    pub(super) fn stored_estimate(&self, estimate: usize) -> usize {
        let pages = locked(&self.0);
        estimate.saturating_sub(pages.made).saturating_add(pages.stored)
    }

    /// Takes the pages of the complete chunk, and changes what is said of them to the bytes that they have.
    pub(super) fn finish(&self, made: &ColumnCloseResult, is_gzip: bool) -> Result<(ChunkPages, ColumnCloseResult)> {
        let pages = std::mem::take(&mut *locked(&self.0));
        let mut close = made.clone();
        close.bytes_written = pages.stored as u64;
        let plain = close.metadata.uncompressed_size().saturating_add(i64::try_from(pages.header_growth)?);
        let mut metadata = close.metadata.into_builder();
        if is_gzip {
            metadata = metadata.set_compression(Compression::GZIP(GzipLevel::default()));
        }
        close.metadata = metadata
            .set_total_uncompressed_size(plain)
            .set_total_compressed_size(i64::try_from(pages.stored)?)
            .set_data_page_offset(0)
            .set_dictionary_page_offset(None)
            .build()?;
        if let Some(index) = &mut close.offset_index {
            if index.page_locations.len() != pages.data.len() {
                return Err(internal("the offset index has not the pages of its column chunk"));
            }
            let mut offset = 0_i64;
            for (location, page) in index.page_locations.iter_mut().zip(&pages.data) {
                location.offset = offset;
                location.compressed_page_size = i32::try_from(bytes_of(page))?;
                offset = offset.saturating_add(i64::from(location.compressed_page_size));
            }
        }
        let close = close.update_dictionary_location(pages.dictionary.as_ref().map_or(0, bytes_of))?;
        Ok((ChunkPages(pages.dictionary.into_iter().chain(pages.data).flatten().collect()), close))
    }
}

/// Takes a chunk's pages from the crate's writer: of each first the header, then the content.
struct Store {
    gzip: Option<Arc<Mutex<GzipCompressor>>>,
    chunk: Arc<ChunkStore>,
    header: Option<Bytes>,
}

impl Store {
    /// The content of a page as it is stored.
    fn stored(&self, content: Bytes) -> Result<Bytes> {
        let Some(gzip) = &self.gzip else { return Ok(content) };
        let mut compressed = Vec::new();
        let result = locked(gzip).compress(&content, &mut compressed);
        result.map_err(|error| ParquetError::External(Box::new(error)))?;
        Ok(compressed.into())
    }
}

impl PageStore for Store {
    fn put(&mut self, value: Bytes) -> Result<PageKey> {
        let Some(made) = self.header.take() else {
            self.header = Some(value);
            return Ok(PageKey::new(0));
        };
        let made_bytes = made.len().saturating_add(value.len());
        let parsed = PageHeader::parse(&made, value.len())?;
        let content = self.stored(value)?;
        let header = parsed.with_checksum(content.len(), libdeflater::crc32(&content))?;
        let mut pages = locked(&self.chunk.0);
        pages.stored = pages.stored.saturating_add(header.len()).saturating_add(content.len());
        pages.made = pages.made.saturating_add(made_bytes);
        pages.header_growth = pages.header_growth.saturating_add(header.len().saturating_sub(made.len()));
        let page = [Bytes::from(header), content];
        match parsed.kind() {
            PageKind::Data => pages.data.push(page),
            PageKind::Dictionary if pages.dictionary.is_none() => pages.dictionary = Some(page),
            PageKind::Dictionary => return Err(internal("two dictionaries in one column chunk")),
        }
        Ok(PageKey::new(0))
    }

    fn take(&mut self, _: PageKey) -> Result<Bytes> {
        Err(internal("pages are taken from their chunk"))
    }

    fn memory_size(&self) -> usize {
        locked(&self.chunk.0).stored
    }
}

/// The bytes of a page with its header.
fn bytes_of([header, content]: &[Bytes; 2]) -> usize {
    header.len().saturating_add(content.len())
}

/// A chunk's pages, the dictionary first, as the crate reads chunks that are added to a row group.
pub(super) struct ChunkPages(Vec<Bytes>);

impl Length for ChunkPages {
    fn len(&self) -> u64 {
        self.0.iter().map(|page| page.len() as u64).sum()
    }
}

impl ChunkReader for ChunkPages {
    type T = PagesReader;

    fn get_read(&self, start: u64) -> Result<PagesReader> {
        if start != 0 {
            return Err(internal("a column chunk is written from its beginning"));
        }
        Ok(PagesReader { pages: self.0.clone().into_iter(), page: Cursor::new(Bytes::new()) })
    }

    fn get_bytes(&self, _: u64, _: usize) -> Result<Bytes> {
        Err(internal("a column chunk is written as a whole"))
    }
}

pub(super) struct PagesReader {
    pages: std::vec::IntoIter<Bytes>,
    page: Cursor<Bytes>,
}

impl Read for PagesReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while !self.page.has_remaining() {
            let Some(next) = self.pages.next() else { return Ok(0) };
            self.page = Cursor::new(next);
        }
        self.page.read(buffer)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
