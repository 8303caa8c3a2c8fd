//! The header map of a block to write: the inverse of [`crate::log::Header`].
//!
//! Count, then (ordinal, length, UTF-8 string) each, in ascending order of ordinals; Hudi's order is that of a hash
//! map. The footer is an empty map in all releases.

use std::collections::BTreeMap;

use crate::log::layout::HeaderKey;
use crate::log::position_list::encode_position_list;
use crate::log::positions::{encode_positions, positions};
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;

/// Keys that a caller may add; the others are derived from the block.
const EXTRAS: [HeaderKey; 5] = [
    HeaderKey::CompactedBlockTimes,
    HeaderKey::RecordPositions,
    HeaderKey::BlockIdentifier,
    HeaderKey::IsPartial,
    HeaderKey::BaseFileInstantTimeOfRecordPositions,
];

/// The contents of a block's header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockHeader {
    entries: BTreeMap<i32, String>,
}

impl BlockHeader {
    /// Creates the header of a block that `instant` writes.
    #[must_use]
    pub fn new(instant: &RequestedTime) -> Self {
        Self { entries: BTreeMap::new() }.with(HeaderKey::InstantTime, instant.as_str())
    }

    /// Creates the header of a block of no instant: of an archive.
    #[must_use]
    pub fn of_archive() -> Self {
        Self { entries: BTreeMap::new() }
    }

    /// Adds entries with Hudi's names of the keys: `COMPACTED_BLOCK_TIMES`, `RECORD_POSITIONS`, `BLOCK_IDENTIFIER`,
    /// `IS_PARTIAL`, `BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS`. The i-th position is that of the i-th record, so
    /// records must be in the order of their positions.
    ///
    /// # Errors
    /// `InvalidArgument` for other names, and for values that readers fail on or ignore.
    pub fn with_extras(mut self, extras: &BTreeMap<String, String>) -> Result<Self> {
        for (name, value) in extras {
            let Some(key) = HeaderKey::named(name) else {
                let message = format!("{name:?} is not a header key of Hudi; supported: {}", names_of_extras());
                return Err(Error::invalid_argument(message));
            };
            if !EXTRAS.contains(&key) {
                let message = format!("header key {name} is derived from the block; supported: {}", names_of_extras());
                return Err(Error::invalid_argument(message));
            }
            check_value(key, name, value)?;
            self = self.with(key, value);
        }
        let has = |key: HeaderKey| self.entries.contains_key(&(key as i32));
        if has(HeaderKey::RecordPositions) && !has(HeaderKey::BaseFileInstantTimeOfRecordPositions) {
            return Err(Error::invalid_argument(
                "header key RECORD_POSITIONS requires BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS: readers ignore positions in an unnamed base file",
            ));
        }
        Ok(self)
    }

    /// Adds the positions of the block's records in the base file that `instant` wrote, in ascending order like the
    /// records.
    ///
    /// # Errors
    /// `InvalidArgument` for positions that are not ascending.
    pub fn with_positions(self, instant: &RequestedTime, positions: &[u64]) -> Result<Self> {
        let positions = encode_positions(positions)?;
        Ok(self.with_base_instant(instant).with(HeaderKey::RecordPositions, &positions))
    }

    /// Adds the instant of the base file only, as Hudi does if several records of a block have the same position.
    #[must_use]
    pub fn with_base_instant(self, instant: &RequestedTime) -> Self {
        self.with(HeaderKey::BaseFileInstantTimeOfRecordPositions, instant.as_str())
    }

    /// Adds the instants whose blocks this one replaces: that of a log compaction. Without instants nothing is added.
    #[must_use]
    pub fn with_compacted_instants(self, instants: &[RequestedTime]) -> Self {
        if instants.is_empty() {
            return self;
        }
        let instants: Vec<&str> = instants.iter().map(RequestedTime::as_str).collect();
        self.with(HeaderKey::CompactedBlockTimes, &instants.join(","))
    }

    /// Adds that the records have some of the table's columns only: those of the block's schema.
    #[must_use]
    pub fn partial(self) -> Self {
        self.with(HeaderKey::IsPartial, "true")
    }

    /// Adds the records' Avro schema as JSON.
    #[must_use]
    pub fn with_schema(self, schema: &str) -> Self {
        self.with(HeaderKey::Schema, schema)
    }

    /// Adds the positions of a native log's records, in the order of the records.
    ///
    /// # Errors
    /// `InvalidArgument` for positions that a native log cannot have.
    pub fn with_position_list(self, instant: &RequestedTime, positions: &[u64]) -> Result<Self> {
        let positions = encode_position_list(positions)?;
        Ok(self.with_base_instant(instant).with(HeaderKey::RecordPositions, &positions))
    }

    /// The entries, with Hudi's names of the keys.
    pub(super) fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.entries.iter().filter_map(|(ordinal, value)| Some((HeaderKey::name_of(*ordinal)?, value.as_str())))
    }

    pub(super) fn with(mut self, key: HeaderKey, value: &str) -> Self {
        self.entries.insert(key as i32, value.to_owned());
        self
    }

    /// Returns true if the header has positions of the block's records in a base file.
    pub(super) fn has_positions(&self) -> bool {
        self.entries.contains_key(&(HeaderKey::RecordPositions as i32))
    }

    /// Checks that the number of positions, if there are any, is that of the records.
    pub(super) fn check_positions(&self, records: usize) -> Result<()> {
        let Some(value) = self.entries.get(&(HeaderKey::RecordPositions as i32)) else { return Ok(()) };
        let unfit =
            |error| Error::invalid_argument("header key RECORD_POSITIONS does not fit the block").caused_by(error);
        positions(value.as_bytes(), records).map(|_| ()).map_err(unfit)
    }

    /// Appends the bytes of the map.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        write_len(out, self.entries.len(), "header entries")?;
        for (ordinal, value) in &self.entries {
            out.extend(ordinal.to_be_bytes());
            write_len(out, value.len(), "bytes of a header value")?;
            out.extend(value.as_bytes());
        }
        Ok(())
    }
}

/// Appends a length in the format of log files: four bytes, big-endian, signed.
pub(super) fn write_len(out: &mut Vec<u8>, len: usize, what: &str) -> Result<()> {
    let len = i32::try_from(len)
        .map_err(|_| Error::invalid_argument(format!("a log block cannot have {len} {what} (less than 2 GiB)")))?;
    out.extend(len.to_be_bytes());
    Ok(())
}

fn check_value(key: HeaderKey, name: &str, value: &str) -> Result<()> {
    let (sound, expected) = match key {
        HeaderKey::IsPartial => (matches!(value, "true" | "false"), "true or false"),
        HeaderKey::CompactedBlockTimes => {
            (value.split(',').all(|instant| RequestedTime::parse(instant).is_some()), "instants joined by commas")
        }
        HeaderKey::BaseFileInstantTimeOfRecordPositions => (RequestedTime::parse(value).is_some(), "an instant"),
        // Their number is checked when the records are known.
        HeaderKey::RecordPositions => (!value.is_empty(), "a roaring bitmap in base64"),
        _ => (is_identifier(value), "numbers of attempt and sequence, such as 0,1"),
    };
    if sound {
        Ok(())
    } else {
        Err(Error::invalid_argument(format!("header key {name} must be {expected}, got {value:?}")))
    }
}

fn is_identifier(text: &str) -> bool {
    text.split(',').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

fn names_of_extras() -> String {
    EXTRAS.iter().filter_map(|key| HeaderKey::name_of(*key as i32)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::log::Header;

    fn extras(entries: &[(&str, &str)]) -> Result<BlockHeader> {
        let entries = entries.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        BlockHeader::new(&"001".into()).with_extras(&entries)
    }

    #[test]
    fn the_reader_reads_what_is_written() {
        let header = extras(&[
            ("IS_PARTIAL", "true"),
            ("COMPACTED_BLOCK_TIMES", "001,002"),
            ("RECORD_POSITIONS", "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAEAEAAAAAMABQA="),
            ("BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS", "000"),
            ("BLOCK_IDENTIFIER", "0,1"),
        ])
        .unwrap()
        .with_schema("\"ü\"");
        let mut bytes = Vec::new();
        header.write(&mut bytes).unwrap();
        let bytes = Bytes::from(bytes);
        let (read, len) = Header::read(&bytes).unwrap();
        assert_eq!(len, bytes.len());
        let ordinals: Vec<_> = read.named().map(|(name, _)| HeaderKey::named(&name).unwrap() as i32).collect();
        assert_eq!(ordinals, [0, 2, 4, 5, 6, 7, 8]);
        assert_eq!(read.get(HeaderKey::Schema).unwrap(), "\"ü\"");
        assert_eq!(read.get(HeaderKey::CompactedBlockTimes).unwrap(), "001,002");
    }

    #[test]
    fn positions_are_as_many_as_records() {
        let of = |positions| {
            extras(&[("RECORD_POSITIONS", positions), ("BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS", "000")]).unwrap()
        };
        // 3 and 5.
        let two = of("AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAEAEAAAAAMABQA=");
        assert!(two.check_positions(2).is_ok());
        assert!(BlockHeader::new(&"001".into()).check_positions(7).is_ok());
        for (header, records) in [(&two, 1), (&two, 3), (&of("3,5"), 2)] {
            assert_eq!(header.check_positions(records).unwrap_err().kind(), mortice_base::ErrorKind::InvalidArgument);
        }
    }

    #[test]
    fn keys_and_values_that_readers_would_stumble_over_are_refused() {
        for (entries, word) in [
            (&[("SCHEMA", "{}")][..], "SCHEMA is derived"),
            (&[("INSTANT_TIME", "1")], "INSTANT_TIME is derived"),
            (&[("is_partial", "true")], "not a header key of Hudi"),
            (&[("IS_PARTIAL", "yes")], "true or false"),
            (&[("COMPACTED_BLOCK_TIMES", "1,,2")], "joined by commas"),
            (&[("RECORD_POSITIONS", "AQ==")], "requires BASE_FILE"),
            (&[("RECORD_POSITIONS", ""), ("BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS", "1")], "base64"),
            (&[("BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS", "")], "an instant"),
            (&[("BLOCK_IDENTIFIER", "0,x")], "such as 0,1"),
        ] {
            let error = extras(entries).unwrap_err();
            assert_eq!(error.kind(), mortice_base::ErrorKind::InvalidArgument);
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}
