//! Records of a table that has no metadata table yet, from a listing of its files.
//!
//! Files of pending instants are left out: their own commits add them.

use std::collections::BTreeMap;

use super::index_builder::{IndexBuilder, IndexedFile};
use crate::metadata_upkeep::records::column_stats::{StatisticsOf, known_bounds, statistics};
use crate::metadata_upkeep::records::files;
use crate::metadata_upkeep::records::indexed_columns::IndexedColumns;
use crate::metadata_upkeep::records::partition_records::PartitionRecords;
use crate::metadata_upkeep::records::record_bytes::{self, Entries, FileEntry};
use crate::metadata_upkeep::records::record_schema::RecordSchema;
use mortice_base::error::Result;
use mortice_table::file_group::{PartitionFiles, list_table};
use mortice_table::metadata_table::{ColumnKeys, bloom_filter_key, partition_name};
use mortice_table::plan::OpenTable;
use mortice_write::write::ColumnRange;

/// The completed files of a table.
pub(in crate::metadata_upkeep) struct TableListing {
    partitions: Vec<PartitionFiles>,
}

/// A base file and the ranges of its columns.
struct MeasuredFile<'a> {
    partition: &'a str,
    name: &'a str,
    ranges: Vec<ColumnRange>,
}

impl TableListing {
    /// Lists the table. A table without commits has no files.
    pub(in crate::metadata_upkeep) fn load(table: &OpenTable) -> Result<Self> {
        if table.timeline.latest_visible().is_none() {
            return Ok(Self { partitions: Vec::new() });
        }
        let mut partitions = list_table(table.storage.as_ref())?;
        for files in &mut partitions {
            files.base_files.retain(|base| table.timeline.is_completed(&base.name.instant));
            files.log_files.retain(|log| table.timeline.is_completed(&log.name.instant));
        }
        Ok(Self { partitions })
    }

    /// Records of the partition `files`.
    pub(in crate::metadata_upkeep) fn files(&self, schema: &RecordSchema) -> PartitionRecords {
        let mut all: BTreeMap<String, Entries> = BTreeMap::new();
        for files in &self.partitions {
            let bases = files.base_files.iter().map(|base| (base.name.name.clone(), FileEntry::live(base.len)));
            let logs = files.log_files.iter().map(|log| (log.name.name.clone(), FileEntry::live(log.len)));
            all.insert(partition_name(&files.partition).to_owned(), bases.chain(logs).collect());
        }
        files::of_listing(schema, &all)
    }

    /// Records of the partitions `column_stats` and `partition_stats`. Logs have none, so that slices with logs are
    /// always read, and partitions with logs have the widest bounds.
    pub(in crate::metadata_upkeep) fn statistics(
        &self,
        table: &OpenTable,
        schema: &RecordSchema,
        builder: &dyn IndexBuilder,
        columns: &IndexedColumns,
    ) -> Result<[PartitionRecords; 2]> {
        let measured = self.measured(table, builder, columns)?;
        let mut of_files = PartitionRecords::default();
        let mut of_partitions = PartitionRecords::default();
        for (column, kind) in &columns.columns {
            let keys = ColumnKeys::new(column);
            let mut sums: BTreeMap<&str, ColumnRange> = BTreeMap::new();
            for file in &measured {
                let sum = sums.entry(file.partition).or_insert_with(|| ColumnRange::new(column));
                let Some(range) = file.ranges.iter().find(|range| range.column == *column) else {
                    // The file is older than the column, which is null in it.
                    sum.add(ColumnRange { values: 1, nulls: 1, ..ColumnRange::new(column) });
                    continue;
                };
                let record = statistics(schema, columns.version, StatisticsOf::File(file.name), column, kind, range)?;
                of_files.upserts.insert(keys.key(file.partition, file.name), record);
                let range = ColumnRange { bounds: known_bounds(range, kind), ..range.clone() };
                sum.add(range);
            }
            for files in self.partitions.iter().filter(|files| !files.log_files.is_empty()) {
                let unknown =
                    ColumnRange { values: 2, nulls: 1, bounds: Some(kind.widest()), ..ColumnRange::new(column) };
                sums.entry(&files.partition).or_insert_with(|| ColumnRange::new(column)).add(unknown);
            }
            for (partition, range) in sums {
                let of = StatisticsOf::Partition(partition_name(partition));
                let record = statistics(schema, columns.version, of, column, kind, &range)?;
                of_partitions.upserts.insert(keys.partition_key(partition), record);
            }
        }
        Ok([of_files, of_partitions])
    }

    /// Records of the partition `bloom_filters`: filters are built from the keys of the base files.
    pub(in crate::metadata_upkeep) fn bloom_filters(
        &self,
        table: &OpenTable,
        schema: &RecordSchema,
        builder: &dyn IndexBuilder,
    ) -> Result<PartitionRecords> {
        let (names, files): (Vec<(&str, &str)>, Vec<IndexedFile>) = self.base_files().unzip();
        let instants = self.partitions.iter().flat_map(|files| files.base_files.iter().map(|base| &base.name.instant));
        let filters = builder.bloom_filters(table, &files)?;
        let mut records = PartitionRecords::default();
        for (((partition, name), instant), (kind, text)) in names.into_iter().zip(instants).zip(filters) {
            let record = record_bytes::bloom_filter(schema, &kind, instant.as_str(), &text);
            records.upserts.insert(bloom_filter_key(partition, name), record);
        }
        Ok(records)
    }

    /// The ranges of all base files.
    fn measured(
        &self,
        table: &OpenTable,
        builder: &dyn IndexBuilder,
        columns: &IndexedColumns,
    ) -> Result<Vec<MeasuredFile<'_>>> {
        let (names, files): (Vec<(&str, &str)>, Vec<IndexedFile>) = self.base_files().unzip();
        let columns: Vec<String> = columns.columns.iter().map(|(column, _)| column.clone()).collect();
        let measured = builder.column_ranges(table, &files, &columns)?;
        let file = |((partition, name), ranges)| MeasuredFile { partition, name, ranges };
        Ok(names.into_iter().zip(measured).map(file).collect())
    }

    /// The base files, with their partitions and names.
    fn base_files(&self) -> impl Iterator<Item = ((&str, &str), IndexedFile)> {
        self.partitions.iter().flat_map(|files| {
            files.base_files.iter().map(move |base| {
                let name = base.name.name.as_str();
                let file = IndexedFile { path: path_of(files, name), bytes: base.len };
                ((files.partition.as_str(), name), file)
            })
        })
    }
}

fn path_of(files: &PartitionFiles, name: &str) -> String {
    if files.partition.is_empty() { name.to_owned() } else { format!("{}/{name}", files.partition) }
}
