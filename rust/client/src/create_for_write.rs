//! The table that a write creates, if there is none.

use std::collections::BTreeMap;

use arrow_schema::Schema;

use mortice_base::error::{ErrorKind, Result};
use mortice_commit::commit::{NewTable, check_writable, create_table, update_properties};
use mortice_commit::writable_table::TableLocation;
use mortice_merge::config::{ParsedOptions, PropertiesFile, ReadOptions, TableConfig};
use mortice_table::timeline::WriteOperation;
use mortice_write::index::{IndexOptions, choose_index};
use mortice_write::rows::{check_new_columns, without_meta_columns};

/// The property with the schema of a table without commits. Hudi's `DataFrame` writes do not set it.
const CREATE_SCHEMA: &str = "hoodie.table.create.schema";

/// Creates the table that a write with these options describes. Returns false if another process has created it
/// meanwhile, which is no error.
///
/// # Errors
/// `InvalidArgument` and `Unsupported` for options that describe no table, and for columns and options that the write
/// refuses; those of the storage.
pub fn create_table_for_write(
    location: &TableLocation,
    operation: WriteOperation,
    columns: &Schema,
    options: &BTreeMap<String, String>,
) -> Result<bool> {
    let (table, columns) = (NewTable::from_write_options(options)?, without_meta_columns(columns));
    // A table is created only for a write that it accepts.
    check_new_columns(&columns, &table.name)?;
    let config = TableConfig::from_properties(table.properties_file(&columns)?.properties())?;
    check_writable(&config)?;
    let parsed = ParsedOptions::new(options, &operation.name().to_ascii_lowercase(), &config)?;
    choose_index(&config, &IndexOptions::resolve(&parsed.options)?)?;
    match create_table(location.open_store()?.as_ref(), &table, &columns) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        created => created.map(|()| true),
    }
}

/// Removes the columns of a table that a write has created and not written to: the next write decides on them. A table
/// with commits is not changed.
///
/// # Errors
/// As for opening the table, and those of the storage.
pub fn forget_schema(location: &TableLocation) -> Result<()> {
    let table = location.open_table(ReadOptions::default())?;
    if table.timeline.completed_writes().next().is_some() {
        return Ok(());
    }
    let forget = |properties: &mut PropertiesFile| {
        properties.remove(CREATE_SCHEMA);
        Ok(())
    };
    update_properties(location.open_store()?.as_ref(), forget).map(drop)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::{DataType, Field, TimeUnit};
    use mortice_storage::StorageOptions;

    use super::*;

    fn create(folder: &str, columns: Vec<Field>) -> Result<bool> {
        let options = [("hoodie.table.name", "t"), ("hoodie.datasource.write.recordkey.field", "id")];
        let options = options.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        create_table_for_write(
            &TableLocation::new(folder, &StorageOptions::default()),
            WriteOperation::Upsert,
            &Schema::new(columns),
            &options,
        )
    }

    fn column(name: &str, ty: DataType) -> Field {
        Field::new(name, ty, true)
    }

    #[test]
    fn columns_that_cannot_be_written_create_no_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let nanos = DataType::Time64(TimeUnit::Nanosecond);
        let list = DataType::List(Arc::new(column("element", nanos.clone())));
        for (name, ty) in [("id", DataType::Int32), ("x", nanos), ("x", list)] {
            let error = create(path, vec![column("id", DataType::Utf8), column(name, ty)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.to_string().contains(name), "{error}");
            assert!(!folder.path().join(".hoodie").exists());
        }
    }

    #[test]
    fn a_table_that_was_not_written_to_forgets_its_columns() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let location = TableLocation::new(path, &StorageOptions::default());
        let columns = || vec![column("id", DataType::Utf8), column("a", DataType::Int32)];
        assert!(create(path, columns()).unwrap());
        assert!(!create(path, columns()).unwrap());
        let schema = || location.open_table(ReadOptions::default()).unwrap().config.create_schema.clone();
        assert!(schema().is_some());
        forget_schema(&location).unwrap();
        assert_eq!(schema(), None);
        forget_schema(&location).unwrap();
    }
}
