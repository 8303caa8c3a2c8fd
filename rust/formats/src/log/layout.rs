//! The layout of a log file, shared by readers and writers (`HoodieLogFormat`, `HoodieLogBlock`).
//!
//! A file is a concatenation of blocks; all integers are big-endian:
//!
//! | field | bytes | value |
//! |---|---|---|
//! | magic | 6 | `#HUDI#` |
//! | block size S | 8 | bytes from the next field to the end, the trailing length included |
//! | log format version | 4 | 1 |
//! | block type | 4 | ordinal of [`BlockType`] |
//! | header map | | count, then (ordinal of [`HeaderKey`], length, UTF-8 string) each |
//! | content length C | 8 | |
//! | content | C | |
//! | footer map | | like the header; always empty in current releases |
//! | trailing length | 8 | bytes of everything before this field: S + 6 |

/// The first bytes of each block.
pub const MAGIC: [u8; 6] = *b"#HUDI#";

/// The only log format version that is written.
pub const LOG_FORMAT_VERSION: i32 = 1;

/// The size of the magic and the block size field, which the block size does not include.
pub(super) const BEFORE_SIZE: u64 = 14;

/// The smallest block size: version, type, an empty header, content length, an empty footer and trailing length.
pub(super) const LEAST_SIZE: u64 = 32;

/// Block types, by their ordinal in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BlockType {
    /// A command: rollback of an instant.
    Command,
    /// Deleted keys.
    Delete,
    /// Never written; the type that a reader gives to damaged ranges.
    Corrupt,
    /// Avro records.
    AvroData,
    /// An HFile of Avro records.
    HfileData,
    /// A Parquet file.
    ParquetData,
    /// Change data, in `.cdc` files only.
    CdcData,
}

impl BlockType {
    const BY_ORDINAL: [Self; 7] =
        [Self::Command, Self::Delete, Self::Corrupt, Self::AvroData, Self::HfileData, Self::ParquetData, Self::CdcData];

    /// Returns the type with that ordinal.
    #[must_use]
    pub fn from_ordinal(ordinal: i32) -> Option<Self> {
        usize::try_from(ordinal).ok().and_then(|index| Self::BY_ORDINAL.get(index).copied())
    }

    /// Returns Hudi's name of the type (`HoodieLogBlockType`).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Command => "COMMAND_BLOCK",
            Self::Delete => "DELETE_BLOCK",
            Self::Corrupt => "CORRUPT_BLOCK",
            Self::AvroData => "AVRO_DATA_BLOCK",
            Self::HfileData => "HFILE_DATA_BLOCK",
            Self::ParquetData => "PARQUET_DATA_BLOCK",
            Self::CdcData => "CDC_DATA_BLOCK",
        }
    }
}

/// Header keys, by their ordinal in files (`HeaderMetadataType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum HeaderKey {
    /// The writing instant.
    InstantTime = 0,
    /// For a command: the instant that it rolls back.
    TargetInstantTime = 1,
    /// The records' Avro schema.
    Schema = 2,
    /// `0` = rollback.
    CommandBlockType = 3,
    /// Instants whose blocks this log-compacted block replaces, separated by commas.
    CompactedBlockTimes = 4,
    /// Base64 of a roaring bitmap: the row numbers of the records in the base file.
    RecordPositions = 5,
    /// `attempt,sequence` of task retries.
    BlockIdentifier = 6,
    /// `true`: the schema has the updated columns only.
    IsPartial = 7,
    /// The instant of the base file that the positions refer to.
    BaseFileInstantTimeOfRecordPositions = 8,
}

impl HeaderKey {
    const NAMES: [&'static str; 9] = [
        "INSTANT_TIME",
        "TARGET_INSTANT_TIME",
        "SCHEMA",
        "COMMAND_BLOCK_TYPE",
        "COMPACTED_BLOCK_TIMES",
        "RECORD_POSITIONS",
        "BLOCK_IDENTIFIER",
        "IS_PARTIAL",
        "BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS",
    ];

    /// All keys, by ordinal.
    pub(super) const ALL: [Self; 9] = [
        Self::InstantTime,
        Self::TargetInstantTime,
        Self::Schema,
        Self::CommandBlockType,
        Self::CompactedBlockTimes,
        Self::RecordPositions,
        Self::BlockIdentifier,
        Self::IsPartial,
        Self::BaseFileInstantTimeOfRecordPositions,
    ];

    /// Returns the key with Hudi's name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let index = Self::NAMES.iter().position(|known| *known == name)?;
        Self::ALL.get(index).copied()
    }

    /// Returns Hudi's name of the key.
    pub(super) fn name(self) -> &'static str {
        Self::name_of(self as i32).unwrap_or_default()
    }

    /// Returns Hudi's name of the key with that ordinal; `None` for unknown ordinals.
    #[must_use]
    pub fn name_of(ordinal: i32) -> Option<&'static str> {
        usize::try_from(ordinal).ok().and_then(|index| Self::NAMES.get(index).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_one_name_and_one_ordinal() {
        for (ordinal, name) in (0..).zip(HeaderKey::NAMES) {
            assert_eq!(HeaderKey::named(name).unwrap() as i32, ordinal);
            assert_eq!(HeaderKey::name_of(ordinal), Some(name));
        }
        assert_eq!(HeaderKey::named("instant_time"), None);
    }
}
