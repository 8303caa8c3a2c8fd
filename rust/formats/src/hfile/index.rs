//! Index blocks: where the blocks of the next level lie, and the key that each begins at.
//!
//! ```text
//! root: (offset: long · length on disk: int · key length: vint · key)*, as many as the trailer says; where there are more levels, HBase adds
//!       16 bytes about the middle key
//! leaf, intermediate: count n: int · n + 1 offsets, from the first entry: int · (offset: long · length on disk: int · key)*
//! key:  row length: short · row                                                    written by Hudi
//!       row length: short · row · family length 00 · timestamp: long · kind: byte  written by HBase
//! ```
//! HBase's keys need not be in the file: between two blocks it takes the shortest row that separates them. Each is
//! above all keys of the block before and not above those of its own, and that is all that a search needs.
//!
//! The row length has 16 bits, of which Java makes a negative number from 32768 on, and which overflow from 65536 on.
//! The lengths around it have 32, and tell what it should be. Layout: HBase's `HFileBlockIndex`, Hadoop's
//! `WritableUtils`.

use bytes::Bytes;

use super::block::HEADER;
use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};

/// Bytes around a row in a cell's key: its length (2), that of the family (1), timestamp (8), kind (1).
pub(super) const KEY_AROUND_ROW: usize = 12;
/// Bytes that HBase adds to the root of a deeper index.
const MIDDLE_KEY: usize = 16;

/// Where a block lies, and the key from which on it holds all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockIndexEntry {
    /// Byte offset of the block's header in the HFile.
    pub offset: u64,
    /// Bytes of the block on disk, header and checksums included.
    pub len: u32,
    /// The block's first key, or one between that and the last key of the block before.
    pub first_key: Bytes,
}

impl BlockIndexEntry {
    /// The offset of the byte after the block.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(u64::from(self.len))
    }
}

/// The entries of the root index. `limit` is where the load-on-open section begins: blocks end there at the latest. In
/// a file without cells the index may have an entry that is not counted, of an empty block (hudi-rs).
pub(super) fn root(payload: &Bytes, count: u64, levels: u64, limit: u64) -> Result<Vec<BlockIndexEntry>> {
    let mut cursor = Cursor::new(payload);
    let mut places = IndexEntries::new(limit);
    for _ in 0..count {
        let at = cursor.position();
        let (offset, len) = extent(&mut cursor)?;
        let key_len = vint(&mut cursor)?;
        let key = usize::try_from(key_len).ok().and_then(|key_len| cursor.take(key_len).ok()).ok_or_else(|| {
            let message = format!(
                "unexpected end of data: key of an HFile index has {key_len} bytes, only {} remain",
                cursor.remaining()
            );
            Error::corrupt(message).at_offset(at as u64)
        })?;
        places.add(offset, len, payload, key).map_err(|error| error.at_offset(at as u64))?;
    }
    let more = cursor.remaining();
    if more != 0 && count != 0 && (levels == 1 || more != MIDDLE_KEY) {
        let message = format!("invalid HFile index: {more} bytes follow its {count} entries");
        return Err(Error::corrupt(message).at_offset(cursor.position() as u64));
    }
    Ok(places.list)
}

/// The entries of a leaf or an intermediate index block.
pub(super) fn below_root(payload: &Bytes, limit: u64) -> Result<Vec<BlockIndexEntry>> {
    let mut cursor = Cursor::new(payload);
    let claimed = cursor.i32_be()?;
    let count = usize::try_from(claimed).ok().filter(|count| *count > 0 && *count < cursor.remaining() / 4);
    let Some(count) = count else {
        let message = format!("invalid HFile index block: {claimed} entries in {} bytes", payload.len());
        return Err(Error::corrupt(message).at_offset(0));
    };
    let mut starts = Cursor::new(cursor.take(count.saturating_add(1).saturating_mul(4))?);
    let mut places = IndexEntries::new(limit);
    let mut start = starts.i32_be()?;
    if start != 0 {
        return Err(Error::corrupt(format!(
            "invalid HFile index block: the first entry begins at {start} (expected 0)"
        ))
        .at_offset(4));
    }
    for _ in 0..count {
        let at = cursor.position() as u64;
        let next = starts.i32_be()?;
        let len = usize::try_from(i64::from(next) - i64::from(start)).ok();
        let entry = len.and_then(|len| cursor.take(len).ok()).ok_or_else(|| {
            Error::corrupt(format!("invalid HFile index block: an entry from {start} to {next} is outside the block"))
                .at_offset(at)
        })?;
        start = next;
        let mut entry = Cursor::new(entry);
        let (offset, len) = extent(&mut entry).map_err(|error| error.offset_from(at))?;
        places.add(offset, len, payload, entry.rest()).map_err(|error| error.at_offset(at))?;
    }
    if cursor.remaining() != 0 {
        let message = format!("invalid HFile index block: {} bytes follow its {count} entries", cursor.remaining());
        return Err(Error::corrupt(message).at_offset(cursor.position() as u64));
    }
    Ok(places.list)
}

/// Entries so far: in the order of their keys and of their places, each within the file.
struct IndexEntries {
    list: Vec<BlockIndexEntry>,
    limit: u64,
}

impl IndexEntries {
    const fn new(limit: u64) -> Self {
        Self { list: Vec::new(), limit }
    }

    fn add(&mut self, offset: u64, len: u32, payload: &Bytes, key: &[u8]) -> Result<()> {
        let first_key = payload.slice_ref(row_of_index_key(key)?);
        let place = BlockIndexEntry { offset, len, first_key };
        if place.len < HEADER as u32 || place.end() > self.limit {
            let message =
                format!("invalid HFile index: block of {len} bytes at {offset}, but blocks end at {}", self.limit);
            return Err(Error::corrupt(message));
        }
        if let Some(before) = self.list.last() {
            if before.end() > place.offset {
                let message = format!("invalid HFile index: the block at {offset} overlaps the previous one");
                return Err(Error::corrupt(message));
            }
            // Were two blocks to begin with one key, a search would come to the second and miss the first.
            if before.first_key >= place.first_key {
                let message = format!(
                    "invalid HFile index: keys are out of order: {}",
                    before_and_after(&before.first_key, &place.first_key)
                );
                return Err(Error::corrupt(message));
            }
        }
        self.list.push(place);
        Ok(())
    }
}

/// Two keys that should stand the other way round, for messages; long ones are cut.
pub(super) fn before_and_after(before: &[u8], after: &[u8]) -> String {
    let shown = |key: &[u8]| key.get(..64).unwrap_or(key).escape_ascii().to_string();
    format!("{} precedes {}", shown(before), shown(after))
}

fn extent(cursor: &mut Cursor<'_>) -> Result<(u64, u32)> {
    let at = cursor.position() as u64;
    let (offset, len) = (cursor.i64_be()?, cursor.i32_be()?);
    match (u64::try_from(offset), u32::try_from(len)) {
        (Ok(offset), Ok(len)) => Ok((offset, len)),
        _ => Err(Error::corrupt(format!("invalid HFile index: block of {len} bytes at {offset}")).at_offset(at)),
    }
}

/// The row of a key, in either writer's form.
fn row_of_index_key(key: &[u8]) -> Result<&[u8]> {
    let Some((low_bits, rest)) = key.split_first_chunk() else {
        return Err(Error::corrupt(format!("invalid HFile index: key of {} bytes", key.len())));
    };
    let low_bits = u16::from_be_bytes(*low_bits);
    if has_low_bits(rest.len(), low_bits) {
        return Ok(rest);
    }
    rest.len()
        .checked_sub(KEY_AROUND_ROW - 2)
        .filter(|row| has_low_bits(*row, low_bits))
        .and_then(|row| rest.get(..row))
        .ok_or_else(|| {
            Error::corrupt(format!("invalid HFile index: key of {} bytes with a row of {low_bits}", key.len()))
        })
}

/// Whether a length is one that 16 bits would tell so.
pub(super) fn has_low_bits(len: usize, low_bits: u16) -> bool {
    len & 0xffff == usize::from(low_bits)
}

/// Hadoop's number of variable length: one byte from -112 on, else how many follow, and the sign.
fn vint(cursor: &mut Cursor<'_>) -> Result<i64> {
    let first = i64::from(cursor.u8()?.cast_signed());
    if first >= -112 {
        return Ok(first);
    }
    let (count, negative) = if first >= -120 { (-112 - first, false) } else { (-120 - first, true) };
    let mut value = 0_u64;
    for _ in 0..count {
        value = value << 8 | u64::from(cursor.u8()?);
    }
    let value = value.cast_signed();
    Ok(if negative { !value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::error::ErrorKind;

    const LIMIT: u64 = 10_000;

    fn native(row: &[u8]) -> Vec<u8> {
        let mut key = (row.len() as u16).to_be_bytes().to_vec();
        key.extend(row);
        key
    }

    fn hbase(row: &[u8]) -> Vec<u8> {
        let mut key = native(row);
        key.push(0);
        key.extend(i64::MAX.to_be_bytes());
        key.push(0xff);
        key
    }

    fn extent_of(offset: u64, len: u32) -> Vec<u8> {
        let mut entry = offset.to_be_bytes().to_vec();
        entry.extend(len.to_be_bytes());
        entry
    }

    fn root_of(entries: &[(u64, u32, Vec<u8>)]) -> Bytes {
        let mut payload = Vec::new();
        for (offset, len, key) in entries {
            payload.extend(extent_of(*offset, *len));
            // One byte up to 127, two more for the key lengths used here.
            match u8::try_from(key.len()) {
                Ok(len) if len < 128 => payload.push(len),
                Ok(len) => payload.extend([0x8f, len]),
                Err(_) => payload.extend([&[0x8d][..], &(key.len() as u32).to_be_bytes()[1..]].concat()),
            }
            payload.extend(key);
        }
        payload.into()
    }

    fn leaf_of(entries: &[(u64, u32, Vec<u8>)]) -> Vec<u8> {
        let mut payload = (entries.len() as u32).to_be_bytes().to_vec();
        let (mut starts, mut body) = (Vec::new(), Vec::new());
        for (offset, len, key) in entries {
            starts.extend((body.len() as u32).to_be_bytes());
            body.extend(extent_of(*offset, *len));
            body.extend(key);
        }
        starts.extend((body.len() as u32).to_be_bytes());
        payload.extend(starts);
        payload.extend(body);
        payload
    }

    fn place(offset: u64, len: u32, first_key: &[u8]) -> BlockIndexEntry {
        BlockIndexEntry { offset, len, first_key: first_key.to_vec().into() }
    }

    #[test]
    fn both_writers_keys_are_read_at_every_level() {
        let entries = [(0, 40, native(b"a")), (40, 50, hbase(b"b")), (100, 33, native(&[b'c'; 200]))];
        let expected = [place(0, 40, b"a"), place(40, 50, b"b"), place(100, 33, &[b'c'; 200])];
        assert_eq!(root(&root_of(&entries), 3, 1, LIMIT).unwrap(), expected);
        assert_eq!(below_root(&leaf_of(&entries).into(), LIMIT).unwrap(), expected);
    }

    #[test]
    fn a_row_longer_than_its_length_can_tell_is_read() {
        let entries =
            [(0, 40, native(&[b'x'; 40_000])), (40, 40, native(&[b'y'; 70_000])), (80, 40, hbase(&[b'z'; 70_000]))];
        let read = root(&root_of(&entries), 3, 1, LIMIT).unwrap();
        assert_eq!(read.iter().map(|place| place.first_key.len()).collect::<Vec<_>>(), [40_000, 70_000, 70_000]);
    }

    #[test]
    fn the_middle_key_may_follow_in_deeper_indexes_only() {
        let mut payload = root_of(&[(0, 40, native(b"a"))]).to_vec();
        payload.extend([0; 16]);
        let payload = Bytes::from(payload);
        assert_eq!(root(&payload, 1, 2, LIMIT).unwrap().len(), 1);
        assert_eq!(root(&payload, 1, 1, LIMIT).unwrap_err().location().offset, Some(16));
        assert!(root(&payload, 2, 2, LIMIT).is_err());
    }

    #[test]
    fn an_index_that_contradicts_itself_is_damage() {
        let damaged = [
            vec![(0, 40, native(b"b")), (40, 40, native(b"a"))],
            vec![(0, 40, native(b"a")), (40, 40, native(b"a"))],
            vec![(0, 40, native(b"a")), (39, 40, native(b"b"))],
            vec![(0, 32, native(b"a"))],
            vec![(LIMIT - 39, 40, native(b"a"))],
            vec![(u64::MAX, 40, native(b"a"))],
            vec![(u64::MAX / 2, u32::MAX / 2, native(b"a"))],
            vec![(0, 40, vec![0, 9, b'a'])],
            vec![(0, 40, vec![0])],
        ];
        for entries in damaged {
            let of_root = root(&root_of(&entries), entries.len() as u64, 1, LIMIT).unwrap_err();
            let of_leaf = below_root(&leaf_of(&entries).into(), LIMIT).unwrap_err();
            assert_eq!((of_root.kind(), of_leaf.kind()), (ErrorKind::CorruptLog, ErrorKind::CorruptLog), "{entries:?}");
            // The damage is in the last entry: after the count and the places, and all entries before it.
            let before: usize = entries.iter().rev().skip(1).map(|(_, _, key)| 12 + key.len()).sum();
            assert_eq!(of_root.location().offset, Some((before + entries.len() - 1) as u64), "{of_root}");
            assert_eq!(of_leaf.location().offset, Some((4 + 4 * (entries.len() + 1) + before) as u64), "{of_leaf}");
        }
    }

    #[test]
    fn a_false_count_or_entry_start_is_damage() {
        let sound = leaf_of(&[(0, 40, native(b"a")), (40, 40, native(b"b"))]);
        for (at, byte) in [(0, 0x7f), (0, 0xff), (3, 1), (3, 3), (7, 1), (11, 0xff), (15, 0xff), (12, 0x80)] {
            let mut damaged = sound.clone();
            damaged[at] = byte;
            assert!(below_root(&damaged.into(), LIMIT).is_err(), "{byte} at {at}");
        }
        assert!(below_root(&Bytes::from_static(&[0, 0, 0, 0, 0, 0, 0, 0]), LIMIT).is_err());
    }

    #[test]
    fn a_file_without_cells_may_have_an_entry_that_is_not_counted() {
        let payload = root_of(&[(0, 37, Vec::new())]);
        assert_eq!(root(&payload, 0, 1, LIMIT).unwrap(), []);
        assert!(root(&root_of(&[(0, 40, native(b"a")), (40, 40, native(b"b"))]), 1, 1, LIMIT).is_err());
    }

    #[test]
    fn numbers_of_variable_length_are_hadoops() {
        let of = |bytes: &[u8]| vint(&mut Cursor::new(bytes)).unwrap();
        assert_eq!(of(&[0x7f]), 127);
        assert_eq!(of(&[0x8f, 0x93]), 147);
        assert_eq!(of(&[0x8e, 0x01, 0x00]), 256);
        assert_eq!(of(&[0x88, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), i64::MAX);
        assert_eq!(of(&[0x90]), -112);
        assert_eq!(of(&[0x87, 0x7f]), -128);
        assert!(vint(&mut Cursor::new(&[0x8e, 1])).is_err());
    }
}
