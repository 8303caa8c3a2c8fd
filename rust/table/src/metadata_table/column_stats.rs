//! File slices that contain no matching row, by the bounds of columns in their files, from the partition `column_stats`
//! of the metadata table.
//!
//! Each column of a row that a query returns comes from some record of its slice. So a slice can be skipped if, in each
//! list of the filter, one column has no matching value in any file of the slice. Conditions:
//!
//! | subject | condition | reason |
//! |---|---|---|
//! | every file of the slice, including logs | has a record | a log may change a base row so that it matches |
//! | a slice with logs | table version 8 or later | before, several commits append to a log, and its record may describe only some of them |
//! | a slice with logs | no custom merger or payload | they may compute values |
//! | the column | has had one name, is no meta column except the key | a record is found by the column's name at that time |
//!
//! If a condition is not satisfied, the slice is read.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};

use super::column_bounds::{FileStats, Wrappers, bounds, is_reliable};
use super::index_key::ColumnKeys;
use super::open::{KEY, MetadataTable};
use crate::file_group::FileSlice;
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_formats::filter::{BoundFilter, Filter};

/// The partition of the metadata table with column bounds.
pub const COLUMN_STATS: &str = "column_stats";
const STATS: &str = "ColumnStatsMetadata";

/// The input of data skipping by column statistics.
#[derive(Debug)]
pub struct DataSkipping<'a> {
    /// The columns of the table.
    pub types: &'a Schema,
    /// The predicate on rows.
    pub filter: &'a Filter,
    /// Columns whose values do not come from files, or whose statistics are not used.
    pub not_of_files: &'a [String],
    /// Whether slices with logs can be skipped.
    pub over_logs: bool,
}

/// A file, by the ordinal of the column and of the file.
pub(super) type RequestedStats = HashMap<String, (usize, usize)>;

impl DataSkipping<'_> {
    /// Returns the part of the filter that bounds can evaluate; `None` if they cannot evaluate any.
    pub(super) fn answerable(&self) -> Result<Option<(BoundFilter, BTreeSet<usize>)>> {
        let is_usable = |column: usize| {
            let Some(field) = self.types.fields().get(column) else { return false };
            let name = field.name();
            let is_data = name == meta_columns::RECORD_KEY || !meta_columns::ALL.contains(&name.as_str());
            is_data && is_reliable(field.data_type()) && !self.not_of_files.contains(name)
        };
        let filter = BoundFilter::bind(self.filter, self.types)?.weakened(|column, _| is_usable(column));
        let columns = filter.columns();
        Ok((!filter.is_empty()).then_some((filter, columns)))
    }

    /// Returns true if bounds can evaluate a part of the filter.
    ///
    /// # Errors
    /// `InvalidArgument` if the filter does not fit the columns.
    pub fn may_answer(&self) -> Result<bool> {
        Ok(self.answerable()?.is_some())
    }

    pub(super) fn type_of(&self, column: usize) -> Option<(&str, &DataType)> {
        self.types.fields().get(column).map(|field| (field.name().as_str(), field.data_type()))
    }
}

impl MetadataTable {
    /// Returns which slices may contain a matching row; `None` if the statistics cannot evaluate the filter.
    ///
    /// # Errors
    /// Errors of reading the metadata table.
    pub fn may_hold(
        &self,
        slices: &[impl Borrow<FileSlice>],
        skipping: &DataSkipping<'_>,
    ) -> Result<Option<Vec<bool>>> {
        let Some((filter, columns)) = skipping.answerable()? else { return Ok(None) };
        let judged = |slice: &FileSlice| skipping.over_logs || slice.log_files.is_empty();
        let mut files: Vec<(&str, &str)> = Vec::new();
        let mut groups: Vec<Range<usize>> = Vec::new();
        for slice in slices {
            let slice: &FileSlice = slice.borrow();
            let from = files.len();
            if judged(slice) {
                files.extend(slice.names().map(|name| (slice.partition.as_str(), name)));
            }
            groups.push(from..files.len());
        }
        if files.is_empty() {
            return Ok(None);
        }
        let mut stats: BTreeMap<usize, Vec<Option<FileStats>>> =
            columns.into_iter().map(|column| (column, vec![None; files.len()])).collect();
        self.statistics_of(&files, skipping, &mut stats)?;
        let known =
            stats.iter().filter_map(|(column, stats)| Some((*column, bounds(stats, skipping.type_of(*column)?.1))));
        filter.may_pass_merged(files.len(), &groups, &known.collect()).map(Some)
    }

    /// Looks up the statistics of columns in files.
    fn statistics_of(
        &self,
        files: &[(&str, &str)],
        skipping: &DataSkipping<'_>,
        stats: &mut BTreeMap<usize, Vec<Option<FileStats>>>,
    ) -> Result<()> {
        let mut wanted = RequestedStats::new();
        for column in stats.keys() {
            // Files are not skipped by a column without a type.
            let Some((name, _)) = skipping.type_of(*column) else { continue };
            let keys = ColumnKeys::new(name);
            wanted.extend(
                files.iter().enumerate().map(|(at, (partition, file))| (keys.key(partition, file), (*column, at))),
            );
        }
        self.stored_stats(COLUMN_STATS, &wanted, stats)
    }

    /// Reads the statistics of records of a partition, by their keys.
    pub(super) fn stored_stats(
        &self,
        partition: &str,
        wanted: &RequestedStats,
        stats: &mut BTreeMap<usize, Vec<Option<FileStats>>>,
    ) -> Result<()> {
        let Some(wrappers) = Wrappers::from_schema(self.schema(), STATS) else { return Err(misfit()) };
        for batch in self.rows_of_keys(partition, &[KEY, STATS], &wanted.keys().cloned().collect())? {
            note(&batch, &wrappers, wanted, stats)?;
        }
        Ok(())
    }
}

/// Stores the statistics of a batch of records.
fn note(
    batch: &RecordBatch,
    wrappers: &Wrappers,
    wanted: &RequestedStats,
    found: &mut BTreeMap<usize, Vec<Option<FileStats>>>,
) -> Result<()> {
    let keys = batch.column_by_name(KEY).and_then(|keys| keys.as_string_opt::<i32>()).ok_or_else(misfit)?;
    let stats = batch.column_by_name(STATS).and_then(|stats| stats.as_struct_opt()).ok_or_else(misfit)?;
    let deleted = stats.column_by_name("isDeleted").and_then(|deleted| deleted.as_boolean_opt()).ok_or_else(misfit)?;
    for (row, key) in keys.iter().enumerate() {
        // Blocks have other keys as well.
        let Some((column, file)) = key.and_then(|key| wanted.get(key)) else { continue };
        let is_live = stats.is_valid(row) && deleted.is_valid(row) && !deleted.value(row);
        if let Some(slot) = found.get_mut(column).and_then(|files| files.get_mut(*file)).filter(|_| is_live) {
            *slot = Some(wrappers.file_stats(stats, row));
        }
    }
    Ok(())
}

fn misfit() -> Error {
    Error::invalid_table("records of the metadata table have no column statistics")
}
