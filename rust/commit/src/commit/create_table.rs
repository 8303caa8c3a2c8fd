//! A new table in storage (`HoodieTableMetaClient.TableBuilder.initTable`).

use arrow_schema::Schema;
use bytes::Bytes;

use super::NewTable;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_merge::config::{PropertiesFile, TimelineLayout};
use mortice_storage::{FileStore, PutOutcome};

const PROPERTIES: &str = ".hoodie/hoodie.properties";

/// Creates a table. Its folder may hold other files, but no table.
///
/// The table exists once `hoodie.properties` does, which is created last and at once: a process that stops before
/// leaves no table.
///
/// # Errors
/// `AlreadyExists` if there is a table; as for [`NewTable::properties_file`]; those of the storage.
pub fn create_table(store: &dyn FileStore, table: &NewTable, columns: &Schema) -> Result<()> {
    create(store, table.version.layout(), &table.properties_file(columns)?)
}

/// Creates a table whose rows are in the files of another folder (`hoodie.bootstrap.base.path`).
///
/// # Errors
/// As for [`create_table`].
pub fn create_bootstrapped_table(
    store: &dyn FileStore,
    table: &NewTable,
    columns: &Schema,
    source: &str,
) -> Result<()> {
    let mut file = table.properties_file(columns)?;
    file.set("hoodie.bootstrap.base.path", source);
    match table.version.layout() {
        TimelineLayout::V1 => {
            file.set("hoodie.bootstrap.index.class", "org.apache.hudi.common.bootstrap.index.hfile.HFileBootstrapIndex")
        }
        TimelineLayout::V2 => file.set("hoodie.bootstrap.index.type", "HFILE"),
    }
    create(store, table.version.layout(), &file)
}

fn create(store: &dyn FileStore, layout: TimelineLayout, file: &PropertiesFile) -> Result<()> {
    let content = Bytes::from(file.to_hudi_bytes(store.time().now())?);
    let entries = store.list(".hoodie")?.unwrap_or_default();
    if entries.iter().any(|entry| matches!(entry.name(), "hoodie.properties" | "hoodie.properties.backup")) {
        return Err(exists(store));
    }
    for folder in folders(layout) {
        store.create_folder(folder)?;
    }
    match store.put_if_absent(PROPERTIES, &content)? {
        PutOutcome::Written(_) => Ok(()),
        PutOutcome::Refused => Err(exists(store)),
    }
}

/// The folders that Hudi creates. Hudi refuses a table whose timeline folder is missing, on storage that has folders.
fn folders(layout: TimelineLayout) -> &'static [&'static str] {
    match layout {
        TimelineLayout::V1 => {
            &[".hoodie/archived", ".hoodie/.temp", ".hoodie/.aux/.bootstrap/.partitions", ".hoodie/.schema"]
        }
        TimelineLayout::V2 => {
            &[".hoodie/timeline/history", ".hoodie/.temp", ".hoodie/.aux/.bootstrap/.partitions", ".hoodie/.schema"]
        }
    }
}

fn exists(store: &dyn FileStore) -> Error {
    Error::new(ErrorKind::AlreadyExists, "there is a table here already: open it with Table, or choose another path")
        .in_file(store.full_path(PROPERTIES))
}
