//! The rows of a write before any is written: in the table's types, with keys, one for each key.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray, UInt32Array};
use arrow_schema::{Field, Schema};
use arrow_select::concat::concat_batches;
use arrow_select::take::take;
use bytes::Bytes;

use super::combine::combine;
use super::duplicates::combines_by_default;
use super::read_rows::{FullRows, KeysAlone, RowSource, joined, read_all, too_large};
use super::refused_rows::{RefusedRows, ignores_failed};
use super::schema::{DELETES_KEY, UPDATES_KEY};
use crate::commit::WriteOperation;
use crate::config::{MergeSemantics, option_values};
use crate::error::{Error, Result};
use crate::index::IncomingKeys;
use crate::keys::{KeyColumns, RowKeys};
use crate::names::{RequestedTime, meta_columns};

/// Rows that are ready to be written.
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    /// The table's columns, without meta columns.
    pub(super) rows: RecordBatch,
    /// Their record keys and partition paths.
    pub(super) keys: RowKeys,
    /// Which rows delete their keys.
    pub(super) deletes: BooleanArray,
    /// Which deletes hold regardless of ordering values.
    pub(super) unconditional: BooleanArray,
    /// Which change a stored row in some columns only.
    pub(super) updates: BooleanArray,
}

impl Prepared {
    /// Whether a row deletes its key.
    pub(super) fn is_delete(&self, row: u32) -> bool {
        usize::try_from(row).is_ok_and(|row| row < self.deletes.len() && self.deletes.value(row))
    }
}

/// Where rows come from.
pub(super) struct RowOrigin<'a> {
    /// The instant that writes: part of generated keys.
    pub(super) instant: &'a RequestedTime,
    /// The task that prepares them: part of generated keys.
    pub(super) task: u32,
    /// The number of the first one, for messages and generated keys.
    pub(super) first_row: u64,
}

/// What rows are prepared for.
pub(super) struct Preparation<'a> {
    /// What rows are read for.
    pub(super) source: RowSource<'a>,
    /// What the write does.
    pub(super) operation: WriteOperation,
}

impl Preparation<'_> {
    /// Prepares rows of a write that adds rows or changes them. Rows that are left out are added to `refused`.
    ///
    /// # Errors
    /// `InvalidArgument`, naming row and column, for rows that cannot be written, unless they are left out.
    pub(super) fn rows(
        &self,
        batches: &[RecordBatch],
        instant: &RequestedTime,
        refused: &mut RefusedRows,
    ) -> Result<Prepared> {
        let origin = RowOrigin { instant, task: 0, first_row: 0 };
        self.combined_if_wanted(self.uncombined_rows(batches, &origin, refused)?)
    }

    /// The same, of some of the rows: those that have the same key are not combined.
    ///
    /// # Errors
    /// As for [`Self::rows`].
    pub(super) fn uncombined_rows(
        &self,
        batches: &[RecordBatch],
        origin: &RowOrigin<'_>,
        refused: &mut RefusedRows,
    ) -> Result<Prepared> {
        let ignores_failed = ignores_failed(self.source.options)?;
        let mut reader = FullRows::new(self.source, (origin.instant, origin.task), ignores_failed)?;
        let (rows, keys) = read_all(&mut reader, batches, (ignores_failed, origin.first_row), refused)?;
        let rows = concat_batches(&self.source.schema.types, &rows).map_err(too_large)?;
        let deletes = self.deletes_of(&rows, &keys.record_keys)?;
        let unconditional = marked(batches, DELETES_KEY, rows.num_rows())?;
        let updates = marked(batches, UPDATES_KEY, rows.num_rows())?;
        let deletes = deletes.iter().zip(&unconditional);
        let deletes = deletes.map(|(one, other)| Some(one == Some(true) || other == Some(true))).collect();
        Ok(Prepared { rows, keys, deletes, unconditional, updates })
    }

    /// Prepares keys to delete: of rows with at least the columns of the key and the partition. Rows that are left out are added to
    /// `refused`.
    ///
    /// # Errors
    /// `InvalidArgument`, naming row and column, for keys that cannot be read, unless they are left out.
    pub(super) fn keys_to_delete(&self, batches: &[RecordBatch], refused: &mut RefusedRows) -> Result<Prepared> {
        self.combined_if_wanted(self.uncombined_keys(batches, 0, refused)?)
    }

    /// The same, of some of the rows, of which the first has this number: keys may be there several times.
    ///
    /// # Errors
    /// As for [`Self::keys_to_delete`].
    pub(super) fn uncombined_keys(
        &self,
        batches: &[RecordBatch],
        first_row: u64,
        refused: &mut RefusedRows,
    ) -> Result<Prepared> {
        let ignores_failed = ignores_failed(self.source.options)?;
        let (_, keys) = read_all(&mut KeysAlone(self.source), batches, (ignores_failed, first_row), refused)?;
        let count = keys.record_keys.len();
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(count));
        let rows = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)
            .map_err(|error| Error::internal("rows without columns").caused_by(error))?;
        let all = BooleanArray::from(vec![true; count]);
        let updates = BooleanArray::from(vec![false; count]);
        Ok(Prepared { rows, keys, deletes: all.clone(), unconditional: all, updates })
    }

    /// Combines rows that have the same key, if options and operation say so. `prepared` are all rows of their keys, in order.
    ///
    /// # Errors
    /// `Unsupported` for merge modes that this release does not have.
    pub(super) fn combined_if_wanted(&self, prepared: Prepared) -> Result<Prepared> {
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
    pub(super) fn combines(&self) -> Result<bool> {
        match self.operation {
            WriteOperation::Upsert => option_values::boolean(self.source.options, "hoodie.combine.before.upsert", true),
            WriteOperation::Delete => Ok(true),
            _ => {
                let default = combines_by_default(self.source.options)?;
                option_values::boolean(self.source.options, "hoodie.combine.before.insert", default)
            }
        }
    }

    /// Which rows are deletes, by the table's marks.
    pub(super) fn deletes_of(&self, rows: &RecordBatch, record_keys: &StringArray) -> Result<BooleanArray> {
        let stored = self.source.schema.columns.with_leading_nullable_strings(&[meta_columns::RECORD_KEY])?;
        let types = avro_types(&stored)?;
        let columns = KeyColumns::new(&stored, &types, &self.source.table.merge, None, MergeSemantics::default())?;
        let mut fields: Vec<Arc<Field>> =
            vec![Arc::new(Field::new(meta_columns::RECORD_KEY, arrow_schema::DataType::Utf8, true))];
        fields.extend(rows.schema_ref().fields().iter().cloned());
        let mut arrays: Vec<ArrayRef> = vec![Arc::new(record_keys.clone())];
        arrays.extend(rows.columns().iter().cloned());
        let keyed = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
            .map_err(|error| Error::internal("rows with their keys").caused_by(error))?;
        let schema = keyed.schema();
        let wants = columns.wants();
        let places = wants.iter().map(|want| schema.index_of(want.name()));
        let places = places
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(|error| Error::internal("key columns of rows").caused_by(error))?;
        let wanted = keyed.project(&places).map_err(|error| Error::internal("key columns of rows").caused_by(error))?;
        let (_, rest) = columns.key.split_keys(&wanted, &Bytes::new(), &[])?;
        let batch = columns.batch(rest, rows.num_rows())?;
        Ok(batch.deleted.unwrap_or_else(|| BooleanArray::from(vec![false; rows.num_rows()])))
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
                last.get_mut(*row as usize).into_iter().for_each(|last| *last = end);
            }
        }
        Ok(Some(UInt32Array::from_iter_values(last.into_iter().flatten())))
    }

    /// One row for each key, by the table's merge rules. Keys that are there once keep their rows, which come first.
    fn combined(&self, prepared: Prepared) -> Result<Prepared> {
        let by_key = IncomingKeys::new(&prepared.keys, self.source.key_is_global)?;
        if by_key.is_distinct() {
            return Ok(prepared);
        }
        let mut is_repeated = vec![false; prepared.keys.record_keys.len()];
        for row in by_key.repeated().into_iter().flat_map(|first| by_key.rows_from(first)) {
            is_repeated.get_mut(row as usize).into_iter().for_each(|is_repeated| *is_repeated = true);
        }
        let rows = |repeated: bool| {
            let rows = (0_u32..).zip(&is_repeated).filter(move |(_, is)| **is == repeated).map(|(row, _)| row);
            UInt32Array::from_iter_values(rows)
        };
        let (single, repeated) = (taken(&prepared, &rows(false))?, taken(&prepared, &rows(true))?);
        let key = |row: usize| {
            let partition = if self.source.key_is_global { "" } else { repeated.keys.partitions.value(row) };
            format!("{partition}\u{0}{}", repeated.keys.record_keys.value(row))
        };
        let keys: StringArray = (0..repeated.keys.record_keys.len()).map(|row| Some(key(row))).collect();
        let combined = combine(self.source.table, &self.source.schema.columns, &repeated.rows, &keys)?;
        let keys = taken_keys(&repeated.keys, &combined.numbers)?;
        let count = combined.rows.num_rows();
        Ok(Prepared {
            rows: concat_batches(&self.source.schema.types, [&single.rows, &combined.rows]).map_err(too_large)?,
            keys: RowKeys {
                record_keys: joined(&[Arc::new(single.keys.record_keys), Arc::new(keys.record_keys)])?,
                partitions: joined(&[Arc::new(single.keys.partitions), Arc::new(keys.partitions)])?,
            },
            deletes: single.deletes.iter().chain(&combined.deletes).collect(),
            unconditional: single.unconditional.iter().chain(std::iter::repeat_n(Some(false), count)).collect(),
            updates: single.updates.iter().chain(std::iter::repeat_n(Some(false), count)).collect(),
        })
    }
}

/// Which rows of these batches, so many together, are marked by a column that is not written.
fn marked(batches: &[RecordBatch], mark: &str, rows: usize) -> Result<BooleanArray> {
    if batches.iter().all(|batch| batch.column_by_name(mark).is_none()) {
        return Ok(BooleanArray::from(vec![false; rows]));
    }
    let mut marks = Vec::with_capacity(rows);
    for batch in batches {
        match batch.column_by_name(mark).map(|column| column.as_boolean_opt()) {
            None => marks.extend(std::iter::repeat_n(Some(false), batch.num_rows())),
            Some(Some(column)) => marks.extend(column.iter().map(|mark| Some(mark == Some(true)))),
            Some(None) => return Err(Error::invalid_argument(format!("column {mark:?} must be boolean"))),
        }
    }
    match marks.len() == rows {
        true => Ok(marks.into_iter().collect()),
        false => Err(Error::unsupported("rows that are left out (hoodie.write.ignore.failed) beside marked rows")),
    }
}

fn avro_types(schema: &crate::avro::Schema) -> Result<Schema> {
    crate::avro::arrow_schema(schema, crate::avro::ArrowMapping::Table)
}

/// Some rows of those that are prepared.
pub(super) fn taken(prepared: &Prepared, numbers: &UInt32Array) -> Result<Prepared> {
    let columns = prepared
        .rows
        .columns()
        .iter()
        .map(|column| take(column, numbers, None))
        .collect::<std::result::Result<Vec<_>, _>>();
    let columns = columns.map_err(too_large)?;
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(numbers.len()));
    let rows = RecordBatch::try_new_with_options(prepared.rows.schema(), columns, &options).map_err(too_large)?;
    let deletes = taken_flags(&prepared.deletes, numbers)?;
    let unconditional = taken_flags(&prepared.unconditional, numbers)?;
    let updates = taken_flags(&prepared.updates, numbers)?;
    Ok(Prepared { rows, keys: taken_keys(&prepared.keys, numbers)?, deletes, unconditional, updates })
}

/// The rows by partition and record key.
pub(super) fn sorted(prepared: &Prepared) -> Result<Prepared> {
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

fn taken_flags(flags: &BooleanArray, numbers: &UInt32Array) -> Result<BooleanArray> {
    let values = take(flags, numbers, None).map_err(too_large)?;
    values.as_any().downcast_ref::<BooleanArray>().cloned().ok_or_else(|| Error::internal("flags are no booleans"))
}

fn taken_keys(keys: &RowKeys, numbers: &UInt32Array) -> Result<RowKeys> {
    Ok(RowKeys {
        record_keys: taken_texts(&keys.record_keys, numbers)?,
        partitions: taken_texts(&keys.partitions, numbers)?,
    })
}

/// Some values of a column of texts.
pub(super) fn taken_texts(texts: &StringArray, numbers: &UInt32Array) -> Result<StringArray> {
    let values = take(texts, numbers, None).map_err(too_large)?;
    values.as_any().downcast_ref::<StringArray>().cloned().ok_or_else(|| Error::internal("texts are no strings"))
}
