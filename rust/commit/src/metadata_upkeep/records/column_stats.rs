//! Records of the partition `column_stats`: one for each indexed column of each new file.

use super::column_kind::{ColumnKind, IndexVersion};
use super::commit_update::{CommitFile, CommitUpdate};
use super::indexed_columns::IndexedColumns;
use super::partition_records::PartitionRecords;
use super::record_bytes::{self, StatisticsRecord};
use super::record_schema::RecordSchema;
use mortice_base::error::{Error, Result};
use mortice_table::metadata_table::ColumnKeys;
use mortice_write::write::ColumnRange;

/// The records of a commit's files.
pub(in crate::metadata_upkeep) fn of_commit(
    schema: &RecordSchema,
    columns: &IndexedColumns,
    update: &CommitUpdate<'_>,
) -> Result<PartitionRecords> {
    let files = update.files()?;
    let mut records = PartitionRecords::default();
    for (column, kind) in &columns.columns {
        let keys = ColumnKeys::new(column);
        for file in &files {
            let Some(range) = range_of(file, column) else { continue };
            let record = statistics(schema, columns.version, StatisticsOf::File(file.name), column, kind, &range)?;
            records.upserts.insert(keys.key(file.partition, file.name), record);
        }
    }
    Ok(records)
}

/// The range of a column in a file. A log of nothing but deletes has no values in any column.
pub(in crate::metadata_upkeep) fn range_of(file: &CommitFile<'_>, column: &str) -> Option<ColumnRange> {
    let found = file.file.columns.iter().find(|range| range.column == column);
    let is_deletes_alone = file.file.log.is_some() && file.file.columns.is_empty();
    found.cloned().or_else(|| is_deletes_alone.then(|| ColumnRange::new(column)))
}

/// What a record has statistics of.
#[derive(Debug, Clone, Copy)]
pub(in crate::metadata_upkeep) enum StatisticsOf<'a> {
    /// The file of this name.
    File(&'a str),
    /// The partition of this name.
    Partition(&'a str),
}

/// A record of a file's or a partition's column. Bounds that are not known are those of the type.
pub(in crate::metadata_upkeep) fn statistics(
    schema: &RecordSchema,
    version: IndexVersion,
    of: StatisticsOf<'_>,
    column: &str,
    kind: &ColumnKind,
    range: &ColumnRange,
) -> Result<Vec<u8>> {
    let (name, is_of_partition) = match of {
        StatisticsOf::File(name) => (name, false),
        StatisticsOf::Partition(name) => (name, true),
    };
    let bounds = known_bounds(range, kind).map(|(least, greatest)| {
        let both = kind.wrapped(&least, version).zip(kind.wrapped(&greatest, version));
        both.ok_or_else(|| Error::internal(format!("bounds of column {column} are not of its type")))
    });
    let record = StatisticsRecord {
        name,
        is_of_partition,
        column,
        wrapper: kind.wrapper(version),
        bounds: bounds.transpose()?,
        counts: [range.values, range.nulls, range.total_size, range.total_uncompressed_size],
        is_tight: is_of_partition,
        value_type: kind.value_type(version, range.values > 0),
    };
    Ok(record_bytes::statistics(schema, &record))
}

/// The bounds of a range, in the kind of the column; those of the type where there are values whose bounds are not
/// known.
pub(in crate::metadata_upkeep) fn known_bounds(
    range: &ColumnRange,
    kind: &ColumnKind,
) -> Option<(mortice_write::write::ColumnValue, mortice_write::write::ColumnValue)> {
    match &range.bounds {
        Some((least, greatest)) => {
            Some(kind.converted(least).zip(kind.converted(greatest)).unwrap_or_else(|| kind.widest()))
        }
        None if range.values > range.nulls => Some(kind.widest()),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::metadata_upkeep::records::record_schema::OF_1_2;
    use mortice_avro::Schema;
    use mortice_table::timeline::WriteOperation;
    use mortice_write::write::{ColumnValue, LogFileStatus, WriteStatus, WrittenFile};

    fn longs() -> ColumnKind {
        ColumnKind::of_type(Schema::parse(r#""long""#).unwrap().root(), IndexVersion::V1).unwrap()
    }

    fn range(column: &str, bounds: Option<(ColumnValue, ColumnValue)>, values: u64, nulls: u64) -> ColumnRange {
        ColumnRange { bounds, values, nulls, ..ColumnRange::new(column) }
    }

    fn written(name: &str, columns: Vec<ColumnRange>, is_log: bool) -> WriteStatus {
        let mut file = WrittenFile { columns, ..WrittenFile::new(format!("p/{name}"), 9) };
        let log = LogFileStatus { version: 1, offset: 0, base_file: String::new(), log_files: Vec::new() };
        file.log = is_log.then_some(log);
        WriteStatus { file: Some(file), ..WriteStatus::new("p", "f-0") }
    }

    #[test]
    fn files_have_records_of_the_columns_that_are_known() {
        let schema = Schema::parse(r#"{"type":"record","name":"r","fields":[]}"#).unwrap();
        let columns = [("a", longs()), ("b", longs())].map(|(name, kind)| (name.to_owned(), kind)).to_vec();
        let columns = IndexedColumns { version: IndexVersion::V1, columns };
        let bounds = Some((ColumnValue::Long(1), ColumnValue::Long(2)));
        let statuses = [
            written("base", vec![range("a", bounds, 2, 0)], false),
            // Deletes alone: no value of any column is in the file, and readers may skip it.
            written(".log", Vec::new(), true),
        ];
        let replaced = BTreeMap::new();
        let operation = WriteOperation::Upsert;
        let update = CommitUpdate { operation, statuses: &statuses, replaced: &replaced, schema: &schema };
        let found = of_commit(&OF_1_2, &columns, &update).unwrap();
        let mut expected: Vec<String> = [("a", "base"), ("a", ".log"), ("b", ".log")]
            .map(|(column, file)| ColumnKeys::new(column).key("p", file))
            .to_vec();
        expected.sort_unstable();
        assert_eq!(found.upserts.into_keys().collect::<Vec<_>>(), expected);
    }

    /// A reader skips a file by its bounds: they may be wider than the values, never narrower.
    #[test]
    fn bounds_that_are_not_known_are_the_widest() {
        let (kind, long) = (longs(), ColumnValue::Long);
        let known = range("a", Some((long(1), long(2))), 2, 0);
        assert_eq!(known_bounds(&known, &kind), known.bounds);
        let of_int = range("a", Some((ColumnValue::Int(1), ColumnValue::Int(2))), 2, 0);
        assert_eq!(known_bounds(&of_int, &kind), known.bounds, "a column that has become wider since");
        let other = range("a", Some((ColumnValue::String("x".into()), ColumnValue::String("y".into()))), 2, 0);
        assert_eq!(known_bounds(&other, &kind), Some(kind.widest()));
        assert_eq!(known_bounds(&range("a", None, 3, 2), &kind), Some(kind.widest()));
        assert_eq!(known_bounds(&range("a", None, 3, 3), &kind), None, "nulls alone have no bounds");
    }
}
