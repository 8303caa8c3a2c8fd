//! Rows merged with the stored rows of their keys by the table's rules.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};

use super::indexed_rows::{ByKey, IndexedRows, strings};
use super::stored_rows::StoredRows;
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_merge::keys::{KeyOptions, RowKeyReader};
use mortice_merge::spill::{RowBatches, RowBatchesBuilder};
use mortice_table::plan::OpenTable;
use mortice_table::read::{RowsMerge, RowsMergeOptions};

/// Which of two rows won: it is merged as any column is.
const IS_INCOMING: &str = "_mortice_is_incoming";

/// The results of the merge, with the columns of the input.
pub(super) struct MergedRows {
    rows: RowBatches,
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
    /// Merges the chosen rows that have a stored row in a round.
    pub(super) fn merge(
        table: &OpenTable,
        rows: &IndexedRows,
        chosen: &[bool],
        stored: &StoredRows,
        round: usize,
        options: &KeyOptions,
    ) -> Result<Self> {
        let (stored_rows, stored_keys) = stored.of_round(round)?;
        let older = marked_all(&stored_rows, &stored_keys, false)?;
        let is_merged = |row: &usize| {
            chosen.get(*row) == Some(&true) && stored.row_of(round, rows.rows.keys.record_keys.value(*row)).is_some()
        };
        let merged: Vec<usize> = (0..chosen.len()).filter(is_merged).collect();
        let keys: Vec<&str> = merged.iter().map(|row| rows.rows.keys.record_keys.value(*row)).collect();
        let numbers: Option<Vec<u32>> = merged.iter().map(|row| u32::try_from(*row).ok()).collect();
        let numbers = numbers.ok_or_else(|| Error::internal("more rows of a write than have numbers"))?;
        let newer = marked_all(&rows.rows.batches.select(&numbers)?, &keys, true)?;
        let (found, _) = table.schema_at(None)?;
        let merge = RowsMerge::new(
            &older.schema(),
            &newer.schema(),
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
        let columns: Vec<usize> = (0..rows.rows.batches.schema().fields().len()).collect();
        let schema = merge.schema().project(&columns).map_err(failed)?;
        let mut results = Results {
            rows: RowBatchesBuilder::new(Arc::new(schema), rows.rows.batches.memory().clone()),
            columns,
            count: 0,
            partitions: StringBuilder::new(),
            by_key: ByKey::default(),
        };
        merge.merge_each(older.batches(), newer.batches(), &mut |batch| results.add(table, &batch, options))?;
        let Results { rows, mut partitions, by_key, .. } = results;
        Ok(Self { rows: rows.finish(), partitions: partitions.finish(), by_key })
    }

    pub(super) fn rows(&self) -> &RowBatches {
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

/// Results as they come.
struct Results {
    /// The columns of the input.
    columns: Vec<usize>,
    rows: RowBatchesBuilder,
    count: usize,
    partitions: StringBuilder,
    by_key: ByKey<MergedRow>,
}

impl Results {
    fn add(&mut self, table: &OpenTable, batch: &RecordBatch, options: &KeyOptions) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let keys = strings(batch, meta_columns::RECORD_KEY)?;
        let marks = batch.column_by_name(IS_INCOMING).and_then(|column| column.as_boolean_opt());
        let marks = marks.ok_or_else(|| Error::internal("merged rows without their mark"))?;
        for (row, (key, mark)) in (self.count..).zip(keys.iter().zip(marks)) {
            if let Some(key) = key {
                self.by_key.insert(key.to_owned(), MergedRow { row, is_stored: mark == Some(false) });
            }
        }
        let rows = batch.project(&self.columns).map_err(failed)?;
        let reader = RowKeyReader::new(&table.config, rows.schema_ref(), options)?;
        reader.read_partitions(&rows, 0)?.iter().for_each(|partition| self.partitions.append_option(partition));
        self.count = self.count.saturating_add(rows.num_rows());
        self.rows.push(rows)
    }
}

/// Rows, and behind their columns their keys and the mark.
fn marked_all(rows: &RowBatches, keys: &[&str], is_incoming: bool) -> Result<RowBatches> {
    let schema = marked(&RecordBatch::new_empty(rows.schema()), &[], is_incoming)?.schema();
    let mut rest = keys;
    let mut all = RowBatchesBuilder::new(schema, rows.memory().clone());
    for batch in rows.batches() {
        let lost = || Error::internal("rows that are merged with stored ones without their keys");
        let (keys, behind) = rest.split_at_checked(batch.num_rows()).ok_or_else(lost)?;
        rest = behind;
        all.push_of(marked(batch, keys, is_incoming)?, batch)?;
    }
    Ok(all.finish())
}

/// A batch with its keys and the mark behind its columns.
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

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Int64Array;
    use mortice_base::error::ErrorKind;
    use proptest::prelude::*;

    /// Rows of these numbers, in batches of a size.
    fn rows(numbers: &[i64], size: usize) -> RowBatches {
        let batch = |numbers: &[i64]| {
            let column: ArrayRef = Arc::new(Int64Array::from(numbers.to_vec()));
            RecordBatch::try_from_iter([("n", column)]).unwrap()
        };
        let memory = RowBatches::from(batch(&[])).memory().clone();
        let mut all = RowBatchesBuilder::new(batch(&[]).schema(), memory);
        numbers.chunks(size).for_each(|numbers| all.push(batch(numbers)).unwrap());
        all.finish()
    }

    proptest! {
        /// A key that moved to the row beside its own would overwrite the row of another key.
        #[test]
        fn keys_stay_with_their_rows(numbers in proptest::collection::vec(any::<i64>(), 0..20), size in 1_usize..6) {
            let keys: Vec<String> = numbers.iter().map(|number| format!("k{number}")).collect();
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            for is_incoming in [false, true] {
                let marked = marked_all(&rows(&numbers, size), &keys, is_incoming).unwrap();
                prop_assert_eq!(marked.num_rows(), numbers.len());
                let mut seen = Vec::new();
                for batch in marked.batches() {
                    let found = batch.column_by_name("n").unwrap().as_primitive::<arrow_array::types::Int64Type>();
                    let keys = strings(batch, meta_columns::RECORD_KEY).unwrap();
                    let marks = batch.column_by_name(IS_INCOMING).unwrap().as_boolean();
                    prop_assert!(marks.iter().all(|mark| mark == Some(is_incoming)));
                    seen.extend(found.values().iter().zip(&keys).map(|(number, key)| (*number, key.unwrap().to_owned())));
                }
                let expected: Vec<(i64, String)> = numbers.iter().map(|number| (*number, format!("k{number}"))).collect();
                prop_assert_eq!(seen, expected);
            }
        }
    }

    #[test]
    fn rows_without_their_keys_are_an_internal_error() {
        let error = marked_all(&rows(&[1, 2, 3], 2), &["a", "b"], true).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
        let error = marked(&rows(&[1, 2], 2).to_batch().unwrap(), &["a"], true).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
    }

    /// Both sides have the same columns, in which either may lack a value.
    #[test]
    fn columns_may_be_null_on_either_side() {
        let marked = marked_all(&rows(&[1], 1), &["a"], false).unwrap();
        assert!(marked.schema().fields().iter().all(|field| field.is_nullable()));
        let names: Vec<String> = marked.schema().fields().iter().map(|field| field.name().clone()).collect();
        assert_eq!(names, ["n", meta_columns::RECORD_KEY, IS_INCOMING]);
    }
}
