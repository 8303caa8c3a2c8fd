//! The pages of column chunks, compressed by gzip as they are completed.
//!
//! The parquet crate's own encoder deflates a page as a stream, which is most of the work of writing. libdeflate takes
//! a page as a whole in three fifths of the time. So the crate writes pages that are not compressed into a store of
//! ours, which compresses them; then the sizes in their headers and in the chunk's metadata are changed to those that
//! are written.

use std::io::{Cursor, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Buf, Bytes};
use parquet::arrow::arrow_writer::{PageKey, PageStore, PageStoreArgs, PageStoreFactory};
use parquet::basic::{Compression, GzipLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use mortice_base::error::Error;
use mortice_base::gzip::GzipCompressor;

/// The stores of a file's column chunks.
pub(super) struct GzipPages {
    compressor: Arc<Mutex<GzipCompressor>>,
    /// The chunks of the row group that is begun, in the order of its columns.
    begun: Mutex<Vec<Arc<GzipChunk>>>,
}

impl std::fmt::Debug for GzipPages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GzipPages").finish_non_exhaustive()
    }
}

impl GzipPages {
    pub(super) fn new() -> Self {
        Self { compressor: Arc::new(Mutex::new(GzipCompressor::new())), begun: Mutex::default() }
    }

    /// The chunks whose writers were created since the last call.
    pub(super) fn take_begun(&self) -> Vec<Arc<GzipChunk>> {
        std::mem::take(&mut *locked(&self.begun))
    }
}

impl PageStoreFactory for GzipPages {
    fn create(&self, _: &PageStoreArgs<'_>) -> Result<Box<dyn PageStore>> {
        let chunk = Arc::new(GzipChunk::default());
        locked(&self.begun).push(Arc::clone(&chunk));
        Ok(Box::new(Store { compressor: Arc::clone(&self.compressor), chunk, header: None }))
    }
}

/// A column chunk: what of it is compressed.
#[derive(Default)]
pub(super) struct GzipChunk(Mutex<Pages>);

#[derive(Default)]
struct Pages {
    dictionary: Option<Bytes>,
    data: Vec<Bytes>,
    /// Bytes of all pages with their headers.
    stored: usize,
    /// The same before they were compressed.
    plain: usize,
}

impl GzipChunk {
    /// Of an estimate that counts pages as they were before they were compressed, that with the bytes they have now.
    pub(super) fn compressed_estimate(&self, estimate: usize) -> usize {
        let pages = locked(&self.0);
        estimate.saturating_sub(pages.plain).saturating_add(pages.stored)
    }

    /// Takes the pages of the complete chunk, and changes what is said of them to the bytes that they have.
    pub(super) fn finish(&self, plain: &ColumnCloseResult) -> Result<(ChunkPages, ColumnCloseResult)> {
        let pages = std::mem::take(&mut *locked(&self.0));
        let mut close = plain.clone();
        close.bytes_written = pages.stored as u64;
        let metadata = close.metadata.into_builder();
        let metadata = metadata.set_compression(Compression::GZIP(GzipLevel::default()));
        close.metadata = metadata
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
                location.compressed_page_size = i32::try_from(page.len())?;
                offset = offset.saturating_add(i64::from(location.compressed_page_size));
            }
        }
        let close = close.update_dictionary_location(pages.dictionary.as_ref().map_or(0, Bytes::len))?;
        Ok((ChunkPages(pages.dictionary.into_iter().chain(pages.data).collect()), close))
    }
}

/// Takes a chunk's pages from the crate's writer: of each first the header, then the content.
struct Store {
    compressor: Arc<Mutex<GzipCompressor>>,
    chunk: Arc<GzipChunk>,
    header: Option<Bytes>,
}

impl PageStore for Store {
    fn put(&mut self, value: Bytes) -> Result<PageKey> {
        let Some(header) = self.header.take() else {
            self.header = Some(value);
            return Ok(PageKey::new(0));
        };
        let mut compressed = Vec::new();
        let result = locked(&self.compressor).compress(&value, &mut compressed);
        result.map_err(|error| ParquetError::External(Box::new(error)))?;
        let header_of = PageHeader::parse(&header)?;
        let mut page = header_of.with_compressed_size(value.len(), compressed.len())?;
        page.extend_from_slice(&compressed);
        let mut pages = locked(&self.chunk.0);
        pages.stored = pages.stored.saturating_add(page.len());
        pages.plain = pages.plain.saturating_add(header.len()).saturating_add(value.len());
        match header_of.kind {
            PageKind::Data => pages.data.push(page.into()),
            PageKind::Dictionary if pages.dictionary.is_none() => pages.dictionary = Some(page.into()),
            PageKind::Dictionary => return Err(internal("two dictionaries in one column chunk")),
        }
        Ok(PageKey::new(0))
    }

    fn take(&mut self, _: PageKey) -> Result<Bytes> {
        Err(internal("compressed pages are taken from their chunk"))
    }

    fn memory_size(&self) -> usize {
        locked(&self.chunk.0).stored
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageKind {
    Data,
    Dictionary,
}

/// A page's header in Thrift's compact protocol: three integers of 32 bits, then the struct of its kind.
struct PageHeader<'a> {
    kind: PageKind,
    /// The bytes up to the compressed size, which is third, and those after it.
    before: &'a [u8],
    after: &'a [u8],
    compressed_size: usize,
}

impl<'a> PageHeader<'a> {
    /// The byte before an integer whose field is the next one.
    const NEXT_I32: u8 = 0x15;
    /// The bytes before the structs of pages of version 1 (field 5), and of dictionaries (field 7), after field 3.
    const DATA: u8 = 0x2c;
    const DICTIONARY: u8 = 0x4c;

    fn parse(header: &'a [u8]) -> Result<Self> {
        let mut rest = header;
        let mut before = 0_usize;
        let mut number = 0;
        for field in 0..3 {
            let (marker, after) = rest.split_first().ok_or_else(|| internal("a page header is cut"))?;
            if *marker != Self::NEXT_I32 {
                return Err(internal("a page header has another field than its sizes"));
            }
            if field == 2 {
                before = header.len().saturating_sub(after.len());
            }
            (number, rest) = varint(after)?;
        }
        let kind = match rest.first() {
            Some(&Self::DATA) => PageKind::Data,
            Some(&Self::DICTIONARY) => PageKind::Dictionary,
            _ => return Err(internal("a page header of an unknown kind")),
        };
        // Signed integers are in zigzag form.
        let compressed_size = usize::try_from(number >> 1)?;
        Ok(Self { kind, before: header.get(..before).unwrap_or_default(), after: rest, compressed_size })
    }

    /// The header of the page with another compressed size than that of its content.
    fn with_compressed_size(&self, content: usize, size: usize) -> Result<Vec<u8>> {
        if self.compressed_size != content {
            return Err(internal("a page header has not the size of its content"));
        }
        let size = u64::from(i32::try_from(size)?.unsigned_abs());
        let mut changed =
            Vec::with_capacity(self.before.len().saturating_add(self.after.len()).saturating_add(5 + size as usize));
        changed.extend_from_slice(self.before);
        let mut rest = size << 1;
        while rest >= 0x80 {
            changed.push((rest as u8 & 0x7f) | 0x80);
            rest >>= 7;
        }
        changed.push(rest as u8);
        changed.extend_from_slice(self.after);
        Ok(changed)
    }
}

/// Returns an integer of up to 32 bits, seven of them in a byte, and the bytes after it.
fn varint(bytes: &[u8]) -> Result<(u64, &[u8])> {
    let mut number = 0_u64;
    for (at, byte) in bytes.iter().take(5).enumerate() {
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Ok((number, bytes.get(at.saturating_add(1)..).unwrap_or_default()));
        }
    }
    Err(internal("a page header has an integer of more than 32 bits"))
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

fn internal(what: &str) -> ParquetError {
    ParquetError::External(Box::new(Error::internal(what)))
}
