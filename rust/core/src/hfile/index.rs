//! The data blocks of a file, in key order, from its index.
//!
//! The root index holds (offset 8, size on disk 4, key length as Hadoop's vint, key) entries. In an index of several levels
//! they lead to further index blocks, whose entries are (offset 8, size 4, key), with a table of their places in front:
//! entries n (4), n + 1 places (4 each). A key begins with its row (length 2, bytes); HBase adds more, and may put a made-up
//! key between two blocks in place of the second one's first.

use std::sync::Arc;

use bytes::Bytes;

use super::block::{self, BlockKind};
use super::key::{row_len, vint};
use super::trailer::Trailer;
use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::storage::Source;

/// Deeper than any index that a file of 2^63 bytes could need.
const MOST_LEVELS: u64 = 16;

/// A data block in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockPlace {
    /// Where it begins.
    pub offset: u64,
    /// Where it has ended: the next one begins, or the file ends.
    pub end: u64,
    /// No key of the block is before this one, and none of the block before is at or after it. It need not exist.
    pub first_key: Bytes,
}

/// All data blocks.
pub(super) fn data_blocks(source: &Arc<dyn Source>, trailer: &Trailer) -> Result<Vec<BlockPlace>> {
    if trailer.index_levels > MOST_LEVELS {
        let message = format!("an HFile index of {} levels", trailer.index_levels);
        return Err(Error::corrupt(message).at_offset(source.len().saturating_sub(super::trailer::LEN)));
    }
    let at = trailer.load_on_open_at;
    let len = source.len();
    let (payload, _) = block::read(source.as_ref(), at..len, &[BlockKind::RootIndex], trailer.codec)?;
    let entries = root(&payload, trailer.data_index_count).map_err(|error| error.moved_to(at))?;
    let mut entries = in_order(entries, at, len)?;
    // A file has no more blocks than headers fit.
    let most = len / block::HEADER;
    for _ in 1..trailer.index_levels {
        let mut below = Vec::new();
        for entry in entries {
            let kinds = [BlockKind::LeafIndex, BlockKind::IntermediateIndex];
            let (payload, _) = block::read(source.as_ref(), entry.offset..entry.end, &kinds, trailer.codec)?;
            below.extend(inner(&payload).map_err(|error| error.moved_to(entry.offset))?);
            if below.len() as u64 > most {
                let message = format!("an HFile index of more than the {most} blocks that the file has room for");
                return Err(Error::corrupt(message).at_offset(entry.offset));
            }
        }
        entries = in_order(below, at, len)?;
    }
    Ok(entries)
}

/// The blocks of one level, each with its end. They stand in the file as in the index, keys ascending. Were that not asked
/// for, a small file could name one large block again and again.
fn in_order(mut entries: Vec<BlockPlace>, index_at: u64, len: u64) -> Result<Vec<BlockPlace>> {
    let ends: Vec<u64> = entries.iter().skip(1).map(|entry| entry.offset).chain(std::iter::once(len)).collect();
    for (entry, end) in entries.iter_mut().zip(ends) {
        if end <= entry.offset {
            let message = format!("an HFile index with a block at {} before one at {end}", entry.offset);
            return Err(Error::corrupt(message).at_offset(index_at));
        }
        entry.end = end;
    }
    match entries.windows(2).find(|pair| matches!(pair, [one, two] if one.first_key > two.first_key)) {
        Some(pair) => {
            let offset = pair.last().map_or(index_at, |entry| entry.offset);
            Err(Error::corrupt("the keys of an HFile index are not in order").at_offset(offset))
        }
        None => Ok(entries),
    }
}

fn root(payload: &Bytes, count: u64) -> Result<Vec<BlockPlace>> {
    let mut cursor = Cursor::new(payload);
    let mut entries = Vec::new();
    for _ in 0..count {
        let offset = offset(&mut cursor)?;
        cursor.skip(4)?;
        let len = vint(&mut cursor)?;
        let start = cursor.position();
        let key = cursor.take(usize::try_from(len).unwrap_or(usize::MAX))?;
        entries.push(BlockPlace { offset, end: offset, first_key: row(payload, key, start)? });
    }
    Ok(entries)
}

fn inner(payload: &Bytes) -> Result<Vec<BlockPlace>> {
    let mut cursor = Cursor::new(payload);
    let count = usize::try_from(cursor.i32_be()?).unwrap_or(usize::MAX);
    // Each entry takes its place of 4 bytes, an offset and a size.
    if count > cursor.remaining() / 16 {
        return Err(Error::corrupt(format!("an HFile index block of {count} entries in {} bytes", payload.len())));
    }
    let mut places = Vec::with_capacity(count + 1);
    for _ in 0..=count {
        places.push(usize::try_from(cursor.i32_be()?).unwrap_or(usize::MAX));
    }
    let begin = cursor.position();
    let mut entries = Vec::with_capacity(count);
    for pair in places.windows(2) {
        let &[start, end] = pair else { continue };
        let entry = payload.get(begin..).and_then(|entries| entries.get(start..end));
        let Some(entry) = entry else {
            return Err(Error::corrupt(format!("an entry of an HFile index at {start}..{end}, outside its block")));
        };
        let mut cursor = Cursor::new(entry);
        let offset = offset(&mut cursor)?;
        cursor.skip(4)?;
        let first_key = row(payload, cursor.rest(), begin + start + cursor.position())?;
        entries.push(BlockPlace { offset, end: offset, first_key });
    }
    Ok(entries)
}

fn offset(cursor: &mut Cursor<'_>) -> Result<u64> {
    let offset = cursor.i64_be()?;
    u64::try_from(offset).map_err(|_| Error::corrupt(format!("a block at offset {offset} in an HFile index")))
}

/// The row of a key that begins at `at` of `payload`.
fn row(payload: &Bytes, key: &[u8], at: usize) -> Result<Bytes> {
    let mut cursor = Cursor::new(key);
    // Of Hudi's writer the row is all that follows its length; HBase's key has ten bytes more.
    let len = row_len(u16::from_be_bytes(cursor.array()?), key.len(), &[2, 12]);
    let start = at + cursor.position();
    cursor.skip(len)?;
    Ok(payload.slice(start..start + len))
}
