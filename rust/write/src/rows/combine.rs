//! Rows of one write that have the same key become one (`HoodieWriteHelper.combineOnCondition`), by the merge rules of
//! the table.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, UInt32Array};
use arrow_buffer::BooleanBufferBuilder;
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::operations::is_delete;
use mortice_avro as avro;
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_merge::config::MergeSemantics;
use mortice_merge::spill::{RowBatches, RowBatchesBuilder};
use mortice_table::plan::OpenTable;
use mortice_table::read::{RowsMerge, RowsMergeOptions};

/// Columns that are added while rows are combined.
const KEY: &str = "_mortice_key";
const NUMBER: &str = "_mortice_row";
const DELETE: &str = "D";

/// What rows become.
pub struct Combined {
    /// A row for each key.
    pub rows: RowBatches,
    /// For each, a row that it was made of.
    pub numbers: UInt32Array,
    /// Which of them delete their keys.
    pub deletes: BooleanArray,
}

/// Combines rows that have the same key. `schema` has the defaults of columns.
///
/// # Errors
/// `Unsupported` for merge modes that this release does not have.
pub fn combine(table: &OpenTable, schema: &avro::Schema, rows: &RowBatches, keys: &StringArray) -> Result<Combined> {
    table.merge.check_written(MergeSemantics::default())?;
    let mut keyed = Vec::with_capacity(rows.batches().len());
    let mut first = 0;
    for batch in rows.batches() {
        keyed.push(with_keys(batch, &keys.slice(first, batch.num_rows()), first)?);
        first += batch.num_rows();
    }
    let columns = with_keys(&RecordBatch::new_empty(rows.schema()), &keys.slice(0, 0), 0)?.schema();
    let options = RowsMergeOptions {
        record_key: vec![KEY.to_owned()],
        properties: table.config.properties.clone(),
        semantics: MergeSemantics::default(),
        schema: Some(schema.clone()),
        commit_order: Vec::new(),
        partial: false,
        emit_deletes: true,
        merger: None,
    };
    let merge = RowsMerge::new(&columns, &columns, options)?;
    let mut combined = RowBatchesBuilder::new(rows.schema(), rows.memory().clone());
    let (mut numbers, mut deletes) = (Vec::new(), BooleanBufferBuilder::new(0));
    merge.merge_each(&[], &keyed, &mut |merged| {
        let part = with_own_operations(combined_of(&merged, rows.schema())?, rows)?;
        numbers.extend(part.numbers);
        part.deletes.iter().for_each(|delete| deletes.append(*delete));
        combined.push(part.rows)
    })?;
    let deletes = BooleanArray::from(deletes.finish());
    Ok(Combined { rows: combined.finish(), numbers: UInt32Array::from(numbers), deletes })
}

/// Some of what rows become.
struct CombinedPart {
    rows: RecordBatch,
    numbers: Vec<u32>,
    deletes: Vec<bool>,
}

fn combined_of(merged: &RecordBatch, columns: SchemaRef) -> Result<CombinedPart> {
    let lost = |name: &str| Error::internal(format!("rows that were combined have lost the column {name:?}"));
    let numbers = merged.column_by_name(NUMBER).ok_or_else(|| lost(NUMBER))?.as_primitive::<Int64Type>();
    let numbers: Option<Vec<u32>> = numbers.iter().map(|number| u32::try_from(number?).ok()).collect();
    let numbers = numbers.ok_or_else(|| lost(NUMBER))?;
    let operations = merged.column_by_name(meta_columns::OPERATION).ok_or_else(|| lost(meta_columns::OPERATION))?;
    let operations = operations.as_string::<i32>();
    let deletes = operations.iter().map(|operation| operation == Some(DELETE)).collect();
    let arrays = columns
        .fields()
        .iter()
        .map(|field| merged.column_by_name(field.name()).cloned().ok_or_else(|| lost(field.name())));
    let rows = RecordBatch::try_new(Arc::clone(&columns), arrays.collect::<Result<Vec<_>>>()?)
        .map_err(|error| Error::internal("rows that were combined").caused_by(error))?;
    Ok(CombinedPart { rows, numbers, deletes })
}

/// Deletes with the operations that they were given, where the merge has marked them all alike.
fn with_own_operations(part: CombinedPart, given: &RowBatches) -> Result<CombinedPart> {
    let Some(operations) = given.column(meta_columns::OPERATION, &part.numbers)? else { return Ok(part) };
    let (schema, mut columns) = (part.rows.schema(), part.rows.columns().to_vec());
    let unfit = || Error::internal("rows that were combined have other operations");
    let at = schema.index_of(meta_columns::OPERATION).map_err(|_| unfit())?;
    let merged = part.rows.column(at).as_string_opt::<i32>().ok_or_else(unfit)?;
    let own = operations.as_string_opt::<i32>().ok_or_else(unfit)?;
    let restored = merged.iter().zip(own).zip(&part.deletes).map(|((merged, own), deletes)| match deletes {
        true => own.filter(|own| is_delete(own)),
        false => merged,
    });
    *columns.get_mut(at).ok_or_else(unfit)? = Arc::new(restored.collect::<StringArray>());
    let rows = RecordBatch::try_new(schema, columns).map_err(|error| unfit().caused_by(error))?;
    Ok(CombinedPart { rows, ..part })
}

/// Rows with their keys and numbers, of which the first is this one.
fn with_keys(rows: &RecordBatch, keys: &StringArray, first: usize) -> Result<RecordBatch> {
    let number = |number: usize| i64::try_from(number).map_err(|_| Error::invalid_argument("too many rows"));
    let numbers = number(first)?..number(first.saturating_add(rows.num_rows()))?;
    let mut fields: Vec<Arc<Field>> = rows.schema_ref().fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new(KEY, DataType::Utf8, true)));
    fields.push(Arc::new(Field::new(NUMBER, DataType::Int64, true)));
    let mut arrays: Vec<ArrayRef> = rows.columns().to_vec();
    arrays.push(Arc::new(keys.clone()));
    arrays.push(Arc::new(Int64Array::from_iter_values(numbers)));
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .map_err(|error| Error::internal("rows with their keys").caused_by(error))
}
