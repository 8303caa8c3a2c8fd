//! The rows of several file groups, one for each key, by the merge rules of the table.
//!
//! A file group has one row for each key already. Rows of a key that several file groups have are merged in the order
//! in which their commits were completed, as log records of one file group would be.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::DataType;

use mortice_base::error::{Error, Result};
use mortice_base::names::{RequestedTime, meta_columns};
use mortice_merge::spill::{RowBatches, RowMemory};
use mortice_table::file_group::FileSlice;
use mortice_table::plan::{OpenTable, QueryOptions};
use mortice_table::timeline::{CompletionStatus, Timeline};
use mortice_write::rows::{WriteSchema, combine_rows, read_input};

/// Rows that are copied at a time.
const BATCH_ROWS: usize = 8192;

/// Rows with their meta columns.
pub(super) struct OneRowEach {
    stored: RowBatches,
    /// Rows whose keys no other row has.
    single: Vec<u32>,
    /// What the others became.
    merged: RecordBatch,
}

impl OneRowEach {
    /// Reads and merges the rows of file slices.
    pub(super) fn read(
        table: &OpenTable,
        schema: &WriteSchema,
        slices: &[FileSlice],
        memory: RowMemory,
    ) -> Result<Self> {
        if !table.config.populate_meta_fields {
            let message =
                "merging file groups of a bucket in a table without meta columns: which row is newer is not known";
            return Err(Error::unsupported(message).in_file(&table.uri));
        }
        let scan = table.stored_rows(slices, &QueryOptions::default())?;
        let stored = read_input(&scan.schema(), &mut scan.stream(), false, memory)?;
        let numbers = in_commit_order(&table.timeline, &stored)?;
        let keys = strings(&stored, meta_columns::RECORD_KEY, &numbers)?;
        let mut count: HashMap<&str, u32> = HashMap::new();
        keys.iter().flatten().for_each(|key| *count.entry(key).or_default() += 1);
        let is_single = |key: Option<&str>| key.is_none_or(|key| count.get(key).is_none_or(|count| *count < 2));
        let of = |single: bool| -> Vec<(u32, Option<&str>)> {
            let rows = numbers.iter().copied().zip(keys.iter());
            rows.filter(|(_, key)| is_single(*key) == single).collect()
        };
        let mut single: Vec<u32> = of(true).into_iter().map(|(row, _)| row).collect();
        single.sort_unstable();
        let repeated = of(false);
        let merged = merged_rows(table, schema, &stored, &repeated)?;
        Ok(Self { stored, single, merged })
    }

    /// The rows, some at a time.
    pub(super) fn batches(&self) -> impl Iterator<Item = Result<RecordBatch>> {
        let stretches = self.stored.stretches(&self.single, BATCH_ROWS, self.stored.memory().chunk_bytes());
        let single = stretches.into_iter().map(|range| self.stored.take(self.single.get(range).unwrap_or_default()));
        single.chain(std::iter::once(Ok(self.merged.clone())))
    }
}

/// The numbers of rows in the order in which their commits were completed.
fn in_commit_order(timeline: &Timeline, stored: &RowBatches) -> Result<Vec<u32>> {
    let count = u32::try_from(stored.num_rows()).map_err(|_| Error::internal("more rows than have numbers"))?;
    let mut numbers: Vec<u32> = (0..count).collect();
    let times = strings(stored, meta_columns::COMMIT_TIME, &numbers)?;
    let mut completed: BTreeMap<&str, String> = BTreeMap::new();
    for time in times.iter().flatten() {
        if !completed.contains_key(time) {
            completed.insert(time, completion(timeline, time)?);
        }
    }
    let position =
        |row: &u32| times.is_valid(*row as usize).then(|| completed.get(times.value(*row as usize))).flatten();
    numbers.sort_by(|one, other| position(one).cmp(&position(other)));
    Ok(numbers)
}

/// When a commit was completed; its requested time if that is not known.
fn completion(timeline: &Timeline, time: &str) -> Result<String> {
    let Some(requested) = RequestedTime::parse(time) else { return Ok(time.to_owned()) };
    match timeline.completion_time(&requested)? {
        CompletionStatus::At(completed) => Ok(completed.to_string()),
        CompletionStatus::Pending | CompletionStatus::Archived => Ok(time.to_owned()),
    }
}

/// The rows of keys that are there several times, merged: the table's columns, and the meta columns of a row of each
/// key.
fn merged_rows(
    table: &OpenTable,
    schema: &WriteSchema,
    stored: &RowBatches,
    repeated: &[(u32, Option<&str>)],
) -> Result<RecordBatch> {
    let numbers: Vec<u32> = repeated.iter().map(|(row, _)| *row).collect();
    let rows = stored.take(&numbers)?;
    if numbers.is_empty() {
        return Ok(rows);
    }
    let lost = |name: &str| Error::internal(format!("rows of file groups have no column {name:?}"));
    let own: Vec<usize> = schema
        .types
        .fields()
        .iter()
        .map(|field| rows.schema_ref().index_of(field.name()).map_err(|_| lost(field.name())))
        .collect::<Result<_>>()?;
    let own = rows.project(&own).map_err(|error| Error::internal("columns of rows").caused_by(error))?;
    let keys: StringArray = repeated.iter().map(|(_, key)| *key).collect();
    let combined = combine_rows(table, &schema.columns, &RowBatches::from(own), &keys)?;
    if combined.deletes.true_count() > 0 {
        let message = "rows of several file groups of a bucket, merged, delete their keys";
        return Err(Error::unsupported(message).in_file(&table.uri));
    }
    let made_of =
        |row: &u32| numbers.get(*row as usize).copied().ok_or_else(|| Error::internal("a row that is not there"));
    let made_of: Vec<u32> = combined.numbers.values().iter().map(made_of).collect::<Result<_>>()?;
    let combined = combined.rows.to_batch()?;
    let column = |name: &String| -> Result<ArrayRef> {
        match combined.column_by_name(name) {
            Some(column) => Ok(Arc::clone(column)),
            None => stored.column(name, &made_of)?.ok_or_else(|| lost(name)),
        }
    };
    let columns = stored.schema();
    let arrays = columns.fields().iter().map(|field| column(field.name())).collect::<Result<Vec<_>>>()?;
    RecordBatch::try_new(columns, arrays).map_err(|error| Error::internal("rows that were merged").caused_by(error))
}

/// A meta column of some rows.
fn strings(rows: &RowBatches, name: &str, numbers: &[u32]) -> Result<StringArray> {
    let lost = || Error::internal(format!("rows of file groups have no column {name:?} of strings"));
    let column = rows.column(name, numbers)?.ok_or_else(lost)?;
    let column = arrow_cast::cast(&column, &DataType::Utf8).map_err(|error| lost().caused_by(error))?;
    column.as_string_opt::<i32>().cloned().ok_or_else(lost)
}
