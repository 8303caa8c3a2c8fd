//! The rows of a write before any is written: in the table's types, with keys, one for each key.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, StringArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_schema::Schema;

use super::combine::combine;
use super::delete_marks::DeleteMarks;
use super::operations::check_inserts;
use super::read_rows::{FullRows, KeysAlone, ReadMode, read_all};
use super::refused_rows::RefusedRows;
use super::repeated_changes::one_change_of_each_key;
use super::row_source::RowSource;
use super::schema::{DELETES_KEY, UPDATES_KEY};
use crate::index::IncomingKeys;
use crate::row_set::{RowMark, RowMarks, WriteRows, select_keys};
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_base::row_number::at;
use mortice_merge::keys::RowKeys;
use mortice_merge::spill::RowBatches;
use mortice_storage::parallel;
use mortice_table::timeline::WriteOperation;

/// Where rows come from.
pub struct RowOrigin<'a> {
    /// The instant that writes: part of generated keys.
    pub instant: &'a RequestedTime,
    /// The task that prepares them: part of generated keys.
    pub task: u32,
    /// The number of the first one, for messages and generated keys.
    pub first_row: u64,
}

/// What rows are prepared for.
pub struct Preparation<'a> {
    /// What rows are read for.
    pub source: RowSource<'a>,
    /// What the write does.
    pub operation: WriteOperation,
}

impl Preparation<'_> {
    /// Reads the rows of a write, or the keys that it deletes: of rows with at least the columns of the key and the
    /// partition. Those that have the same key are not combined. Rows that are left out are added to `refused`.
    ///
    /// # Errors
    /// `InvalidArgument`, naming row and column, for rows that cannot be written, unless they are left out.
    pub fn read(&self, batches: &RowBatches, instant: &RequestedTime, refused: &mut RefusedRows) -> Result<WriteRows> {
        let origin = RowOrigin { instant, task: 0, first_row: 0 };
        match self.operation {
            WriteOperation::Delete => self.read_keys(batches, 0, refused, parallel::cores()),
            _ => self.read_rows(batches, &origin, refused, parallel::cores()),
        }
    }

    /// The same, of some of the rows of a write that adds rows or changes them, by one thread, as a task of an engine
    /// has.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub fn uncombined_rows(
        &self,
        batches: &RowBatches,
        origin: &RowOrigin<'_>,
        refused: &mut RefusedRows,
    ) -> Result<WriteRows> {
        self.read_rows(batches, origin, refused, 1)
    }

    fn read_rows(
        &self,
        batches: &RowBatches,
        origin: &RowOrigin<'_>,
        refused: &mut RefusedRows,
        threads: usize,
    ) -> Result<WriteRows> {
        let ignores_failed = self.source.options.ignores_failed;
        let reader = || {
            let reader = FullRows::new(self.source, origin.instant, origin.task, ignores_failed)?;
            Ok(if self.operation == WriteOperation::Upsert { reader.keeping_keys() } else { reader })
        };
        let mode = ReadMode { ignores_failed, first_row: origin.first_row, threads };
        let (rows, keys) = read_all(reader, &self.source.schema.types, batches, mode, refused)?;
        let unconditional = marked(batches, DELETES_KEY, rows.num_rows())?;
        let updates = marked(batches, UPDATES_KEY, rows.num_rows())?;
        let marks = RowMarks::of_flags(&self.deletes_of(&rows)?, &unconditional, &updates)?;
        let is_merged = batches.schema().index_of(UPDATES_KEY).is_ok();
        let rows = WriteRows::new(rows, keys, marks)?;
        if is_merged { with_inserts(rows, &(&unconditional | &updates)) } else { Ok(rows) }
    }

    /// The same of keys to delete: those of some rows, of which the first has this number.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub fn uncombined_keys(
        &self,
        batches: &RowBatches,
        first_row: u64,
        refused: &mut RefusedRows,
    ) -> Result<WriteRows> {
        self.read_keys(batches, first_row, refused, 1)
    }

    fn read_keys(
        &self,
        batches: &RowBatches,
        first_row: u64,
        refused: &mut RefusedRows,
        threads: usize,
    ) -> Result<WriteRows> {
        let mode = ReadMode { ignores_failed: self.source.options.ignores_failed, first_row, threads };
        let no_columns = Arc::new(Schema::empty());
        let (rows, keys) = read_all(|| Ok(KeysAlone(self.source)), &no_columns, batches, mode, refused)?;
        let marks = RowMarks::repeated(RowMark::UnconditionalDelete, keys.record_keys.len());
        WriteRows::new(rows, keys, marks)
    }

    /// Combines rows that have the same key, if options and operation say so. `rows` are all rows of their keys, in
    /// order.
    ///
    /// # Errors
    /// `InvalidArgument` for rows of a key that a merge has changed in different ways; `Unsupported` for merge modes
    /// that this release does not have.
    pub fn combined_if_wanted(&self, rows: WriteRows) -> Result<WriteRows> {
        if self.operation == WriteOperation::Delete {
            return match self.last_of_each(&rows.keys)? {
                Some(last) => rows.select(&last),
                None => Ok(rows),
            };
        }
        let rows = match self.operation {
            WriteOperation::Upsert => one_change_of_each_key(rows, self.source.key_is_global)?,
            _ => rows,
        };
        if self.combines() {
            return self.combined(rows);
        }
        if rows.marks.iter().any(|mark| mark == RowMark::Insert) {
            let by_key = IncomingKeys::new(&rows.keys, self.source.key_is_global)?;
            refuse_repeated_inserts(&rows, &by_key)?;
        }
        Ok(rows)
    }

    /// Whether rows that have the same key are combined.
    #[must_use]
    pub fn combines(&self) -> bool {
        let options = self.source.options;
        match self.operation {
            WriteOperation::Upsert => options.combines_upserts,
            WriteOperation::Delete => true,
            _ => options.combines_inserts.unwrap_or(options.drops_duplicates),
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
    fn last_of_each(&self, keys: &RowKeys) -> Result<Option<Vec<u32>>> {
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
        Ok(Some(last.into_iter().flatten().collect()))
    }

    /// One row for each key, by the table's merge rules. Keys that are there once keep their rows, which come first.
    pub(crate) fn combined(&self, rows: WriteRows) -> Result<WriteRows> {
        let by_key = IncomingKeys::new(&rows.keys, self.source.key_is_global)?;
        if by_key.is_distinct() {
            return Ok(rows);
        }
        refuse_repeated_inserts(&rows, &by_key)?;
        let mut is_repeated = vec![false; rows.len()];
        for row in by_key.repeated().into_iter().flat_map(|first| by_key.rows_from(first)) {
            *is_repeated.get_mut(at(row)).ok_or_else(unknown_row)? = true;
        }
        let of_kind = |repeated: bool| {
            let numbers = (0_u32..).zip(&is_repeated).filter(move |(_, is)| **is == repeated);
            rows.select(&numbers.map(|(row, _)| row).collect::<Vec<_>>())
        };
        let (single, repeated) = (of_kind(false)?, of_kind(true)?);
        let keys = whole_keys(&repeated.keys, self.source.key_is_global)?;
        let combined = combine(self.source.table, &self.source.schema.columns, &repeated.batches, &keys)?;
        let keys = select_keys(&repeated.keys, &combined.numbers)?;
        let mark = |is_delete: Option<bool>| if is_delete == Some(true) { RowMark::Delete } else { RowMark::Upsert };
        let marks = combined.deletes.iter().map(mark).collect();
        self.chained(&single, &WriteRows::new(combined.rows, keys, marks)?)
    }

    /// Rows, and others behind them.
    pub(crate) fn chained(&self, first: &WriteRows, then: &WriteRows) -> Result<WriteRows> {
        first.chained(then, &self.source.schema.types)
    }
}

/// Merged rows, of which those that change no stored row are inserts. An insert that is marked as a delete is none.
fn with_inserts(rows: WriteRows, is_stored: &BooleanBuffer) -> Result<WriteRows> {
    let is_insert = |row: usize| row >= is_stored.len() || !is_stored.value(row);
    let marks = rows.marks.iter().enumerate();
    let marks = marks.map(|(row, mark)| if is_insert(row) && !mark.is_delete() { RowMark::Insert } else { mark });
    let rows = WriteRows { marks: marks.collect(), ..rows };
    let is_none = |(row, mark): &(usize, RowMark)| is_insert(*row) && mark.is_delete();
    if !rows.marks.iter().enumerate().any(|marked| is_none(&marked)) {
        return Ok(rows);
    }
    let kept = (0_u32..).zip(rows.marks.iter().enumerate()).filter(|(_, marked)| !is_none(marked));
    rows.select(&kept.map(|(row, _)| row).collect::<Vec<_>>())
}

/// Refuses keys of several rows of which one is to be new.
fn refuse_repeated_inserts(rows: &WriteRows, by_key: &IncomingKeys<'_>) -> Result<()> {
    for first in by_key.repeated() {
        for row in by_key.rows_from(first) {
            if rows.marks.of_row(row)? == RowMark::Insert {
                return Err(Error::invalid_argument(format!(
                    "several rows have the key {:?}, and one of them is to be inserted; make the source distinct",
                    rows.keys.record_keys.value(at(row))
                )));
            }
        }
    }
    Ok(())
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
fn marked(batches: &RowBatches, mark: &str, rows: usize) -> Result<BooleanBuffer> {
    if batches.schema().index_of(mark).is_err() {
        return Ok(BooleanBuffer::new_unset(rows));
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
        true => Ok(marks.finish()),
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
