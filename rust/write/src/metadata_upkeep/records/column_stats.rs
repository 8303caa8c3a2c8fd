//! Records of the partition `column_stats`: one for each indexed column of each new file.

use super::column_kind::ColumnKind;
use super::commit_update::{CommitFile, CommitUpdate};
use super::indexed_columns::IndexedColumns;
use super::partition_records::PartitionRecords;
use super::record_bytes::{self, StatisticsRecord};
use super::record_schema::RecordSchema;
use crate::write::ColumnRange;
use mortice_base::error::{Error, Result};
use mortice_table::metadata_table::ColumnKeys;

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
            let record = statistics(schema, (file.name, false), columns, (column, kind), &range)?;
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

/// A record of a file's or a partition's column. Bounds that are not known are those of the type.
pub(in crate::metadata_upkeep) fn statistics(
    schema: &RecordSchema,
    (name, is_of_partition): (&str, bool),
    columns: &IndexedColumns,
    (column, kind): (&str, &ColumnKind),
    range: &ColumnRange,
) -> Result<Vec<u8>> {
    let version = columns.version;
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

/// The bounds of a range, in the kind of the column; those of the type where there are values whose bounds are not known.
pub(in crate::metadata_upkeep) fn known_bounds(
    range: &ColumnRange,
    kind: &ColumnKind,
) -> Option<(crate::write::ColumnValue, crate::write::ColumnValue)> {
    match &range.bounds {
        Some((least, greatest)) => {
            Some(kind.converted(least).zip(kind.converted(greatest)).unwrap_or_else(|| kind.widest()))
        }
        None if range.values > range.nulls => Some(kind.widest()),
        None => None,
    }
}
