//! Rows that a merge has changed in some columns only: a log gets these columns alone, in data blocks that are marked
//! as partial.
//!
//! The conditions are those of Hudi's `MERGE INTO` (`MergeIntoHoodieTableCommand.isPartialUpdateActionForMOR`). Where
//! Hudi refuses a merge with partial updates (tables without meta columns or with column ids), full rows are written.
//!
//! By event time, full rows are written unless the option asks for partial ones. Readers merge the records of a log
//! with each other before they merge the result with the base row. A late record that the base row has won over is
//! still in the log, and a partial record behind it takes its other columns from there: Hudi and mortice would return a
//! mixture of the two.

use std::collections::BTreeSet;

use super::options::RowOptions;
use super::schema::WriteSchema;
use crate::index::Index;
use mortice_avro::Schema;
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_merge::config::{MergeMode, TableType};
use mortice_merge::keys::FieldPath;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::WriteOperation;

/// The schema of partial-update records: meta columns, the changed columns, and those that records are ordered by. None
/// if full rows are written. `updated` are the columns that a merge has changed.
///
/// Hudi leaves out ordering columns that a merge does not change. Readers take such a record for the oldest one, so
/// that the update is lost if records are merged by event time; therefore they are written here.
///
/// # Errors
/// Those of reading the table's schema.
pub fn partial_schema(
    table: &OpenTable,
    index: &dyn Index,
    schema: &WriteSchema,
    operation: WriteOperation,
    updated: &[String],
    options: &RowOptions,
) -> Result<Option<Schema>> {
    let mut changed: BTreeSet<&str> = updated.iter().map(String::as_str).collect();
    if changed.is_empty() || operation != WriteOperation::Upsert || !may_be_partial(table, index, options)? {
        return Ok(None);
    }
    if let Some(unknown) = changed.iter().find(|name| schema.columns.field(name).is_none()) {
        return Err(Error::internal(format!("a merge changes the column {unknown:?}, which the table does not have")));
    }
    if table.merge.mode == MergeMode::EventTime {
        let ordering: Vec<FieldPath> = table.merge.ordering_fields.iter().map(|name| FieldPath::new(name)).collect();
        let names = ordering.iter().map(FieldPath::column);
        let known = names.filter_map(|name| schema.columns.field(name));
        changed.extend(known.map(|field| field.name.as_str()));
        return projected(schema, &changed);
    }
    projected(schema, &changed)
}

fn projected(schema: &WriteSchema, changed: &BTreeSet<&str>) -> Result<Option<Schema>> {
    let columns = schema.columns.fields().iter().map(|field| field.name.as_str());
    let unchanged: Vec<&str> = columns.filter(|name| !changed.contains(name)).collect();
    if unchanged.is_empty() {
        return Ok(None);
    }
    schema.stored.without_fields(&unchanged).map(Some)
}

/// Whether a table's logs may have partial records.
fn may_be_partial(table: &OpenTable, index: &dyn Index, options: &RowOptions) -> Result<bool> {
    let config = &table.config;
    let default = match table.merge.mode {
        MergeMode::CommitTime => true,
        MergeMode::EventTime => false,
        _ => return Ok(false),
    };
    if config.table_type != TableType::MergeOnRead
        || config.version.number() < 8
        || !config.populate_meta_fields
        || config.properties.get("hoodie.table.partial.update.mode").is_some()
        || !options.partial_updates.unwrap_or(default)
        || index.updates_partition()
    {
        return Ok(false);
    }
    let (found, _) = table.schema_at(None)?;
    Ok(found.internal.is_none())
}

/// The columns of a batch that a schema has, without meta columns.
///
/// # Errors
/// `Internal` if the batch lacks one.
pub fn columns_of(rows: &arrow_array::RecordBatch, schema: &Schema) -> Result<arrow_array::RecordBatch> {
    let unfit = |error| Error::internal("rows of a partial update").caused_by(error);
    let names = schema.fields().iter().map(|field| field.name.as_str());
    let own = names.filter(|name| !meta_columns::ALL.contains(name));
    let places = own.map(|name| rows.schema_ref().index_of(name)).collect::<std::result::Result<Vec<_>, _>>();
    rows.project(&places.map_err(unfit)?).map_err(unfit)
}
