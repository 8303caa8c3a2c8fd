//! Checksums of the pages of a parquet file, which parquet-mr writes by default, and mortice.
//!
//! A checksum is that of the bytes of a page as they are stored (CRC-32). It is in the page's header. Reads compare the
//! checksums of the pages that they decode, in the parquet crate; here are those of all pages, and where a page is that
//! was wrong.

use std::ops::Range;
use std::sync::Arc;

use parquet::errors::ParquetError;

use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};
use mortice_storage::FileSource;

use super::footer::read_footer;
use super::page_header::page_header;
use super::source_bytes::{SourceBytes, chunk_range, guarded};

/// Compares the checksums of all pages that have one.
///
/// # Errors
/// `CorruptLog` for the first page whose checksum is another one, or whose header cannot be read; those of reading.
pub fn check_pages(source: &Arc<dyn FileSource>) -> Result<()> {
    let bytes = SourceBytes::new(Arc::clone(source));
    let chunks = guarded(&bytes, || {
        let footer = read_footer(&bytes)?;
        let chunks = (0_usize..).zip(footer.row_groups());
        let chunks = chunks.flat_map(|(at, group)| group.columns().iter().map(move |chunk| (at, chunk)));
        Ok::<_, ParquetError>(
            chunks.map(|(at, chunk)| (at, chunk.column_path().string(), chunk_range(chunk))).collect::<Vec<_>>(),
        )
    })?;
    for (group, column, chunk) in chunks {
        let content = source.read(chunk.clone())?;
        check_chunk(&content, &chunk).map_err(|error| bytes.error(in_chunk(error, &column, group)))?;
    }
    Ok(())
}

/// The error with the names of column and row group.
pub(super) fn in_chunk(error: Error, column: &str, row_group: usize) -> Error {
    let mut located = Error::new(error.kind(), format!("column {column} of row group {row_group}: {}", error.text()));
    if let Some(offset) = error.location().offset {
        located = located.at_offset(offset);
    }
    located
}

/// Compares the checksums of the pages of a column chunk, which is at `chunk` in its file.
pub(super) fn check_chunk(bytes: &[u8], chunk: &Range<u64>) -> Result<()> {
    let mut cursor = Cursor::new(bytes);
    while cursor.remaining() > 0 {
        let at = chunk.start.saturating_add(cursor.position() as u64);
        let page = page_header(&mut cursor).and_then(|header| {
            let len = usize::try_from(header.len).map_err(|_| Error::corrupt("invalid length of a page"))?;
            Ok((header, cursor.take(len)?))
        });
        let (header, content) = page.map_err(|error| error.moved_to(at))?;
        let found = libdeflater::crc32(content);
        if let Some(stored) = header.checksum.filter(|stored| *stored != found) {
            let message =
                format!("the checksum of a page is {stored:08x}, and its bytes have {found:08x}: the file is damaged");
            return Err(Error::corrupt(message).at_offset(at));
        }
    }
    Ok(())
}

/// The headers and the contents of the pages of a sound column chunk, as ranges of its bytes.
#[cfg(test)]
pub(super) fn pages_of(chunk: &[u8]) -> Vec<(Range<usize>, Range<usize>)> {
    let (mut cursor, mut pages) = (Cursor::new(chunk), Vec::new());
    while cursor.remaining() > 0 {
        let start = cursor.position();
        let header = page_header(&mut cursor).unwrap();
        let content = cursor.position();
        cursor.skip(usize::try_from(header.len).unwrap()).unwrap();
        pages.push((start..content, content..cursor.position()));
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with a length, a checksum, and a data page header with statistics.
    fn page(content: &[u8], checksum: u32) -> Vec<u8> {
        let mut bytes = vec![0x15, 0, 0x15, 20];
        let zigzag = |value: i32| (i64::from(value) << 1 ^ i64::from(value) >> 31) as u64;
        let varint = |mut value: u64, bytes: &mut Vec<u8>| {
            while value >= 0x80 {
                bytes.push(value as u8 | 0x80);
                value >>= 7;
            }
            bytes.push(value as u8);
        };
        bytes.push(0x15);
        varint(zigzag(i32::try_from(content.len()).unwrap()), &mut bytes);
        bytes.push(0x15);
        varint(zigzag(checksum.cast_signed()) & 0xFFFF_FFFF, &mut bytes);
        // 5: a struct with a number, a boolean and a struct with bytes.
        bytes.extend([0x1C, 0x15, 2, 0x11, 0x1C, 0x18, 3, b'm', b'i', b'n', 0, 0, 0]);
        bytes.extend(content);
        bytes
    }

    #[test]
    fn a_changed_byte_is_found() {
        let content = b"the content of a page";
        for damage in [false, true] {
            let mut bytes = page(content, libdeflater::crc32(content));
            bytes.extend(page(content, libdeflater::crc32(content)));
            if damage {
                *bytes.last_mut().unwrap() ^= 1;
            }
            let checked = check_chunk(&bytes, &(100..100 + bytes.len() as u64));
            assert_eq!(checked.is_err(), damage);
            if let Err(error) = checked {
                assert_eq!(error.location().offset, Some(100 + bytes.len() as u64 / 2));
                assert!(error.to_string().contains("checksum"), "{error}");
            }
        }
    }

    #[test]
    fn headers_that_are_cut_or_nested_are_errors() {
        let sound = page(b"content", 7);
        for len in 1..sound.len() {
            assert!(check_chunk(&sound[..len], &(0..len as u64)).is_err(), "{len}");
        }
        assert!(check_chunk(&[0x1C; 100], &(0..100)).is_err());
    }
}
