//! Deletes the rows that a filter selects: a scan of the table as it is when the write begins, and a delete of the keys. A row that
//! another writer changes meanwhile is a conflict.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};

use super::write::{Written, committed, plan, written};
use crate::commit::check_writable;
use crate::commit::{CommitValidator, WriteOperation};
use crate::rows::{read_input, row_memory};
use crate::transaction::ServiceTarget;
use crate::transaction::Transaction;
use crate::transaction::WriteResult;
use mortice_base::error::Result;
use mortice_base::names::meta_columns;
use mortice_formats::filter::Filter;
use mortice_merge::config::{ReadOptions, WriteOptions};
use mortice_merge::keys::FieldPath;
use mortice_storage::StorageOptions;
use mortice_table::plan::{OpenTable, QueryOptions, SnapshotRows};

/// Deletes the rows of a snapshot that a filter selects.
///
/// # Errors
/// `InvalidArgument` for filters that do not fit the table; as for [`super::write`].
pub fn delete_where(
    uri: &str,
    storage: &StorageOptions,
    filter: &Filter,
    options: &BTreeMap<String, String>,
    validator: Option<Arc<dyn CommitValidator>>,
) -> Result<WriteResult> {
    let table = OpenTable::open(uri, storage, ReadOptions::default())?;
    check_writable(&table.config).map_err(|error| error.in_file(uri))?;
    let parsed = WriteOptions::parse(options, "delete", &table.config)?;
    // A filter that does not fit is refused before there is an instant.
    table.snapshot(&query(&table, filter), None, SnapshotRows::Merged)?;
    let mut transaction = Transaction::begin(uri, storage, parsed.values(), WriteOperation::Delete)?;
    transaction.set_validator(validator);
    let deleted = delete(&mut transaction, filter, parsed.values());
    let target = ServiceTarget { uri, storage, options: parsed.values() };
    committed((transaction, target), deleted, options, parsed.warnings().to_vec())
}

fn delete(transaction: &mut Transaction, filter: &Filter, options: &BTreeMap<String, String>) -> Result<Written> {
    let table = Arc::clone(transaction.table());
    let query = query(&table, filter);
    let mut stream = table.snapshot(&query, None, SnapshotRows::Merged)?.stream().peekable();
    let schema: SchemaRef = match stream.peek() {
        Some(Ok(first)) => first.schema(),
        _ => Arc::new(Schema::empty()),
    };
    let rows = read_input(&schema, &mut stream, false, row_memory(options)?)?;
    let plan = plan(&table, WriteOperation::Delete, (schema.as_ref(), &rows), options, transaction.instant())?;
    written(transaction, plan, options)
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
