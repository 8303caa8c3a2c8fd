//! Content of an Avro data block (`HoodieAvroDataBlock`) and of a CDC block:
//!
//! | field | bytes |
//! |---|---|
//! | log block version | 4, read and ignored, as Hudi does |
//! | record count | 4 |
//! | records | (length 4, one Avro datum) each; no marker, no compression |
//!
//! Hudi reads by count. Bytes after the last record are ignored, unless they are further records, or there is none.
//!
//! Following the lengths is a chain of cache misses, so bytes a few KiB ahead are prefetched.

use std::ops::Deref;

use mortice_avro::Datum;
use mortice_base::batch_limit::BatchLimit;
use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};
use mortice_base::trusted::prefetch;

/// The positions of the records of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AvroRecords {
    /// The log block version.
    pub version: i32,
    /// The range of each datum in the content.
    pub datums: Vec<Datum>,
}

/// Returns the first two numbers of a content: log block version, and record count (or byte length of a delete block).
pub fn head(content: &[u8]) -> Result<(i32, i32)> {
    let mut cursor = Cursor::new(content);
    Ok((cursor.i32_be()?, cursor.i32_be()?))
}

/// Returns the maximum number of records in a content of `len` bytes: each takes at least the four bytes of its length.
#[must_use]
pub const fn most_records(len: u64) -> u64 {
    len.saturating_sub(8) / 4
}

/// Finds all records.
pub fn records(content: &[u8]) -> Result<AvroRecords> {
    let (mut frames, mut datums) = (RecordFrames::new(content)?, Vec::new());
    datums.reserve_exact(frames.left());
    frames.next(usize::MAX, &mut datums)?;
    Ok(AvroRecords { version: frames.version, datums })
}

/// An incremental scan of the records, so that found bytes are still cached when they are decoded.
#[derive(Debug)]
pub struct RecordFrames<C> {
    content: C,
    version: i32,
    /// The number of records that are not found yet.
    left: usize,
    at: usize,
    /// The end of the prefetched bytes.
    fetched: usize,
}

impl<C: Deref<Target = [u8]>> RecordFrames<C> {
    /// The prefetch distance, and its step: a cache line.
    const AHEAD: usize = 4096;
    const LINE: usize = 64;

    /// Starts before the first record. Fails if the content is too short for its record count.
    pub fn new(content: C) -> Result<Self> {
        let (version, count) = head(&content)?;
        let most = most_records(content.len() as u64);
        let Some(left) = usize::try_from(count).ok().filter(|count| *count as u64 <= most) else {
            return Err(
                Error::corrupt(format!("invalid record count {count}: at most {most} fit in the content")).at_offset(4)
            );
        };
        if u32::try_from(content.len()).is_err() {
            return Err(Error::corrupt("invalid content: 4 GiB or more, which no Hudi release writes").at_offset(0));
        }
        if left == 0 && content.len() > 8 {
            let more = content.len() - 8;
            return Err(Error::corrupt(format!("invalid record count 0: {more} bytes follow")).at_offset(4));
        }
        Ok(Self { content, version, left, at: 8, fetched: 0 })
    }

    /// Returns the number of records that are not found yet.
    #[must_use]
    pub const fn left(&self) -> usize {
        self.left
    }

    /// Appends the next records, as many as fit a batch.
    pub fn next_within(&mut self, limit: BatchLimit, datums: &mut Vec<Datum>) -> Result<()> {
        let (first, mut bytes) = (datums.len(), 0_usize);
        while self.left > 0 && datums.len() - first < limit.rows() && bytes < limit.bytes() {
            self.next(1, datums)?;
            bytes = bytes.saturating_add(datums.last().map_or(0, |datum| datum.len as usize));
        }
        Ok(())
    }

    /// Appends the next records, at most `most`.
    pub fn next(&mut self, most: usize, datums: &mut Vec<Datum>) -> Result<()> {
        for _ in 0..most.min(self.left) {
            self.fetch();
            let datum = datum_at(&self.content, self.at)?;
            datums.push(datum);
            self.at = datum.at as usize + datum.len as usize;
            self.left -= 1;
            self.check_end()?;
        }
        Ok(())
    }

    /// Behind the last record, fails if the other bytes are records, too: a count that has become smaller.
    #[inline(always)]
    fn check_end(&self) -> Result<()> {
        if self.left > 0 || !are_records(&self.content, self.at) {
            return Ok(());
        }
        Err(Error::corrupt("invalid record count: more records follow the last one").at_offset(4))
    }

    #[inline(always)]
    fn fetch(&mut self) {
        self.fetched = self.fetched.max(self.at);
        while self.fetched < self.at + Self::AHEAD {
            if let Some(byte) = self.content.get(self.fetched) {
                prefetch(byte);
            }
            self.fetched += Self::LINE;
        }
    }
}

/// Returns true if the content from `at` on consists of records, of which none is empty.
fn are_records(content: &[u8], mut at: usize) -> bool {
    let has_bytes = at < content.len();
    while at < content.len() {
        match datum_at(content, at) {
            Ok(datum) if datum.len > 0 => at = datum.at as usize + datum.len as usize,
            _ => return false,
        }
    }
    has_bytes
}

/// Returns the bytes at a position (`offset << 32 | length`).
#[inline]
#[must_use]
pub fn place_of(content: &[u8], place: u64) -> Option<&[u8]> {
    let (start, len) = ((place >> 32) as usize, (place & 0xffff_ffff) as usize);
    content.get(start..)?.get(..len)
}

/// The number of records whose lengths are prefetched.
const LENGTHS_AHEAD: usize = 16;

/// Returns the datums at `places`, each after its length; they may be far apart.
pub fn datums_at<'a>(content: &'a [u8], places: &'a [u32]) -> impl Iterator<Item = Result<Datum>> + 'a {
    let frame = |at: &u32| (*at as usize).saturating_sub(4);
    let mut ahead = places.iter().skip(LENGTHS_AHEAD);
    places.iter().map(move |at| {
        ahead.next().and_then(|next| content.get(frame(next))).into_iter().for_each(prefetch);
        datum_at(content, frame(at))
    })
}

/// Returns the datum whose length is at `at`.
#[inline]
fn datum_at(content: &[u8], at: usize) -> Result<Datum> {
    let outside = || Error::internal(format_args!("a record at byte {at} of a block of {}", content.len()));
    let mut cursor = Cursor::new(content.get(at..).ok_or_else(outside)?);
    let len = cursor.i32_be().map_err(|error| error.offset_from(at as u64))?;
    let Some(len) = u32::try_from(len).ok().filter(|len| *len as usize <= cursor.remaining()) else {
        let left = cursor.remaining();
        return Err(Error::corrupt(format!("unexpected end of data: record has {len} bytes, only {left} remain"))
            .at_offset(at as u64));
    };
    let start =
        u32::try_from(at + 4).map_err(|_| Error::corrupt("invalid content: 4 GiB or more").at_offset(at as u64))?;
    Ok(Datum { at: start, len })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(records: &[&[u8]]) -> Vec<u8> {
        let mut bytes = vec![0, 0, 0, 3];
        bytes.extend(u32::try_from(records.len()).unwrap().to_be_bytes());
        for record in records {
            bytes.extend(u32::try_from(record.len()).unwrap().to_be_bytes());
            bytes.extend(*record);
        }
        bytes
    }

    #[test]
    fn finds_records_and_lets_trailing_bytes_be() {
        let mut bytes = content(&[b"ab", b"", b"c"]);
        bytes.extend(b"junk");
        let found = records(&bytes).unwrap();
        let places: Vec<(u32, u32)> = found.datums.iter().map(|datum| (datum.at, datum.len)).collect();
        assert_eq!((found.version, places), (3, vec![(12, 2), (18, 0), (22, 1)]));
        assert_eq!(records(&content(&[])).unwrap().datums, []);
    }

    #[test]
    fn a_smaller_count_is_noticed() {
        let whole = content(&[b"ab", b"c", b"de"]);
        for count in 0..3_u8 {
            let mut bytes = whole.clone();
            bytes[7] = count;
            let error = records(&bytes).unwrap_err();
            assert!(error.to_string().contains(" follow"), "{count}: {error}");
        }
        assert!(records(&[content(&[]), vec![0; 8]].concat()).is_err(), "zeros over count and records");
        // Padding is not a record.
        assert!(records(&[content(&[b"ab"]), vec![0; 8]].concat()).is_ok());
    }

    #[test]
    fn steps_of_any_length_find_the_same() {
        let bytes = content(&[b"a", b"bc", &[7; 9000], b"", b"d"]);
        for most in 1..7 {
            let (mut frames, mut found) = (RecordFrames::new(bytes.as_slice()).unwrap(), Vec::new());
            while frames.left() > 0 {
                frames.next(most, &mut found).unwrap();
            }
            assert_eq!(found, records(&bytes).unwrap().datums);
        }
    }

    #[test]
    fn every_truncation_is_an_error() {
        let whole = content(&[b"abc", b"de"]);
        for len in 0..whole.len() {
            assert!(records(&whole[..len]).is_err(), "{len}");
        }
    }

    #[test]
    fn counts_and_lengths_are_not_believed() {
        let mut bytes = content(&[b"abc"]);
        bytes[4] = 0x7f;
        assert_eq!(records(&bytes).unwrap_err().location().offset, Some(4));
        let mut bytes = content(&[b"abc"]);
        bytes[8] = 0xff;
        assert_eq!(records(&bytes).unwrap_err().location().offset, Some(8));
    }
}
