//! Deletes the rows that a filter selects: a scan of the table as it is when the write begins, and a delete of the
//! keys. A row that another writer changes meanwhile is a conflict.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};

use super::retries::ConflictRetries;
use super::write::{GivenRows, Written, commit_or_abort, open_for_write, plan, write_plan};
use mortice_base::error::Result;
use mortice_base::names::meta_columns;
use mortice_commit::commit::CommitValidator;
use mortice_commit::writable_table::TableLocation;
use mortice_formats::filter::Filter;
use mortice_merge::keys::FieldPath;
use mortice_services::transaction::{Transaction, WriteResult};
use mortice_table::plan::{OpenTable, QueryOptions, SnapshotRows};
use mortice_table::timeline::WriteOperation;
use mortice_write::index::Provenance;
use mortice_write::rows::read_input;
use mortice_write::settings::WriteSettings;

/// Deletes the rows of a snapshot that a filter selects.
///
/// # Errors
/// `InvalidArgument` for filters that do not fit the table; as for [`super::write`].
pub fn delete_where(
    location: &TableLocation,
    filter: &Filter,
    options: &BTreeMap<String, String>,
    validator: Option<Arc<dyn CommitValidator>>,
) -> Result<WriteResult> {
    let target = Arc::new(open_for_write(location, options, WriteOperation::Delete)?.with_validator(validator));
    let table = target.latest();
    // A filter that does not fit is refused before there is an instant.
    table.snapshot(&query(&table, filter), None, SnapshotRows::Merged)?;
    ConflictRetries::resolve(target.options())?.run(&*target.time(), |_| {
        let mut transaction = Transaction::begin(&target, WriteOperation::Delete)?;
        let deleted = delete(&mut transaction, filter, target.settings());
        commit_or_abort(transaction, deleted, options, Vec::new())
    })
}

fn delete(transaction: &mut Transaction, filter: &Filter, options: &WriteSettings) -> Result<Written> {
    let table = Arc::clone(transaction.table());
    let query = query(&table, filter);
    let mut stream = table.snapshot(&query, None, SnapshotRows::Merged)?.stream().peekable();
    let schema: SchemaRef = match stream.peek() {
        Some(Ok(first)) => first.schema(),
        _ => Arc::new(Schema::empty()),
    };
    let rows = read_input(&schema, &mut stream, false, options.rows.memory())?;
    let given = GivenRows { columns: schema.as_ref(), rows: &rows, provenance: Provenance::Stored };
    let plan = plan(&table, WriteOperation::Delete, given, options, transaction.instant())?;
    write_plan(transaction, plan, options)
}

/// The columns that keys and partitions are read from.
fn query(table: &OpenTable, filter: &Filter) -> QueryOptions {
    let config = &table.config;
    let columns = match config.populate_meta_fields {
        true => vec![meta_columns::RECORD_KEY.to_owned(), meta_columns::PARTITION_PATH.to_owned()],
        false => {
            let fields = config.record_key_fields.iter().chain(&config.partition_fields);
            let mut columns: Vec<String> = fields.map(|name| FieldPath::new(name).column().to_owned()).collect();
            columns.sort_unstable();
            columns.dedup();
            columns
        }
    };
    QueryOptions { columns: Some(columns), filter: filter.clone(), merger: None }
}
