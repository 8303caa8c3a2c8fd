//! The table that a write creates, if there is none.

use std::collections::BTreeMap;

use arrow_schema::Schema;

use super::schema::without_meta_columns;
use super::write::check_supported;
use crate::commit::{NewTable, WriteOperation, create_table};
use crate::config::{TableConfig, WriteOptions};
use crate::error::{ErrorKind, Result};
use crate::index::IndexOptions;
use crate::storage::{StorageOptions, open_file_store};

/// Creates the table that a write with these options describes. If another process creates it meanwhile, that is no error.
///
/// # Errors
/// `InvalidArgument` and `Unsupported` for options that describe no table, and for those that the write refuses; those of the storage.
pub fn create_table_for_write(
    (uri, storage): (&str, &StorageOptions),
    operation: WriteOperation,
    columns: &Schema,
    options: &BTreeMap<String, String>,
) -> Result<()> {
    let (table, columns) = (NewTable::from_write_options(options)?, without_meta_columns(columns));
    // A table is created only for a write that it accepts.
    let config = TableConfig::from_properties(table.properties_file(&columns)?.properties())?;
    check_supported(&config)?;
    let options = WriteOptions::parse(options, &operation.name().to_ascii_lowercase(), &config)?;
    IndexOptions::from_options(&config, options.values())?;
    match create_table(open_file_store(uri, storage)?.as_ref(), &table, &columns) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        created => created,
    }
}
