//! What a path is that has no Hudi table, for the error that says so: a table of another format, a file, a partition of
//! a table, or a path of another system.

use mortice_base::error::Error;
use mortice_storage::{self as storage, FolderEntry, Storage, StorageOptions};

/// The properties of a table, whose file makes a folder a table.
pub(super) const MAIN: &str = ".hoodie/hoodie.properties";

/// The error for a path without a table.
pub(super) fn no_table(storage: &dyn Storage) -> Error {
    let root = storage.root();
    let message = match table_above(root) {
        Some(table) => format!("{MAIN} does not exist; open {table}, which is a table, and filter by partition"),
        None => of_another_system(root).or_else(|| of_another_format(storage)).unwrap_or_else(|| {
            format!("{MAIN} does not exist; give the base path of a table, the directory that contains .hoodie")
        }),
    };
    Error::not_found(format!("no Hudi table at this path: {message}")).in_file(root)
}

/// The nearest table whose folder holds `path`, for paths of partitions and of `.hoodie` itself.
fn table_above(path: &str) -> Option<String> {
    if is_remote(path) {
        return None;
    }
    let mut path = path.trim_end_matches('/');
    while let Some((above, _)) = path.rsplit_once('/').filter(|(above, _)| !above.is_empty() && !above.ends_with(':')) {
        let storage = storage::open(above, &StorageOptions::new(), true).ok()?;
        if storage.open(MAIN).is_ok() {
            return Some(above.to_owned());
        }
        path = above;
    }
    None
}

fn is_remote(path: &str) -> bool {
    path.contains("://") && !path.starts_with("file://")
}

/// What to do about a path as another system has them.
fn of_another_system(root: &str) -> Option<String> {
    if let Some(path) = root.strip_prefix("dbfs:/") {
        let path = path.trim_start_matches('/');
        return Some(format!("dbfs:/ is a path of Databricks, whose clusters mount it: open /dbfs/{path}"));
    }
    let (folder, name) = root.rsplit_once('/').unwrap_or(("", root));
    let drive = name.as_bytes();
    if drive.first().is_some_and(u8::is_ascii_alphabetic) && drive.get(1..3) == Some(b":\\") {
        return Some("it is a path of Windows; of WSL's drives, C:\\lake is /mnt/c/lake".to_owned());
    }
    if folder.contains('*') || name.contains('*') {
        return Some("names are not matched with *: give the base path of one table".to_owned());
    }
    None
}

/// What is at the path instead, by the names that are in it. Nothing is said where it cannot be listed.
fn of_another_format(storage: &dyn Storage) -> Option<String> {
    let root = storage.root();
    let is_file = if is_remote(root) { is_parquet(root) } else { is_local_file(root) };
    if is_file {
        return Some(file(root));
    }
    let entries = storage.list("").ok().flatten()?;
    let has_folder =
        |wanted: &str| entries.iter().any(|one| matches!(one, FolderEntry::Folder(name) if name == wanted));
    if has_folder("_delta_log") {
        return Some("it is a Delta table; deltalake.DeltaTable reads it".to_owned());
    }
    if has_folder("metadata") && has_metadata_of_iceberg(storage) {
        return Some("it is an Iceberg table; pyiceberg reads it".to_owned());
    }
    let is_parquet = |one: &FolderEntry| matches!(one, FolderEntry::File(file) if is_parquet(&file.name));
    if entries.iter().any(is_parquet) {
        return Some(
            "it is a folder of Parquet files; pyarrow.dataset reads them, mortice.create_table makes a table of rows"
                .to_owned(),
        );
    }
    None
}

fn has_metadata_of_iceberg(storage: &dyn Storage) -> bool {
    let entries = storage.list("metadata").ok().flatten().unwrap_or_default();
    entries.iter().any(|one| one.name().ends_with(".metadata.json"))
}

fn is_local_file(path: &str) -> bool {
    storage::open_file(path, &StorageOptions::new(), false).is_ok()
}

fn file(root: &str) -> String {
    if is_parquet(root) {
        return "it is a Parquet file; pyarrow.parquet.read_table reads it, mortice.create_table makes a table of rows"
            .to_owned();
    }
    "it is a file; give the base path of a table, the directory that contains .hoodie".to_owned()
}

fn is_parquet(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("parquet"))
}
