//! Records of the metadata table as Avro bytes (`HoodieMetadataPayload`). The tests decode them by their schema.
//!
//! A record has the five meta columns, its key, which are all empty, its type, and one member of several.

use std::collections::BTreeMap;

use super::record_schema::RecordSchema;
use mortice_avro::{write_bytes, write_long};

/// Members of a record, by their order in the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Member {
    Files,
    BloomFilter,
    ColumnStats,
    RecordIndex,
    SecondaryIndex,
}

const META_COLUMNS: usize = 5;
/// Members of the schema of 0.15; 1.x has that of secondary indexes as well.
const MEMBERS_0_15: usize = 4;
/// The branch of a union with null.
const NULL: i64 = 0;
const PRESENT: i64 = 1;

/// What a record is of (`MetadataPartitionType.recordType`).
mod record_type {
    pub(in crate::metadata_upkeep) const PARTITION_LIST: i64 = 1;
    pub(in crate::metadata_upkeep) const FILES: i64 = 2;
    pub(in crate::metadata_upkeep) const COLUMN_STATS: i64 = 3;
    pub(in crate::metadata_upkeep) const BLOOM_FILTER: i64 = 4;
    pub(in crate::metadata_upkeep) const RECORD_INDEX: i64 = 5;
    pub(in crate::metadata_upkeep) const PARTITION_STATS: i64 = 6;
    pub(in crate::metadata_upkeep) const SECONDARY_INDEX: i64 = 7;
}

fn record(schema: &RecordSchema, kind: i64, member: Member, content: &[u8]) -> Vec<u8> {
    let members = MEMBERS_0_15 + usize::from(schema.is_1x);
    let mut out = Vec::with_capacity(content.len().saturating_add(META_COLUMNS + members + 2));
    out.extend([0; META_COLUMNS]);
    write_bytes(b"", &mut out);
    write_long(kind, &mut out);
    for at in 0..members {
        if at == member as usize {
            write_long(PRESENT, &mut out);
            out.extend_from_slice(content);
        } else {
            write_long(NULL, &mut out);
        }
    }
    out
}

/// A file, or a partition, of which the size is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::metadata_upkeep) struct FileEntry {
    pub(in crate::metadata_upkeep) size: u64,
    pub(in crate::metadata_upkeep) is_deleted: bool,
}

impl FileEntry {
    /// A file that is gone.
    pub(in crate::metadata_upkeep) const DELETED: Self = Self { size: 0, is_deleted: true };

    /// A live file.
    pub(in crate::metadata_upkeep) fn live(size: u64) -> Self {
        Self { size, is_deleted: false }
    }
}

/// Entries by name.
pub(in crate::metadata_upkeep) type Entries = BTreeMap<String, FileEntry>;

/// The record of the key `__all_partitions__`.
pub(in crate::metadata_upkeep) fn partition_list<'a>(
    schema: &RecordSchema,
    partitions: impl ExactSizeIterator<Item = (&'a str, FileEntry)>,
) -> Vec<u8> {
    record(schema, record_type::PARTITION_LIST, Member::Files, &entries(partitions))
}

/// The record of a partition's files.
pub(in crate::metadata_upkeep) fn files<'a>(
    schema: &RecordSchema,
    files: impl ExactSizeIterator<Item = (&'a str, FileEntry)>,
) -> Vec<u8> {
    record(schema, record_type::FILES, Member::Files, &entries(files))
}

fn entries<'a>(entries: impl ExactSizeIterator<Item = (&'a str, FileEntry)>) -> Vec<u8> {
    let mut out = Vec::new();
    let count = entries.len();
    if count > 0 {
        write_count(count as u64, &mut out);
        for (name, entry) in entries {
            write_bytes(name.as_bytes(), &mut out);
            write_count(entry.size, &mut out);
            out.push(u8::from(entry.is_deleted));
        }
    }
    write_long(0, &mut out);
    out
}

/// The record of a base file's Bloom filter. `text` is what the file's footer has.
pub(in crate::metadata_upkeep) fn bloom_filter(
    schema: &RecordSchema,
    kind: &str,
    instant: &str,
    text: &str,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len().saturating_add(64));
    write_bytes(kind.as_bytes(), &mut out);
    write_bytes(instant.as_bytes(), &mut out);
    write_bytes(text.as_bytes(), &mut out);
    out.push(u8::from(false));
    record(schema, record_type::BLOOM_FILTER, Member::BloomFilter, &out)
}

/// Which wrapper a bound has: the branch of its union.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::metadata_upkeep) enum Wrapper {
    Boolean = 1,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Date,
    Decimal,
}

/// A bound as it is written.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::metadata_upkeep) enum WrappedValue {
    Boolean(bool),
    /// Of an int, a long or a date.
    Integer(i64),
    Float(f32),
    Double(f64),
    /// Of bytes and of a decimal.
    Bytes(Vec<u8>),
    String(String),
}

/// Statistics of one column of a file or of a partition.
#[derive(Debug)]
pub(in crate::metadata_upkeep) struct StatisticsRecord<'a> {
    /// The file's name or the partition.
    pub(in crate::metadata_upkeep) name: &'a str,
    pub(in crate::metadata_upkeep) is_of_partition: bool,
    pub(in crate::metadata_upkeep) column: &'a str,
    pub(in crate::metadata_upkeep) wrapper: Wrapper,
    pub(in crate::metadata_upkeep) bounds: Option<(WrappedValue, WrappedValue)>,
    /// Values, nulls, bytes, bytes before compression.
    pub(in crate::metadata_upkeep) counts: [u64; 4],
    pub(in crate::metadata_upkeep) is_tight: bool,
    /// The ordinal of the value type with what else is to be known of it: index version 2.
    pub(in crate::metadata_upkeep) value_type: Option<(i32, Option<&'a str>)>,
}

/// The record of a column's statistics.
pub(in crate::metadata_upkeep) fn statistics(schema: &RecordSchema, of: &StatisticsRecord<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    optional_string(Some(of.name), &mut out);
    optional_string(Some(of.column), &mut out);
    let (least, greatest) = of.bounds.as_ref().map(|(least, greatest)| (least, greatest)).unzip();
    wrapped(of.wrapper, least, &mut out);
    wrapped(of.wrapper, greatest, &mut out);
    for count in of.counts {
        write_long(PRESENT, &mut out);
        write_count(count, &mut out);
    }
    out.push(u8::from(false));
    if schema.is_1x {
        out.push(u8::from(of.is_tight));
        match of.value_type {
            None => write_long(NULL, &mut out),
            Some((ordinal, more)) => {
                write_long(PRESENT, &mut out);
                write_long(ordinal.into(), &mut out);
                optional_string(more, &mut out);
            }
        }
    }
    let kind = if of.is_of_partition { record_type::PARTITION_STATS } else { record_type::COLUMN_STATS };
    record(schema, kind, Member::ColumnStats, &out)
}

fn wrapped(wrapper: Wrapper, value: Option<&WrappedValue>, out: &mut Vec<u8>) {
    let Some(value) = value else { return write_long(NULL, out) };
    write_long(wrapper as i64, out);
    match value {
        WrappedValue::Boolean(value) => out.push(u8::from(*value)),
        WrappedValue::Integer(value) => write_long(*value, out),
        WrappedValue::Float(value) => out.extend(value.to_le_bytes()),
        WrappedValue::Double(value) => out.extend(value.to_le_bytes()),
        WrappedValue::Bytes(value) => write_bytes(value, out),
        WrappedValue::String(value) => write_bytes(value.as_bytes(), out),
    }
}

/// Where the row of a record key is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::metadata_upkeep) struct KeyLocation {
    pub(in crate::metadata_upkeep) partition: String,
    pub(in crate::metadata_upkeep) file_group: FileGroupId,
    /// Milliseconds since the epoch.
    pub(in crate::metadata_upkeep) instant: i64,
}

/// A file group id, as the record index stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::metadata_upkeep) enum FileGroupId {
    /// A UUID, and the number behind it.
    Uuid { high: i64, low: i64, index: i32 },
    /// Any other text.
    Text(String),
}

/// The number of a file group id without one, and of ids that are strings.
const NO_INDEX: i32 = -1;
const UUID_LEN: usize = 36;

impl FileGroupId {
    pub(in crate::metadata_upkeep) fn parse(id: &str) -> Self {
        Self::uuid(id).unwrap_or_else(|| Self::Text(id.to_owned()))
    }

    fn uuid(id: &str) -> Option<Self> {
        let (uuid, rest) = id.split_at_checked(UUID_LEN)?;
        let index = match rest.strip_prefix('-') {
            None if rest.is_empty() => NO_INDEX,
            Some(number) if number == "0" || !number.starts_with(['0', '+', '-']) => number.parse().ok()?,
            _ => return None,
        };
        let has_dashes = [8, 13, 18, 23].iter().all(|at| uuid.as_bytes().get(*at) == Some(&b'-'));
        let digits: String = uuid.chars().filter(|char| *char != '-').collect();
        let is_canonical = digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        if !has_dashes || digits.len() != 32 || !is_canonical {
            return None;
        }
        let bits = u128::from_str_radix(&digits, 16).ok()?;
        #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
        let (high, low) = ((bits >> 64) as u64, bits as u64);
        Some(Self::Uuid { high: high.cast_signed(), low: low.cast_signed(), index })
    }
}

/// The record of a key of a secondary index, from table version 8 on: all that it says is in its key.
pub(in crate::metadata_upkeep) fn secondary_index(schema: &RecordSchema) -> Vec<u8> {
    record(schema, record_type::SECONDARY_INDEX, Member::SecondaryIndex, &[u8::from(false)])
}

/// The record of a record key's location.
pub(in crate::metadata_upkeep) fn record_location(schema: &RecordSchema, of: &KeyLocation) -> Vec<u8> {
    let mut out = Vec::new();
    optional_string(Some(&of.partition), &mut out);
    let (high, low, index, text, encoding) = match &of.file_group {
        FileGroupId::Uuid { high, low, index } => (*high, *low, *index, "", 0),
        FileGroupId::Text(text) => (-1, -1, NO_INDEX, text.as_str(), 1),
    };
    for number in [high, low, index.into()] {
        write_long(PRESENT, &mut out);
        write_long(number, &mut out);
    }
    optional_string(Some(text), &mut out);
    write_long(PRESENT, &mut out);
    write_long(of.instant, &mut out);
    write_long(encoding, &mut out);
    if schema.is_1x {
        // The position in the file group: Hudi 1.x has the field, and leaves it null.
        write_long(NULL, &mut out);
    }
    record(schema, record_type::RECORD_INDEX, Member::RecordIndex, &out)
}

fn optional_string(text: Option<&str>, out: &mut Vec<u8>) {
    match text {
        None => write_long(NULL, out),
        Some(text) => {
            write_long(PRESENT, out);
            write_bytes(text.as_bytes(), out);
        }
    }
}

/// Counts and sizes are longs.
fn write_count(count: u64, out: &mut Vec<u8>) {
    // No list in memory has more items.
    write_long(i64::try_from(count).unwrap_or(i64::MAX), out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata_upkeep::records::record_schema::{OF_0_15, OF_1_2};
    use mortice_avro::{Schema, Value, decode_value};

    /// The members of a record that are not null, besides its type.
    fn decoded(schema: &RecordSchema, bytes: &[u8]) -> (i64, Vec<(String, Value<'static>)>) {
        let parsed = Schema::parse(schema.block).unwrap();
        let Value::Object(members) = decode_value(parsed.root(), bytes).unwrap().into_owned() else { panic!() };
        let kind = members.iter().find(|(name, _)| name == "type").map(|(_, value)| value.clone());
        let Some(Value::Int(kind)) = kind else { panic!() };
        let is_set = |(name, value): &(std::borrow::Cow<'_, str>, Value<'_>)| {
            *value != Value::Null && name != "type" && name != "key"
        };
        let set = members.into_iter().filter(is_set).map(|(name, value)| (name.into_owned(), value));
        (kind, set.collect())
    }

    fn members<'a>(value: &'a Value<'static>) -> Vec<(&'a str, Value<'static>)> {
        let Value::Object(members) = value else { panic!("{value:?}") };
        members.iter().map(|(name, value)| (name.as_ref(), value.clone())).collect()
    }

    fn text(text: &str) -> Value<'static> {
        Value::String(text.to_owned().into())
    }

    #[test]
    fn bloom_filters_in_both_schemas() {
        for schema in [&OF_0_15, &OF_1_2] {
            let (kind, set) = decoded(schema, &bloom_filter(schema, "DYNAMIC_V0", "20240101000000000", "AAAB"));
            let [(name, filter)] = &set[..] else { panic!("{set:?}") };
            assert_eq!((kind, name.as_str()), (4, "BloomFilterMetadata"));
            let expected = [
                ("type", text("DYNAMIC_V0")),
                ("timestamp", text("20240101000000000")),
                ("bloomFilter", Value::Bytes(b"AAAB".to_vec().into())),
                ("isDeleted", Value::Boolean(false)),
            ];
            assert_eq!(members(filter), expected);
        }
    }

    #[test]
    fn locations_in_both_schemas_and_encodings() {
        for schema in [&OF_0_15, &OF_1_2] {
            for (id, expected) in [
                (
                    "723e8017-61d4-4ee4-bed8-6170a8190a22-2",
                    (8_232_158_006_793_752_292, -4_694_895_475_049_297_374, 2, "", 0),
                ),
                (
                    "723e8017-61d4-4ee4-bed8-6170a8190a22",
                    (8_232_158_006_793_752_292, -4_694_895_475_049_297_374, -1, "", 0),
                ),
                ("00000001-any", (-1, -1, -1, "00000001-any", 1)),
            ] {
                let location = KeyLocation {
                    partition: "p".into(),
                    file_group: FileGroupId::parse(id),
                    instant: 1_700_000_000_000,
                };
                let (kind, set) = decoded(schema, &record_location(schema, &location));
                let [(name, location)] = &set[..] else { panic!("{set:?}") };
                assert_eq!((kind, name.as_str()), (5, "recordIndexMetadata"));
                let (high, low, index, file_id, encoding) = expected;
                let mut wanted = vec![
                    ("partitionName", text("p")),
                    ("fileIdHighBits", Value::Int(high)),
                    ("fileIdLowBits", Value::Int(low)),
                    ("fileIndex", Value::Int(index)),
                    ("fileId", text(file_id)),
                    ("instantTime", Value::Int(1_700_000_000_000)),
                    ("fileIdEncoding", Value::Int(encoding)),
                ];
                wanted.extend(schema.is_1x.then_some(("position", Value::Null)));
                assert_eq!(members(location), wanted, "{id}");
            }
        }
    }

    #[test]
    fn ids_that_are_not_canonical_uuids_are_strings() {
        for id in [
            "723E8017-61d4-4ee4-bed8-6170a8190a22-2",
            "723e8017-61d4-4ee4-bed8-6170a8190a22-02",
            "723e8017-61d4-4ee4-bed8-6170a8190a22-",
            "723e8017-61d4-4ee4-bed8-6170a8190a22-1-2",
            "723e801761d44ee4bed86170a8190a22-0",
            "",
        ] {
            assert_eq!(FileGroupId::parse(id), FileGroupId::Text(id.to_owned()), "{id}");
        }
    }

    #[test]
    fn lists_of_nothing_are_maps() {
        let (kind, set) = decoded(&OF_1_2, &partition_list(&OF_1_2, std::iter::empty()));
        assert_eq!((kind, set), (1, vec![("filesystemMetadata".to_owned(), Value::Object(Vec::new()))]));
        let (kind, set) = decoded(&OF_0_15, &files(&OF_0_15, [("f", FileEntry::live(7))].into_iter()));
        assert_eq!((kind, set.len()), (2, 1));
    }
}
