//! Leaves out file slices without matching rows, by the statistics of columns in partitions and in files.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::Schema;

use super::uses::IndexUses;
use crate::file_group::FileSlice;
use crate::metadata_table::{COLUMN_STATS, DataSkipping, PARTITION_STATS};
use crate::plan::open_table::OpenTable;
use crate::plan::query_options::QueryOptions;
use mortice_avro as avro;
use mortice_merge::config::TimelineLayout;

/// A query whose slices are judged by statistics.
pub(in crate::plan) struct FileStatistics<'a> {
    /// The columns of the table.
    pub(in crate::plan) types: &'a Schema,
    /// The same, with defaults.
    pub(in crate::plan) schema: &'a avro::Schema,
    /// The options of the query.
    pub(in crate::plan) options: &'a QueryOptions,
    /// Columns whose values do not come from files, or whose statistics are not used.
    pub(in crate::plan) not_of_files: &'a [String],
    /// Whether the query is of the merged rows of the latest commit.
    pub(in crate::plan) is_latest: bool,
}

impl OpenTable {
    /// Leaves out slices by the statistics that the table has.
    pub(in crate::plan) fn by_statistics(
        &self,
        slices: &mut Vec<Arc<FileSlice>>,
        query: &FileStatistics<'_>,
        uses: &mut IndexUses,
    ) {
        let is_asked = self.options.prune && self.options.column_stats && !query.options.filter.is_empty();
        // For a single slice, opening its files is as fast.
        if !is_asked || slices.len() < 2 || !self.options.metadata {
            return;
        }
        let is_merged = query.options.merger.is_none() && self.merge.custom().is_none();
        let over_logs = self.config.layout() == TimelineLayout::V2 && is_merged;
        let lister = self.lister();
        if query.is_latest && lister.has(PARTITION_STATS) {
            let has_logs = slices.iter().any(|slice| !slice.log_files.is_empty());
            if over_logs || !has_logs {
                self.by_partition_stats(slices, query, uses);
            }
        }
        if slices.len() >= 2 && lister.has(COLUMN_STATS) {
            let FileStatistics { types, options, not_of_files, .. } = query;
            let skipping = DataSkipping { types, filter: &options.filter, not_of_files, over_logs };
            self.by_column_stats(slices, &skipping, uses);
        }
    }

    fn by_partition_stats(&self, slices: &mut Vec<Arc<FileSlice>>, query: &FileStatistics<'_>, uses: &mut IndexUses) {
        const NAME: &str = "partition stats";
        let partitions: BTreeSet<&str> = slices.iter().map(|slice| slice.partition.as_str()).collect();
        if partitions.len() < 2 {
            return;
        }
        // Rows of files without the column have its default.
        let with_default = query.schema.fields().iter().filter(|field| field.has_value_as_default());
        let not_of_files: Vec<String> =
            with_default.map(|field| field.name.clone()).chain(query.not_of_files.iter().cloned()).collect();
        let filter = &query.options.filter;
        let skipping = DataSkipping { types: query.types, filter, not_of_files: &not_of_files, over_logs: true };
        if !matches!(skipping.may_answer(), Ok(true)) {
            return;
        }
        let Some(metadata) = self.index_of(NAME, PARTITION_STATS, uses) else { return };
        match metadata.partitions_may_hold(&partitions, &skipping) {
            Ok(None) => {}
            Ok(Some(may_hold)) => {
                let excluded = partitions.iter().zip(may_hold).filter(|(_, may_hold)| !may_hold);
                let excluded: BTreeSet<String> = excluded.map(|(partition, _)| (*partition).to_owned()).collect();
                uses.note(NAME, format_args!("{} of {} partitions left out", excluded.len(), partitions.len()));
                slices.retain(|slice| !excluded.contains(&slice.partition));
            }
            Err(error) => uses.failed(NAME, &error),
        }
    }

    /// Leaves out slices whose files have no matching row.
    fn by_column_stats(&self, slices: &mut Vec<Arc<FileSlice>>, skipping: &DataSkipping<'_>, uses: &mut IndexUses) {
        const NAME: &str = "column stats";
        let metadata = match self.metadata_table() {
            Ok(metadata) => metadata,
            Err(error) => return uses.not_used(NAME, error),
        };
        match metadata.may_hold(slices, skipping) {
            Ok(None) => {}
            Ok(Some(may_hold)) => {
                let (all, mut may_hold) = (slices.len(), may_hold.into_iter());
                slices.retain(|_| may_hold.next().unwrap_or(true));
                uses.note(NAME, format_args!("{} of {all} file slices left out", all - slices.len()));
            }
            Err(error) => uses.failed(NAME, &error),
        }
    }
}
