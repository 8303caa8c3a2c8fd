//! Which file slices can hold no row of a filter, told by the bounds of columns in their files, from the metadata table's partition
//! `column_stats`.
//!
//! A row that a query delivers has each of its columns from some record of its slice. So a slice may stay unopened where, of each of
//! the filter's lists, one column has in none of the slice's files a value that passes. That needs
//!
//! | of | because |
//! |---|---|
//! | every file of the slice, logs too, a record | a log may bring a base row into the filter |
//! | a slice with logs: table version 8 or later | before, several commits append to a log, and its record may tell of some of them |
//! | a slice with logs: no merger or payload of the table's own | such may make up values |
//! | the column: one name throughout, not a meta column but the key | a record is found by the name that the column had then |
//!
//! Where any of that is missing, the slice is read. `partition_stats` is left alone: it does not say which files it is of.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};

use super::column_bounds::{Told, Wrappers, bounds, is_reliable};
use super::index_key::ColumnKeys;
use super::open::{KEY, MetadataTable};
use crate::error::{Error, Result};
use crate::file_group::FileSlice;
use crate::filter::{BoundFilter, Filter};
use crate::names::meta_columns;

/// The partition of the metadata table that holds bounds of columns.
pub const COLUMN_STATS: &str = "column_stats";
const STATS: &str = "ColumnStatsMetadata";

/// What a query lets column statistics leave out.
#[derive(Debug)]
pub struct Skipping<'a> {
    /// The table's columns.
    pub types: &'a Schema,
    /// The rows wanted.
    pub filter: &'a Filter,
    /// Columns whose values are not those of files.
    pub not_of_files: &'a [String],
    /// Whether slices with logs can be judged.
    pub over_logs: bool,
}

/// A file, by its place: ordinal of the column, then of the file.
type Wanted = HashMap<String, (usize, usize)>;

impl Skipping<'_> {
    /// The part of the filter that bounds can answer; none where they answer nothing.
    fn answerable(&self) -> Result<Option<(BoundFilter, BTreeSet<usize>)>> {
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

    fn type_of(&self, column: usize) -> Option<(&str, &DataType)> {
        self.types.fields().get(column).map(|field| (field.name().as_str(), field.data_type()))
    }
}

impl MetadataTable {
    /// Which of some slices may hold a row that is wanted; none where the statistics have nothing to say of the filter.
    ///
    /// # Errors
    /// What reading the metadata table may fail with.
    pub fn may_hold(&self, slices: &[FileSlice], skipping: &Skipping<'_>) -> Result<Option<Vec<bool>>> {
        let Some((filter, columns)) = skipping.answerable()? else { return Ok(None) };
        let judged = |slice: &FileSlice| skipping.over_logs || slice.log_files.is_empty();
        let mut files: Vec<(&str, &str)> = Vec::new();
        let mut groups: Vec<Range<usize>> = Vec::new();
        for slice in slices {
            let from = files.len();
            if judged(slice) {
                let base = slice.base_file.iter().map(|base| base.name.as_str());
                let names = base.chain(slice.log_files.iter().map(|log| log.name.as_str()));
                files.extend(names.map(|name| (slice.partition.as_str(), name)));
            }
            groups.push(from..files.len());
        }
        if files.is_empty() {
            return Ok(None);
        }
        let mut told: BTreeMap<usize, Vec<Option<Told>>> =
            columns.into_iter().map(|column| (column, vec![None; files.len()])).collect();
        self.told_of(&files, skipping, &mut told)?;
        let known =
            told.iter().filter_map(|(column, told)| Some((*column, bounds(told, skipping.type_of(*column)?.1))));
        filter.may_pass_merged(files.len(), &groups, &known.collect()).map(Some)
    }

    /// Looks up what is told of columns in files.
    fn told_of(
        &self,
        files: &[(&str, &str)],
        skipping: &Skipping<'_>,
        told: &mut BTreeMap<usize, Vec<Option<Told>>>,
    ) -> Result<()> {
        let mut wanted = Wanted::new();
        for column in told.keys() {
            let Some((name, _)) = skipping.type_of(*column) else { continue };
            let keys = ColumnKeys::of(name);
            wanted.extend(
                files.iter().enumerate().map(|(at, (partition, file))| (keys.key(partition, file), (*column, at))),
            );
        }
        let Some(wrappers) = Wrappers::of(self.schema(), STATS) else { return Err(misfit()) };
        for batch in self.rows_of_keys(COLUMN_STATS, &[KEY, STATS], &wanted.keys().cloned().collect())? {
            note(&batch, &wrappers, &wanted, told)?;
        }
        Ok(())
    }
}

/// Notes what the records of a batch say.
fn note(
    batch: &RecordBatch,
    wrappers: &Wrappers,
    wanted: &Wanted,
    told: &mut BTreeMap<usize, Vec<Option<Told>>>,
) -> Result<()> {
    let keys = batch.column_by_name(KEY).and_then(|keys| keys.as_string_opt::<i32>()).ok_or_else(misfit)?;
    let stats = batch.column_by_name(STATS).and_then(|stats| stats.as_struct_opt()).ok_or_else(misfit)?;
    let deleted = stats.column_by_name("isDeleted").and_then(|deleted| deleted.as_boolean_opt()).ok_or_else(misfit)?;
    for (row, key) in keys.iter().enumerate() {
        let Some((column, file)) = key.and_then(|key| wanted.get(key)) else { continue };
        let is_live = stats.is_valid(row) && deleted.is_valid(row) && !deleted.value(row);
        if let Some(slot) = told.get_mut(column).and_then(|files| files.get_mut(*file)).filter(|_| is_live) {
            *slot = Some(wrappers.told(stats, row));
        }
    }
    Ok(())
}

fn misfit() -> Error {
    Error::invalid_table("records of a metadata table that hold no column statistics")
}
