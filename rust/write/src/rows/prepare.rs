//! The rows of a write before any is written: in the table's types, with keys, one for each key.

use std::num::NonZero;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, StringArray, UInt32Array};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_schema::Schema;
use arrow_select::take::take;

use super::combine::combine;
use super::delete_marks::DeleteMarks;
use super::duplicates::combines_by_default;
use super::operations::check_inserts;
use super::read_rows::{FullRows, KeysAlone, ReadMode, joined, read_all, too_large};
use super::refused_rows::{RefusedRows, ignores_failed};
use super::row_source::RowSource;
use super::schema::{DELETES_KEY, UPDATES_KEY};
use crate::index::IncomingKeys;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_base::row_number::at;
use mortice_merge::config::option_values;
use mortice_merge::keys::RowKeys;
use mortice_merge::spill::RowBatches;
use mortice_table::timeline::WriteOperation;

/// Rows that are ready to be written.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    /// The table's columns, without meta columns.
    pub(crate) rows: RowBatches,
    /// Their record keys and partition paths.
    pub(crate) keys: RowKeys,
    /// Which rows delete their keys.
    pub(crate) deletes: BooleanArray,
    /// Which deletes hold regardless of ordering values.
    pub(crate) unconditional: BooleanArray,
    /// Which change a stored row in some columns only.
    pub(crate) updates: BooleanArray,
}

impl Prepared {
    /// Whether a row deletes its key.
    pub(crate) fn is_delete(&self, row: u32) -> bool {
        is_set(&self.deletes, row)
    }

    /// Whether a row deletes its key regardless of ordering values.
    pub(crate) fn is_unconditional_delete(&self, row: u32) -> bool {
        is_set(&self.deletes, row) && is_set(&self.unconditional, row)
    }
}

fn is_set(flags: &BooleanArray, row: u32) -> bool {
    at(row) < flags.len() && flags.value(at(row))
}

/// Where rows come from.
pub(crate) struct RowOrigin<'a> {
    /// The instant that writes: part of generated keys.
    pub(crate) instant: &'a RequestedTime,
    /// The task that prepares them: part of generated keys.
    pub(crate) task: u32,
    /// The number of the first one, for messages and generated keys.
    pub(crate) first_row: u64,
}

/// What rows are prepared for.
pub(crate) struct Preparation<'a> {
    /// What rows are read for.
    pub(crate) source: RowSource<'a>,
    /// What the write does.
    pub(crate) operation: WriteOperation,
}

impl Preparation<'_> {
    /// Prepares rows of a write that adds rows or changes them. Rows that are left out are added to `refused`.
    ///
    /// # Errors
    /// `InvalidArgument`, naming row and column, for rows that cannot be written, unless they are left out.
    pub(crate) fn rows(
        &self,
        batches: &RowBatches,
        instant: &RequestedTime,
        refused: &mut RefusedRows,
    ) -> Result<Prepared> {
        let origin = RowOrigin { instant, task: 0, first_row: 0 };
        self.combined_if_wanted(self.read_rows(batches, &origin, refused, all_threads())?)
    }

    /// The same, of some of the rows, by one thread, as a task of an engine has: those that have the same key are not combined.
    ///
    /// # Errors
    /// As for [`Self::rows`].
    pub(crate) fn uncombined_rows(
        &self,
        batches: &RowBatches,
        origin: &RowOrigin<'_>,
        refused: &mut RefusedRows,
    ) -> Result<Prepared> {
        self.read_rows(batches, origin, refused, 1)
    }

    fn read_rows(
        &self,
        batches: &RowBatches,
        origin: &RowOrigin<'_>,
        refused: &mut RefusedRows,
        threads: usize,
    ) -> Result<Prepared> {
        let ignores_failed = ignores_failed(self.source.options)?;
        let reader = || {
            let reader = FullRows::new(self.source, (origin.instant, origin.task), ignores_failed)?;
            Ok(if self.operation == WriteOperation::Upsert { reader.keeping_keys() } else { reader })
        };
        let mode = ReadMode { ignores_failed, first_row: origin.first_row, threads };
        let (rows, keys) = read_all(reader, &self.source.schema.types, batches, mode, refused)?;
        let unconditional = marked(batches, DELETES_KEY, rows.num_rows())?;
        let updates = marked(batches, UPDATES_KEY, rows.num_rows())?;
        let deletes = BooleanArray::from(&self.deletes_of(&rows)? | unconditional.values());
        Ok(Prepared { rows, keys, deletes, unconditional, updates })
    }

    /// Prepares keys to delete: of rows with at least the columns of the key and the partition. Rows that are left out are added to
    /// `refused`.
    ///
    /// # Errors
    /// `InvalidArgument`, naming row and column, for keys that cannot be read, unless they are left out.
    pub(crate) fn keys_to_delete(&self, batches: &RowBatches, refused: &mut RefusedRows) -> Result<Prepared> {
        self.combined_if_wanted(self.read_keys(batches, 0, refused, all_threads())?)
    }

    /// The same, of some of the rows, of which the first has this number, by one thread: keys may be there several times.
    ///
    /// # Errors
    /// As for [`Self::keys_to_delete`].
    pub(crate) fn uncombined_keys(
        &self,
        batches: &RowBatches,
        first_row: u64,
        refused: &mut RefusedRows,
    ) -> Result<Prepared> {
        self.read_keys(batches, first_row, refused, 1)
    }

    fn read_keys(
        &self,
        batches: &RowBatches,
        first_row: u64,
        refused: &mut RefusedRows,
        threads: usize,
    ) -> Result<Prepared> {
        let mode = ReadMode { ignores_failed: ignores_failed(self.source.options)?, first_row, threads };
        let no_columns = Arc::new(Schema::empty());
        let (rows, keys) = read_all(|| Ok(KeysAlone(self.source)), &no_columns, batches, mode, refused)?;
        let all = BooleanArray::from(BooleanBuffer::new_set(keys.record_keys.len()));
        let updates = BooleanArray::from(BooleanBuffer::new_unset(keys.record_keys.len()));
        Ok(Prepared { rows, keys, deletes: all.clone(), unconditional: all, updates })
    }

    /// Combines rows that have the same key, if options and operation say so. `prepared` are all rows of their keys, in order.
    ///
    /// # Errors
    /// `Unsupported` for merge modes that this release does not have.
    pub(crate) fn combined_if_wanted(&self, prepared: Prepared) -> Result<Prepared> {
        if self.operation == WriteOperation::Delete {
            return match self.last_of_each(&prepared.keys)? {
                Some(last) => taken(&prepared, &last),
                None => Ok(prepared),
            };
        }
        if self.combines()? { self.combined(prepared) } else { Ok(prepared) }
    }

    /// Whether rows that have the same key are combined.
    ///
    /// # Errors
    /// `InvalidArgument` for a value that is no boolean.
    pub(crate) fn combines(&self) -> Result<bool> {
        match self.operation {
            WriteOperation::Upsert => option_values::boolean(self.source.options, "hoodie.combine.before.upsert"),
            WriteOperation::Delete => Ok(true),
            _ => {
                let given = option_values::given_boolean(self.source.options, "hoodie.combine.before.insert")?;
                given.map_or_else(|| combines_by_default(self.source.options), Ok)
            }
        }
    }

    /// Which rows are deletes, by the table's marks.
    fn deletes_of(&self, rows: &RowBatches) -> Result<BooleanBuffer> {
        let marks = DeleteMarks::new(&self.source)?;
        let mut deletes = BooleanBufferBuilder::new(rows.num_rows());
        for batch in rows.batches() {
            check_inserts(self.operation, batch, deletes.len() as u64)?;
            deletes.append_buffer(&set_values(&marks.of_rows(batch)?));
        }
        Ok(deletes.finish())
    }

    /// The last row of each key, in order of the first one; none if no key is there twice.
    fn last_of_each(&self, keys: &RowKeys) -> Result<Option<UInt32Array>> {
        let by_key = IncomingKeys::new(keys, self.source.key_is_global)?;
        if by_key.is_distinct() {
            return Ok(None);
        }
        let mut last: Vec<Option<u32>> = (0..).map(Some).take(keys.record_keys.len()).collect();
        for first in by_key.repeated() {
            let rows: Vec<u32> = by_key.rows_from(first).collect();
            for row in &rows {
                let end = rows.last().filter(|_| *row == first).copied();
                *last.get_mut(at(*row)).ok_or_else(unknown_row)? = end;
            }
        }
        Ok(Some(UInt32Array::from_iter_values(last.into_iter().flatten())))
    }

    /// One row for each key, by the table's merge rules. Keys that are there once keep their rows, which come first.
    pub(crate) fn combined(&self, prepared: Prepared) -> Result<Prepared> {
        let by_key = IncomingKeys::new(&prepared.keys, self.source.key_is_global)?;
        if by_key.is_distinct() {
            return Ok(prepared);
        }
        let mut is_repeated = vec![false; prepared.keys.record_keys.len()];
        for row in by_key.repeated().into_iter().flat_map(|first| by_key.rows_from(first)) {
            *is_repeated.get_mut(at(row)).ok_or_else(unknown_row)? = true;
        }
        let rows = |repeated: bool| {
            let rows = (0_u32..).zip(&is_repeated).filter(move |(_, is)| **is == repeated).map(|(row, _)| row);
            UInt32Array::from_iter_values(rows)
        };
        let (single, repeated) = (taken(&prepared, &rows(false))?, taken(&prepared, &rows(true))?);
        let keys = whole_keys(&repeated.keys, self.source.key_is_global)?;
        let combined = combine(self.source.table, &self.source.schema.columns, &repeated.rows, &keys)?;
        let keys = taken_keys(&repeated.keys, &combined.numbers)?;
        let unmarked = BooleanArray::from(BooleanBuffer::new_unset(combined.rows.num_rows()));
        let combined = Prepared {
            rows: combined.rows,
            keys,
            deletes: combined.deletes,
            unconditional: unmarked.clone(),
            updates: unmarked,
        };
        self.chained(single, combined)
    }

    /// Rows, and others behind them.
    ///
    /// # Errors
    /// `InvalidArgument` if their keys are too large together.
    pub(crate) fn chained(&self, first: Prepared, then: Prepared) -> Result<Prepared> {
        let memory = first.rows.memory().clone();
        Ok(Prepared {
            rows: RowBatches::chained(&self.source.schema.types, &[&first.rows, &then.rows], memory)?,
            keys: RowKeys {
                record_keys: joined(&[Arc::new(first.keys.record_keys), Arc::new(then.keys.record_keys)])?,
                partitions: joined(&[Arc::new(first.keys.partitions), Arc::new(then.keys.partitions)])?,
            },
            deletes: first.deletes.iter().chain(&then.deletes).collect(),
            unconditional: first.unconditional.iter().chain(&then.unconditional).collect(),
            updates: first.updates.iter().chain(&then.updates).collect(),
        })
    }
}

/// As many threads as there are cores.
fn all_threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

fn unknown_row() -> Error {
    Error::internal("a row of a repeated key that is not among the rows")
}

/// Keys that are unique in the table, of keys that may be unique in a partition.
fn whole_keys(keys: &RowKeys, is_global: bool) -> Result<StringArray> {
    if is_global {
        return Ok(keys.record_keys.clone());
    }
    let mut whole = StringBuilder::with_capacity(keys.record_keys.len(), keys.record_keys.values().len());
    let mut text = String::new();
    for (partition, key) in keys.partitions.iter().zip(&keys.record_keys) {
        text.clear();
        // No path has the character that separates the two.
        let (partition, key) = partition.zip(key).ok_or_else(|| Error::internal("a row without a key"))?;
        [partition, "\0", key].iter().for_each(|part| text.push_str(part));
        whole.append_value(&text);
    }
    Ok(whole.finish())
}

/// Which rows of these batches, so many together, are marked by a column that is not written.
fn marked(batches: &RowBatches, mark: &str, rows: usize) -> Result<BooleanArray> {
    if batches.schema().index_of(mark).is_err() {
        return Ok(BooleanArray::from(BooleanBuffer::new_unset(rows)));
    }
    let mut marks = BooleanBufferBuilder::new(rows);
    for batch in batches.batches() {
        match batch.column_by_name(mark).map(|column| column.as_boolean_opt()) {
            None => marks.append_n(batch.num_rows(), false),
            Some(Some(column)) => marks.append_buffer(&set_values(column)),
            Some(None) => return Err(Error::invalid_argument(format!("column {mark:?} must be boolean"))),
        }
    }
    match marks.len() == rows {
        true => Ok(BooleanArray::from(marks.finish())),
        false => Err(Error::unsupported("rows that are left out (hoodie.write.ignore.failed) beside marked rows")),
    }
}

/// Where values are true, and not null.
fn set_values(flags: &BooleanArray) -> BooleanBuffer {
    match flags.nulls() {
        None => flags.values().clone(),
        Some(valid) => flags.values() & valid.inner(),
    }
}

/// Some rows of those that are prepared.
pub(crate) fn taken(prepared: &Prepared, numbers: &UInt32Array) -> Result<Prepared> {
    let rows = prepared.rows.select(numbers.values())?;
    let deletes = taken_flags(&prepared.deletes, numbers)?;
    let unconditional = taken_flags(&prepared.unconditional, numbers)?;
    let updates = taken_flags(&prepared.updates, numbers)?;
    Ok(Prepared { rows, keys: taken_keys(&prepared.keys, numbers)?, deletes, unconditional, updates })
}

/// The rows by partition and record key.
pub(crate) fn sorted(prepared: &Prepared) -> Result<Prepared> {
    let RowKeys { record_keys, partitions } = &prepared.keys;
    let mut order: Vec<(&str, &str, u32)> = partitions
        .iter()
        .flatten()
        .zip(record_keys.iter().flatten())
        .zip(0..)
        .map(|((one, two), row)| (one, two, row))
        .collect();
    order.sort_unstable();
    taken(prepared, &UInt32Array::from_iter_values(order.into_iter().map(|(.., row)| row)))
}

pub(crate) fn taken_flags(flags: &BooleanArray, numbers: &UInt32Array) -> Result<BooleanArray> {
    let values = take(flags, numbers, None).map_err(too_large)?;
    values.as_any().downcast_ref::<BooleanArray>().cloned().ok_or_else(|| Error::internal("flags are no booleans"))
}

pub(crate) fn taken_keys(keys: &RowKeys, numbers: &UInt32Array) -> Result<RowKeys> {
    Ok(RowKeys {
        record_keys: taken_texts(&keys.record_keys, numbers)?,
        partitions: taken_texts(&keys.partitions, numbers)?,
    })
}

/// Some values of a column of strings.
pub(crate) fn taken_texts(strings: &StringArray, numbers: &UInt32Array) -> Result<StringArray> {
    let values = take(strings, numbers, None).map_err(too_large)?;
    values
        .as_any()
        .downcast_ref::<StringArray>()
        .cloned()
        .ok_or_else(|| Error::internal("strings that were taken are no strings"))
}
