//! Changes of columns: a commit without files that stores the new schema, as Hudi's `ALTER TABLE` writes it
//! (`HoodieSparkSqlWriter`, `AlterTableCommand.commitWithSchema`; measured with Hudi 1.2).

mod altered;
mod changes;
mod ids;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::read_state::MergeSource;
use super::write::user_metadata;
use mortice_avro::Schema;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::RequestedTime;
use mortice_commit::commit::CommitValidator;
use mortice_commit::writable_table::{TableLocation, WritableTable};
use mortice_services::transaction::{ColumnIds, CommitExtra, Transaction, WriteResult};
use mortice_services::{execute_in_process, run_inline_services};
use mortice_table::plan::OpenTable;
use mortice_table::schema::{history_text, table_schema};
use mortice_table::timeline::WriteOperation;
use mortice_table::timeline::metadata::{HoodieCommitMetadata, OrderedMap};

pub use changes::ColumnChanges;

/// The columns that a table is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AlteredColumns {
    /// Their Avro schema, as JSON.
    pub(crate) schema: String,
    /// The columns with their ids, as JSON, if they are to have some: with those before, if these had none.
    pub(crate) with_ids: Option<WithIds>,
}

/// Columns with ids, before and after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WithIds {
    /// Those before.
    pub(crate) before: String,
    /// Those after.
    pub(crate) after: String,
}

/// The Avro schema of a table's columns, as JSON, and the columns with their ids, if they have some.
pub(crate) fn stored_columns(table: &OpenTable) -> Result<(String, Option<String>)> {
    let (found, _) = table.schema_at(None)?;
    let stored = table_schema::stored_text(&table.timeline, &table.config)?;
    let text = stored.unwrap_or_else(|| found.files.json().to_owned());
    Ok((text, table_schema::column_ids(&table.timeline, &table.config)?))
}

/// Changes the columns of a table, in the state in which it was opened, as one commit.
///
/// # Errors
/// `InvalidArgument` for a column that is not there, or cannot change; `Unsupported` for a type that loses values;
/// `WriteConflict` if another writer has committed since the table was opened; those of [`Transaction::commit`].
pub fn alter(
    table: &Arc<OpenTable>,
    changes: &ColumnChanges,
    options: &BTreeMap<String, String>,
    validator: Option<Arc<dyn CommitValidator>>,
) -> Result<WriteResult> {
    let (columns, schema_changes) = changes.made(table)?;
    let location = TableLocation::new(&table.uri, &table.storage_options);
    Ok(WriteResult { schema_changes, ..alter_at(&location, table, &columns, options, validator)? })
}

/// Gives a table at a location other columns.
pub(super) fn alter_at(
    location: &TableLocation,
    table: &Arc<OpenTable>,
    columns: &AlteredColumns,
    options: &BTreeMap<String, String>,
    validator: Option<Arc<dyn CommitValidator>>,
) -> Result<WriteResult> {
    Schema::parse(&columns.schema)?.check_readable()?;
    let target = WritableTable::of_table(location, Arc::clone(table), options, "upsert")?;
    let target = Arc::new(target.with_validator(validator));
    let source = MergeSource::new(table, &[]);
    let mut transaction = Transaction::begin(&target, WriteOperation::AlterSchema)?;
    let begun = begun(&mut transaction, &source, columns);
    let (transaction, column_ids) = transaction.or_abort(begun)?;
    let extra = CommitExtra {
        schema: columns.schema.clone(),
        user_metadata: user_metadata(options),
        column_ids,
        ..CommitExtra::default()
    };
    let committed = transaction.commit(Vec::new(), &extra)?;
    let failed = run_inline_services(&target, &committed.instant, &execute_in_process)?;
    let warnings = target.warnings().into_iter().chain(failed).collect();
    Ok(WriteResult { warnings, ..WriteResult::new(committed) })
}

fn begun(transaction: &mut Transaction, source: &MergeSource, columns: &AlteredColumns) -> Result<Option<ColumnIds>> {
    let table = Arc::clone(transaction.table());
    source.check_unchanged(&table).map_err(|error| match error.kind() {
        ErrorKind::WriteConflict => Error::new(
            ErrorKind::WriteConflict,
            "another writer has changed the table since it was opened; alter it again",
        )
        .in_file(&table.uri)
        .caused_by(error),
        _ => error,
    })?;
    let ids = columns.with_ids.as_ref().map(|ids| versioned(ids, &table, transaction.instant())).transpose()?;
    transaction.inflight(&HoodieCommitMetadata {
        partition_to_write_stats: Some(OrderedMap::new()),
        compacted: Some(false),
        extra_metadata: Some(OrderedMap::new()),
        operation_type: Some(WriteOperation::AlterSchema.name().to_owned()),
        ..HoodieCommitMetadata::default()
    })?;
    Ok(ids)
}

/// The columns with their ids, as the version of an instant, and the versions before it.
fn versioned(ids: &WithIds, table: &OpenTable, instant: &RequestedTime) -> Result<ColumnIds> {
    let parsed = |text: &str| {
        serde_json::from_str::<Value>(text)
            .map_err(|error| Error::invalid_argument("columns with ids are no JSON").caused_by(error))
    };
    let version: u64 = instant.as_str().parse().map_err(|_| Error::internal("an instant that is no number"))?;
    let mut after = parsed(&ids.after)?;
    let columns = after.as_object_mut().ok_or_else(|| Error::invalid_argument("columns with ids are no object"))?;
    columns.insert("version_id".to_owned(), json!(version));
    let known = match history_text(table.storage.as_ref(), &table.timeline)? {
        Some(text) => parsed(&String::from_utf8_lossy(&text))?,
        None => json!({ "schemas": [parsed(&ids.before)?] }),
    };
    let known = known.get("schemas").and_then(Value::as_array).cloned().unwrap_or_default();
    let schemas: Vec<Value> = std::iter::once(after.clone()).chain(known).collect();
    Ok(ColumnIds { latest: after.to_string(), history: json!({ "schemas": schemas }).to_string() })
}
