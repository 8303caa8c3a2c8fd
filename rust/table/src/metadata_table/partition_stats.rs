//! Partitions that contain no matching row, by the bounds of columns in all of their files, from the partition
//! `partition_stats` of the metadata table.
//!
//! What is said of files holds for partitions (`column_stats`), with two exceptions. A record sums up the statistics of
//! the files that have the column: others of the partition have null in it, which no count says. So nulls are never
//! excluded, nor a column whose default is another value. And a record without values is none: a partition is excluded
//! by its bounds alone.

use std::collections::{BTreeMap, BTreeSet};

use super::column_bounds::{FileStats, bounds};
use super::column_stats::{DataSkipping, RequestedStats};
use super::index_key::ColumnKeys;
use super::open::MetadataTable;
use arrow_array::UInt64Array;
use mortice_base::error::Result;
use mortice_formats::filter::ColumnBounds;

/// The partition of the metadata table with the bounds of partitions.
pub const PARTITION_STATS: &str = "partition_stats";

impl MetadataTable {
    /// Returns which partitions may contain a matching row; `None` if the statistics cannot evaluate the filter. The
    /// index must have been checked ([`MetadataTable::check_index`]): bounds that lack a commit are too narrow.
    ///
    /// # Errors
    /// Errors of reading the metadata table.
    pub fn partitions_may_hold(
        &self,
        partitions: &BTreeSet<&str>,
        skipping: &DataSkipping<'_>,
    ) -> Result<Option<Vec<bool>>> {
        let Some((filter, columns)) = skipping.answerable()? else { return Ok(None) };
        let mut wanted = RequestedStats::new();
        for column in &columns {
            let Some((name, _)) = skipping.type_of(*column) else { continue };
            let keys = ColumnKeys::new(name);
            wanted.extend(partitions.iter().zip(0..).map(|(path, at)| (keys.partition_key(path), (*column, at))));
        }
        let mut stats: BTreeMap<usize, Vec<Option<FileStats>>> =
            columns.into_iter().map(|column| (column, vec![None; partitions.len()])).collect();
        self.stored_stats(PARTITION_STATS, &wanted, &mut stats)?;
        let known: BTreeMap<usize, ColumnBounds> = stats
            .iter()
            .filter_map(|(column, stats)| {
                let (found, _) = bounds(stats, skipping.type_of(*column)?.1);
                let nulls = UInt64Array::new_null(found.nulls.len());
                Some((*column, ColumnBounds { nulls, ..found }))
            })
            .collect();
        filter.may_pass(&vec![u64::MAX; partitions.len()], |column| known.get(&column).cloned()).map(Some)
    }
}
