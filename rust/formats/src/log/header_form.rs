//! Whether the header of a block has the form that writers give it. Headers have no checksum: a changed bit may turn
//! one key into another, or a value into one that is ignored, and the block would be read as another one.

use super::header::Header;
use super::layout::{BlockType, HeaderKey};
use mortice_base::names::RequestedTime;

/// Returns what is wrong with the header of a block: a repeated key, a key of blocks of other types, or a value that no
/// writer gives to its key.
pub(super) fn defect(kind: BlockType, header: &Header) -> Option<String> {
    let mut seen = Vec::new();
    for ordinal in header.keys() {
        let name = HeaderKey::name_of(ordinal)?;
        if seen.contains(&ordinal) {
            return Some(format!("header key {name} is repeated"));
        }
        seen.push(ordinal);
    }
    let is_command = kind == BlockType::Command;
    HeaderKey::ALL.into_iter().find_map(|key| {
        let value = header.bytes(key)?;
        let of_command = matches!(key, HeaderKey::TargetInstantTime | HeaderKey::CommandBlockType);
        if key != HeaderKey::InstantTime && of_command != is_command {
            return Some(format!("header key {} does not belong to a {}", key.name(), kind.name()));
        }
        let value = std::str::from_utf8(value).ok();
        let expected = expected(key)?;
        let is_valid = value.is_some_and(|value| has_form(key, value.trim()));
        (!is_valid).then(|| format!("header key {} must be {expected}, got {:?}", key.name(), value.unwrap_or("bytes")))
    })
}

/// Returns the form of the values of a key, if they are not checked where they are read.
const fn expected(key: HeaderKey) -> Option<&'static str> {
    match key {
        HeaderKey::CompactedBlockTimes => Some("instants, separated by commas"),
        HeaderKey::BlockIdentifier => Some("two numbers, separated by a comma"),
        HeaderKey::IsPartial => Some("true or false"),
        HeaderKey::BaseFileInstantTimeOfRecordPositions => Some("an instant"),
        HeaderKey::InstantTime
        | HeaderKey::TargetInstantTime
        | HeaderKey::Schema
        | HeaderKey::CommandBlockType
        | HeaderKey::RecordPositions => None,
    }
}

fn has_form(key: HeaderKey, value: &str) -> bool {
    let is_time = |text: &str| RequestedTime::parse(text.trim()).is_some();
    match key {
        HeaderKey::CompactedBlockTimes => value.split(',').all(is_time),
        // Instants are too large for an attempt or a sequence number.
        HeaderKey::BlockIdentifier => {
            value.split(',').count() == 2 && value.split(',').all(|number| number.trim().parse::<i32>().is_ok())
        }
        HeaderKey::IsPartial => ["true", "false"].iter().any(|word| value.eq_ignore_ascii_case(word)),
        HeaderKey::BaseFileInstantTimeOfRecordPositions => is_time(value),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn found(kind: BlockType, entries: &[(i32, &str)]) -> Option<String> {
        let mut bytes = i32::try_from(entries.len()).unwrap().to_be_bytes().to_vec();
        for (key, value) in entries {
            bytes.extend(key.to_be_bytes());
            bytes.extend(i32::try_from(value.len()).unwrap().to_be_bytes());
            bytes.extend(value.as_bytes());
        }
        defect(kind, &Header::read(&Bytes::from(bytes)).unwrap().0)
    }

    #[test]
    fn headers_of_writers_have_no_defect() {
        for (kind, entries) in [
            (BlockType::Delete, &[(0, "20240101000000001")][..]),
            (BlockType::Command, &[(0, "20240101000000003"), (1, "20240101000000001"), (3, "0")]),
            (BlockType::AvroData, &[(0, "1"), (2, "{}"), (4, "1,2"), (6, "0,1")]),
            (BlockType::AvroData, &[(8, "20240101000000001"), (0, "1"), (2, "{}"), (5, "AQAA"), (7, "true")]),
            // The last release of 0.x wrote positions without the instant of their base file.
            (BlockType::ParquetData, &[(0, "1"), (2, "{}"), (5, "AQAA"), (7, "False")]),
        ] {
            assert_eq!(found(kind, entries), None, "{entries:?}");
        }
    }

    #[test]
    fn keys_and_values_that_no_writer_writes_are_named() {
        for (kind, entries, word) in [
            (BlockType::AvroData, &[(0, "1"), (2, "{}"), (0, "2")][..], "INSTANT_TIME is repeated"),
            (BlockType::AvroData, &[(0, "1"), (3, "true")], "COMMAND_BLOCK_TYPE does not belong to a AVRO_DATA_BLOCK"),
            (BlockType::HfileData, &[(0, "1"), (1, "2"), (3, "0")], "TARGET_INSTANT_TIME does not belong"),
            (BlockType::Command, &[(0, "1"), (2, "{}"), (3, "0")], "SCHEMA does not belong to a COMMAND_BLOCK"),
            (BlockType::Delete, &[(0, "1"), (4, "AQAAAA==")], "COMPACTED_BLOCK_TIMES must be instants"),
            (BlockType::Delete, &[(0, "1"), (4, "20240101000000001,2024010100p000002")], "COMPACTED_BLOCK_TIMES"),
            (BlockType::AvroData, &[(0, "1"), (6, "20240101000000001,20240101000000002")], "BLOCK_IDENTIFIER must be"),
            (BlockType::AvroData, &[(0, "1"), (6, "true")], "BLOCK_IDENTIFIER must be two numbers"),
            (BlockType::AvroData, &[(0, "1"), (7, "tr\u{35}e")], "IS_PARTIAL must be true or false, got \"tr5e\""),
            (BlockType::AvroData, &[(0, "1"), (8, "2024 101")], "RECORD_POSITIONS must be an instant"),
        ] {
            let found = found(kind, entries).unwrap();
            assert!(found.contains(word), "{found}");
        }
    }

    /// Unknown keys are refused as such.
    #[test]
    fn unknown_keys_are_left_to_their_own_error() {
        assert_eq!(found(BlockType::AvroData, &[(0, "1"), (77, "x"), (7, "maybe")]), None);
    }
}
