//! Rows merged with the stored rows of their keys by the table's rules.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;

use super::indexed_rows::{ByKey, IndexedRows, strings};
use super::stored_rows::StoredRows;
use crate::error::{Error, Result};
use crate::keys::RowKeyReader;
use crate::names::meta_columns;
use crate::plan::OpenTable;
use crate::read::{RowsMerge, RowsMergeOptions};

/// Which of two rows won: it is merged as any column is.
const IS_INCOMING: &str = "_mortice_is_incoming";

/// The results of the merge, with the columns of the input.
pub(super) struct MergedRows {
    rows: RecordBatch,
    partitions: StringArray,
    by_key: ByKey<MergedRow>,
}

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MergedRow {
    pub(super) row: usize,
    /// Whether it is the stored row, unchanged.
    pub(super) is_stored: bool,
}

impl MergedRows {
    /// Merges the chosen rows that have a stored row.
    pub(super) fn merge(
        table: &OpenTable,
        rows: &IndexedRows,
        chosen: &[bool],
        stored: &StoredRows,
        options: &BTreeMap<String, String>,
    ) -> Result<Self> {
        let keys = stored.keys();
        let older = marked(stored.rows(), &keys, false)?;
        let is_merged =
            |row: &usize| chosen.get(*row) == Some(&true) && stored.row_of(rows.keys.record_keys.value(*row)).is_some();
        let merged: Vec<usize> = (0..chosen.len()).filter(is_merged).collect();
        let newer = merged.iter().map(|row| *row as u64).collect::<UInt64Array>();
        let newer = take_record_batch(&rows.rows, &newer).map_err(failed)?;
        let keys: Vec<&str> = merged.iter().map(|row| rows.keys.record_keys.value(*row)).collect();
        let newer = marked(&newer, &keys, true)?;
        let (found, _) = table.schema_at(None)?;
        let merge = RowsMerge::new(
            older.schema_ref(),
            newer.schema_ref(),
            RowsMergeOptions {
                record_key: vec![meta_columns::RECORD_KEY.to_owned()],
                properties: table.config.properties.clone(),
                semantics: table.options.semantics,
                schema: Some(found.files.clone()),
                commit_order: Vec::new(),
                partial: false,
                emit_deletes: false,
                merger: None,
            },
        )?;
        let result = concat_batches(&merge.schema(), &merge.merge(&[older], &[newer])?).map_err(failed)?;
        Self::new(table, rows, &result, options)
    }

    fn new(
        table: &OpenTable,
        rows: &IndexedRows,
        result: &RecordBatch,
        options: &BTreeMap<String, String>,
    ) -> Result<Self> {
        let keys = strings(result, meta_columns::RECORD_KEY)?;
        let marks = result.column_by_name(IS_INCOMING).and_then(|column| column.as_boolean_opt()).cloned();
        let marks = marks.ok_or_else(|| Error::internal("merged rows without their mark"))?;
        let by_key = keys.iter().zip(&marks).enumerate().filter_map(|(row, (key, mark))| {
            Some((key?.to_owned(), MergedRow { row, is_stored: mark == Some(false) }))
        });
        let by_key = by_key.collect();
        let columns = (0..rows.rows.num_columns()).collect::<Vec<_>>();
        let rows = result.project(&columns).map_err(failed)?;
        let partitions = if rows.num_rows() == 0 {
            StringArray::from(Vec::<&str>::new())
        } else {
            let reader = RowKeyReader::new(&table.config, rows.schema_ref(), options)?;
            reader.read_partitions(&rows, 0)?
        };
        Ok(Self { rows, partitions, by_key })
    }

    pub(super) fn rows(&self) -> &RecordBatch {
        &self.rows
    }

    /// The result for a key; none if it is a delete.
    pub(super) fn row_of(&self, key: &str) -> Option<MergedRow> {
        self.by_key.get(key).copied()
    }

    /// The partition that the key generator makes of a result.
    pub(super) fn partition(&self, row: usize) -> &str {
        if row < self.partitions.len() { self.partitions.value(row) } else { "" }
    }
}

/// Rows, and behind their columns their keys and the mark.
fn marked(rows: &RecordBatch, keys: &[&str], is_incoming: bool) -> Result<RecordBatch> {
    let own = [
        (
            Field::new(meta_columns::RECORD_KEY, DataType::Utf8, true),
            Arc::new(StringArray::from(keys.to_vec())) as ArrayRef,
        ),
        (Field::new(IS_INCOMING, DataType::Boolean, true), Arc::new(BooleanArray::from(vec![is_incoming; keys.len()]))),
    ];
    let fields =
        rows.schema().fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect::<Vec<_>>();
    let (own_fields, own_columns): (Vec<Field>, Vec<ArrayRef>) = own.into_iter().unzip();
    let schema = Schema::new(fields.into_iter().chain(own_fields).collect::<Vec<_>>());
    let columns = rows.columns().iter().cloned().chain(own_columns).collect();
    RecordBatch::try_new(Arc::new(schema), columns).map_err(failed)
}

fn failed(error: arrow_schema::ArrowError) -> Error {
    Error::internal("rows that are merged with stored ones").caused_by(error)
}
