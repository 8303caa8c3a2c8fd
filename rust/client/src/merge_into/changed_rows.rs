//! Rows of a table that have been changed by expressions (`row_changes`), and their write.
//!
//! What is written is checked against what was read. A changed row stays in its place, unless the index of the write
//! moves rows; its ordering value is not less than the stored one; no key is inserted twice. That an inserted key is
//! new is found out by the index of the write. Several changes of one key are left to the write: they may be deletes,
//! or the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, Field, Schema};

use super::chosen_columns::{STORED_PREFIX, side};
use super::chosen_rows::{DELETES_COLUMN, UPDATES_COLUMN};
use super::clauses::{MergeClauses, NotMatched};
use super::given_keys::GivenKeys;
use super::key_text::key_text;
use super::keyed_rows::projected;
use super::matching::strings;
use super::ordering::{LateRows, late_rows};
use super::plan::MergePlan;
use super::repeated_keys::{DistinctKeys, repeated_key};
use super::run::{read_for_changes, write_merged, written_columns};
use super::set_rows::{only, set_values};
use super::shadowed::check_inserts;
use super::stored_rows::query_of_keys;
use super::table_types::{columns_of_table, own_columns};
use crate::WriteInput;
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_base::row_number::number_of;
use mortice_merge::keys::RowKeys;
use mortice_merge::spill::{RowBatches, RowBatchesBuilder};
use mortice_services::transaction::WriteResult;
use mortice_storage::check_cancelled;
use mortice_table::plan::{OpenTable, QueryOptions, Scan, SnapshotRows};
use mortice_write::rows::read_input;

/// Writes changed rows to a table, in the state in which it was opened, as one commit. `updated` are the columns that
/// differ from the stored ones in rows that are marked as updates.
///
/// The rows have all columns of the table and the marks [`DELETES_COLUMN`] and [`UPDATES_COLUMN`]; a row without a mark
/// is inserted. Besides, they have record key and partition path of the stored row, and its ordering columns behind
/// [`STORED_PREFIX`] if these are updated.
pub(crate) fn write_changes(table: &Arc<OpenTable>, updated: &[String], input: WriteInput<'_>) -> Result<WriteResult> {
    let table = &read_for_changes(table, input.options)?;
    let (options, validator) = (input.options, input.validator.clone());
    let plan = changes_plan(table, updated, options)?;
    let rows = read_changes(&plan, input)?;
    ChangedRows { table, plan: &plan, maker: plan.given_keys()? }.check(&rows)?;
    let names: Vec<String> = written_columns(&plan).fields().iter().map(|field| field.name().clone()).collect();
    let written = rows.batches().iter().map(|batch| projected(batch, &names)).collect::<Result<Vec<_>>>()?;
    write_merged(table, &plan, written, options, validator)
}

/// Makes sure that rows of a table can be changed, and these columns of them.
pub(crate) fn check_changes(table: &OpenTable, updated: &[String], options: &BTreeMap<String, String>) -> Result<()> {
    changes_plan(table, updated, options).map(drop)
}

/// A query of the stored rows whose keys some rows have: these columns of them. The rows have the columns of the record
/// key, and of the partition path or none of it, and no nulls in them.
pub(crate) fn rows_of_keys(table: &OpenTable, keys: &RecordBatch, columns: &[String]) -> Result<Scan> {
    let plan = changes_plan(table, &[], &BTreeMap::new())?;
    let names: Vec<String> = keys.schema_ref().fields().iter().map(|field| field.name().clone()).collect();
    let by_path = !plan.partitions().is_empty() && plan.partitions().iter().all(|name| names.contains(name));
    let typed = plan.columns_in_table_types(keys, &names)?;
    let keys = plan.keys_of(&plan.given_keys()?, &typed, &names, 0)?;
    let QueryOptions { filter, .. } = query_of_keys(std::iter::empty(), &keys, by_path)?;
    let query = QueryOptions { columns: Some(columns.to_vec()), filter, merger: None };
    table.snapshot(&query, None, SnapshotRows::Merged)
}

fn changes_plan(table: &OpenTable, updated: &[String], options: &BTreeMap<String, String>) -> Result<MergePlan> {
    let (_, types) = table.schema_at(None)?;
    let names: Vec<String> = own_columns(&types).map(|field| field.name().clone()).collect();
    let clauses = MergeClauses { on: None, update: Some(updated.to_vec()), not_matched: NotMatched::Insert };
    let plan = MergePlan::new(table, &names, &clauses, options)?;
    let stays = |name: &&String| plan.on().contains(name) || (!plan.moves && plan.partitions.contains(name));
    match updated.iter().find(stays) {
        None => Ok(plan),
        Some(name) => {
            let what = if plan.keys.contains(name) { "the record key" } else { "the partition path" };
            Err(Error::invalid_argument(format!(
                "column '{name}' is part of {what}, which an update does not change; delete the row and insert another"
            )))
        }
    }
}

/// Reads changed rows, in the table's types.
fn read_changes(plan: &MergePlan, input: WriteInput<'_>) -> Result<RowBatches> {
    let WriteInput { schema, batches, is_in_memory, .. } = input;
    let fills = plan.row_options.fills_missing;
    let nullable = plan.columns.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    let columns = Schema::new(nullable.collect::<Vec<Field>>());
    let typed = columns_of_table(&RecordBatch::new_empty(Arc::clone(&schema)), &columns, fills)?.schema();
    let memory = plan.row_options.memory();
    let given = read_input(&schema, batches, is_in_memory, memory.clone())?;
    let mut rows = RowBatchesBuilder::new(typed, memory);
    for batch in given.batches() {
        rows.push_of(columns_of_table(batch, &columns, fills)?, batch)?;
    }
    Ok(rows.finish())
}

/// Checks of changed rows against the table.
struct ChangedRows<'a> {
    table: &'a OpenTable,
    plan: &'a MergePlan,
    maker: GivenKeys,
}

impl ChangedRows<'_> {
    fn check(&self, rows: &RowBatches) -> Result<()> {
        let by = self.plan.shadow_columns();
        let (mut late, mut first_row) = (LateRows::default(), 0_u64);
        let mut inserts = RowBatchesBuilder::new(rows.schema(), rows.memory().clone());
        for batch in rows.batches() {
            check_cancelled()?;
            let keys = self.plan.keys_of(&self.maker, batch, &by, first_row)?;
            let (updates, deletes) = (marks(batch, UPDATES_COLUMN)?, marks(batch, DELETES_COLUMN)?);
            let is_stored = &updates | &deletes;
            self.check_places(batch, &keys, &is_stored)?;
            self.add_late(&mut late, batch, &updates)?;
            inserts.push_of(only(batch, &!&is_stored)?, batch)?;
            first_row = first_row.saturating_add(batch.num_rows() as u64);
        }
        late.refuse(&self.plan.updated_ordering())?;
        let inserts = inserts.finish();
        if inserts.num_rows() == 0 {
            return Ok(());
        }
        self.check_distinct(&inserts, &by)?;
        check_inserts(self.table, self.plan, &self.maker, &inserts)
    }

    /// Makes sure that no two inserted rows have the same key.
    fn check_distinct(&self, inserts: &RowBatches, by: &[String]) -> Result<()> {
        let RowKeys { record_keys, partitions } = self.plan.keys_of_all(&self.maker, inserts, by)?;
        let paths = if self.plan.shadows_by_path() { partitions } else { empty_paths(inserts.num_rows()) };
        let mut distinct = key_types()?;
        distinct.add(&[Arc::new(record_keys) as ArrayRef, Arc::new(paths)])?;
        match distinct.repeated().map(number_of).transpose()? {
            None => Ok(()),
            Some(row) => Err(repeated_key(&inserts.take(&[row])?, by, 0)),
        }
    }

    /// Makes sure that rows are written to where they are stored.
    fn check_places(&self, batch: &RecordBatch, keys: &RowKeys, is_stored: &BooleanBuffer) -> Result<()> {
        let mut sides = vec![(meta_columns::RECORD_KEY, &keys.record_keys)];
        if self.plan.shadows_by_path() {
            sides.push((meta_columns::PARTITION_PATH, &keys.partitions));
        }
        for (name, made) in sides {
            if let Some(row) = first_other(strings(batch, name)?, made, is_stored) {
                return Err(other_place(self.plan, batch, batch, name, made, row)?);
            }
        }
        Ok(())
    }

    fn add_late(&self, late: &mut LateRows, batch: &RecordBatch, updates: &BooleanBuffer) -> Result<()> {
        let ordering = self.plan.updated_ordering();
        if ordering.is_empty() {
            return Ok(());
        }
        let stored = self.plan.columns_in_table_types(&side(batch, STORED_PREFIX)?, &ordering)?;
        let is_late = &late_rows(&ordering, batch, &stored)? & updates;
        late.add(&is_late, batch, &self.plan.shadow_columns())
    }
}

/// The first of some rows whose stored string is not the one that its columns make.
pub(super) fn first_other(stored: &StringArray, made: &StringArray, rows: &BooleanBuffer) -> Option<usize> {
    let value = |strings: &StringArray, row: usize| strings.is_valid(row).then(|| strings.value(row).to_owned());
    rows.set_indices().find(|row| value(stored, *row) != value(made, *row))
}

/// The error of a row that would be written to another place. `rows` have its columns, `stored` its meta columns.
pub(super) fn other_place(
    plan: &MergePlan,
    rows: &RecordBatch,
    stored: &RecordBatch,
    name: &str,
    made: &StringArray,
    row: usize,
) -> Result<Error> {
    let key = key_text(rows, &plan.shadow_columns(), row)?;
    let read = strings(stored, name)?;
    let read = if read.is_valid(row) { read.value(row) } else { "" };
    Ok(Error::unsupported(format!(
        "the change of the row {key}: its {name} is '{read}', and its columns make '{}', so that it would be written to another place; read the rows, change them, and upsert them",
        made.value(row)
    )))
}

fn key_types() -> Result<DistinctKeys> {
    DistinctKeys::new([DataType::Utf8, DataType::Utf8].into_iter())
}

fn empty_paths(rows: usize) -> StringArray {
    StringArray::from_iter_values(std::iter::repeat_n("", rows))
}

fn marks(batch: &RecordBatch, name: &str) -> Result<BooleanBuffer> {
    let column = batch.column_by_name(name).and_then(|column| column.as_boolean_opt());
    column.map(set_values).ok_or_else(|| Error::invalid_argument(format!("changed rows have no marks {name:?}")))
}
