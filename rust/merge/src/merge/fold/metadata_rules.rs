//! The rules by which two records of one key of the metadata table become one (`HoodieMetadataPayload.preCombine`).
//!
//! | type | result of two records |
//! |---|---|
//! | 1 all partitions, 2 files of a partition | the entries of both, by file name: a deletion removes the older entry, or stays if there is none or that is a deletion; else the larger size is taken |
//! | 3 column stats, 6 partition stats | the newer record if its bounds are tight or either is a tombstone; else the outer bounds of both, and their counts added |
//! | 4 Bloom filter, 5 record index, 7 secondary index | the newer record |
//!
//! Readers merge these records as Arrow columns (`metadata`), compactions of the metadata table as Avro values, one
//! record at a time, since they must not hold a file group in memory. Both take every decision here.

use std::cmp::Ordering;

use mortice_base::error::{Error, Result};

/// The field with the type of a record.
pub const TYPE: &str = "type";
/// The field with the files of a partition.
pub const FILES: &str = "filesystemMetadata";
/// The field with the statistics of a column.
pub const STATISTICS: &str = "ColumnStatsMetadata";
/// The counts of statistics, which are added.
pub const COUNTS: [&str; 4] = ["valueCount", "nullCount", "totalSize", "totalUncompressedSize"];
/// The bounds of statistics, with the order of an older bound that is kept beside a newer one.
pub const BOUNDS: [(&str, Ordering); 2] = [("minValue", Ordering::Less), ("maxValue", Ordering::Greater)];
/// The type of values (`valueType.typeOrdinal`) of decimals whose bounds are stored as bytes.
pub const DECIMAL: i64 = 10;

/// How an older and a newer record are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeKind {
    /// The newer one is taken.
    Newer,
    /// The entries of both.
    Files,
    /// The bounds and counts of both, unless one of them decides.
    Statistics,
}

impl MergeKind {
    /// Returns the kind of merge of two records with these types.
    ///
    /// # Errors
    /// `InvalidTable` for records without a type or of two types, `Unsupported` for types that this release does not
    /// know.
    pub fn of_types(older: Option<i64>, newer: Option<i64>) -> Result<Self> {
        let (Some(old), Some(new)) = (older, newer) else {
            return Err(Error::invalid_table("invalid record of the metadata table: its field \"type\" is null"));
        };
        match new {
            _ if old != new => Err(Error::invalid_table(format!(
                "invalid records of the metadata table: one key has the types {old} and {new}"
            ))),
            1 | 2 => Ok(Self::Files),
            3 | 6 => Ok(Self::Statistics),
            4 | 5 | 7 => Ok(Self::Newer),
            other => Err(Error::unsupported(format!("unsupported record type {other} in the metadata table"))),
        }
    }
}

/// An entry of a list of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileEntry {
    /// The size in bytes.
    pub size: i64,
    /// Whether it says that the file is deleted.
    pub is_deleted: bool,
}

/// Which of two entries of one file is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptEntry {
    /// The older one.
    Older,
    /// The newer one.
    Newer,
    /// None: the newer one has deleted the older one.
    Neither,
}

/// Returns which of two entries of one file is kept.
///
/// A deletion that has removed an entry is not kept. One that follows a deletion stays: logs are merged among
/// themselves first, and the deleted entry may be in the base file.
#[must_use]
pub fn merge_entries(older: FileEntry, newer: FileEntry) -> KeptEntry {
    match (older.is_deleted, newer.is_deleted) {
        (false, true) => KeptEntry::Neither,
        (false, false) if newer.size < older.size => KeptEntry::Older,
        _ => KeptEntry::Newer,
    }
}

/// What statistics say of themselves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatisticsFlags {
    /// The bounds are values of rows (`isTightBound`).
    pub is_tight: bool,
    /// The statistics are a tombstone.
    pub is_deleted: bool,
}

/// Returns whether the newer statistics replace the older ones as a whole.
#[must_use]
pub fn newer_statistics_decide(older: StatisticsFlags, newer: StatisticsFlags) -> bool {
    newer.is_tight || newer.is_deleted || older.is_deleted
}

/// Returns the sum of two counts; a missing one adds nothing.
#[must_use]
pub fn add_counts(older: Option<i64>, newer: Option<i64>) -> Option<i64> {
    match (older, newer) {
        // Java's sum of longs.
        (Some(old), Some(new)) => Some(old.wrapping_add(new)),
        (old, new) => new.or(old),
    }
}

/// A bound that is stored as characters or bytes, as the value that Java compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredBound<'a> {
    /// A `String`: compared by UTF-16 code units.
    Text(&'a str),
    /// A `ByteBuffer`: compared by signed bytes.
    Bytes(&'a [u8]),
    /// The unscaled value of a decimal, two's complement, big-endian, of any length.
    Decimal(&'a [u8]),
}

impl StoredBound<'_> {
    /// Compares two bounds of one kind; `None` for bounds of two kinds.
    #[must_use]
    pub fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Text(one), Self::Text(two)) => Some(one.encode_utf16().cmp(two.encode_utf16())),
            (Self::Bytes(one), Self::Bytes(two)) => {
                let signed = |bytes: &'_ [u8]| bytes.iter().map(|byte| byte.cast_signed()).collect::<Vec<i8>>();
                Some(signed(one).cmp(&signed(two)))
            }
            (Self::Decimal(one), Self::Decimal(two)) => Some(compare_numbers(one, two)),
            _ => None,
        }
    }
}

/// Compares numbers in two's complement, big-endian, of any length.
fn compare_numbers(one: &[u8], other: &[u8]) -> Ordering {
    let is_negative = |bytes: &[u8]| bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let len = one.len().max(other.len());
    let extended = |bytes: &[u8]| {
        let fill = if is_negative(bytes) { 0xff } else { 0 };
        let mut digits = vec![fill; len - bytes.len()];
        digits.extend_from_slice(bytes);
        digits
    };
    is_negative(other).cmp(&is_negative(one)).then_with(|| extended(one).cmp(&extended(other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mortice_base::error::ErrorKind;
    use proptest::prelude::*;

    #[test]
    fn records_are_merged_by_their_type() {
        let kind = |old, new| MergeKind::of_types(old, new).map_err(|error| error.kind());
        for (of, expected) in [(1, MergeKind::Files), (2, MergeKind::Files), (3, MergeKind::Statistics)] {
            assert_eq!(kind(Some(of), Some(of)), Ok(expected));
        }
        assert_eq!(kind(Some(6), Some(6)), Ok(MergeKind::Statistics));
        assert!([4, 5, 7].iter().all(|of| kind(Some(*of), Some(*of)) == Ok(MergeKind::Newer)));
        assert_eq!(kind(Some(1), Some(2)), Err(ErrorKind::InvalidTable));
        assert_eq!(kind(Some(1), None), Err(ErrorKind::InvalidTable));
        assert_eq!(kind(Some(8), Some(8)), Err(ErrorKind::Unsupported));
    }

    #[test]
    fn a_deletion_stays_only_where_it_has_deleted_nothing() {
        let entry = |size, is_deleted| FileEntry { size, is_deleted };
        assert_eq!(merge_entries(entry(9, false), entry(0, true)), KeptEntry::Neither);
        assert_eq!(merge_entries(entry(0, true), entry(0, true)), KeptEntry::Newer);
        assert_eq!(merge_entries(entry(0, true), entry(4, false)), KeptEntry::Newer);
        assert_eq!(merge_entries(entry(9, false), entry(3, false)), KeptEntry::Older);
        assert_eq!(merge_entries(entry(3, false), entry(3, false)), KeptEntry::Newer);
    }

    #[test]
    fn tight_bounds_and_tombstones_decide() {
        let flags = |is_tight, is_deleted| StatisticsFlags { is_tight, is_deleted };
        let none = flags(false, false);
        assert!(!newer_statistics_decide(none, none) && !newer_statistics_decide(flags(true, false), none));
        assert!(newer_statistics_decide(none, flags(true, false)) && newer_statistics_decide(none, flags(false, true)));
        assert!(newer_statistics_decide(flags(false, true), none));
    }

    #[test]
    fn counts_are_added_where_there_are_two() {
        assert_eq!(add_counts(Some(2), Some(3)), Some(5));
        assert_eq!((add_counts(None, Some(3)), add_counts(Some(2), None)), (Some(3), Some(2)));
        assert_eq!(add_counts(None, None), None);
    }

    /// In UTF-16 a surrogate pair is less than U+FFFD, in UTF-8 greater.
    #[test]
    fn strings_and_bytes_are_compared_as_java_does() {
        let (pair, replacement) = (StoredBound::Text("\u{1f600}"), StoredBound::Text("\u{fffd}"));
        assert_eq!(pair.compare(replacement), Some(Ordering::Less));
        assert_eq!(StoredBound::Bytes(&[0xff]).compare(StoredBound::Bytes(&[1])), Some(Ordering::Less));
        assert_eq!(StoredBound::Bytes(&[1]).compare(StoredBound::Decimal(&[1])), None);
    }

    proptest! {
        #[test]
        fn decimals_are_compared_as_numbers(one: i64, two: i64, padding in 0_usize..4) {
            let bytes = |number: i64, padding: usize| {
                let fill = if number < 0 { 0xff } else { 0 };
                let mut bytes = vec![fill; padding];
                bytes.extend(number.to_be_bytes());
                bytes
            };
            let (left, right) = (bytes(one, padding), bytes(two, 0));
            let order = StoredBound::Decimal(&left).compare(StoredBound::Decimal(&right));
            prop_assert_eq!(order, Some(one.cmp(&two)));
        }

        /// In which order logs are merged makes no difference to what a base entry becomes.
        #[test]
        fn merging_entries_is_associative(
            states in proptest::array::uniform3((0_i64..3, any::<bool>())),
        ) {
            let [base, one, two] = states.map(|(size, is_deleted)| FileEntry { size, is_deleted });
            let base = FileEntry { is_deleted: false, ..base };
            let merged = |older: Option<FileEntry>, newer: Option<FileEntry>| match (older, newer) {
                (Some(old), Some(new)) => match merge_entries(old, new) {
                    KeptEntry::Older => Some(old),
                    KeptEntry::Newer => Some(new),
                    KeptEntry::Neither => None,
                },
                (old, new) => new.or(old),
            };
            // The logs alone leave nothing where the second one deletes what the first has added: then the base entry
            // stays.
            let logs = merged(Some(one), Some(two));
            prop_assume!(logs.is_some());
            let live = |entry: Option<FileEntry>| entry.filter(|entry| !entry.is_deleted);
            let left = live(merged(merged(Some(base), Some(one)), Some(two)));
            prop_assert_eq!(left.is_some(), live(merged(Some(base), logs)).is_some());
        }
    }
}
