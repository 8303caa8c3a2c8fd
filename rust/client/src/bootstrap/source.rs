//! The files of the source of a bootstrap.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};

use mortice_avro as avro;
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::FieldNames;
use mortice_formats::base_file::{self, BaseBatches, BaseFile};
use mortice_storage::{Storage, parallel};

/// Rows that are read from a source file at once.
const BATCH_ROWS: usize = 8192;

/// A Parquet file of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourceFile {
    /// Its path from the source's folder.
    pub(super) path: String,
    /// Bytes.
    pub(super) len: u64,
    /// When it was modified, in milliseconds since the epoch.
    pub(super) modified_ms: i64,
    /// The columns that it has itself.
    columns: Fields,
}

impl SourceFile {
    /// The folder that it is in, from the source's folder.
    pub(super) fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Whether it has a column itself.
    pub(super) fn has_column(&self, name: &str) -> bool {
        self.columns.find(name).is_some()
    }
}

/// The source of a bootstrap: a folder of Parquet files.
pub(super) struct SourceFolder {
    storage: Arc<dyn Storage>,
    /// Its files, by path.
    pub(super) files: Vec<SourceFile>,
}

impl SourceFolder {
    /// Lists the Parquet files of a folder and reads their footers. Files and folders whose names begin with `_` or `.`
    /// are left out, as Spark does.
    ///
    /// # Errors
    /// `NotFound` if there is no Parquet file; those of a file that cannot be read; those of the storage.
    pub(super) fn open(storage: Arc<dyn Storage>) -> Result<Self> {
        let is_data = |path: &str| path.ends_with(".parquet") && !path.split('/').any(is_hidden);
        let listed: Vec<_> = storage.list_recursively("")?.into_iter().filter(|(path, _)| is_data(path)).collect();
        if listed.is_empty() {
            let error = Error::new(ErrorKind::NotFound, "the folder has no Parquet file to bootstrap a table from");
            return Err(error.in_file(storage.root()));
        }
        let threads = storage.requests_at_once().min(parallel::cores().saturating_mul(4));
        let files = parallel::map(&listed, threads, |(path, status)| {
            let columns = opened(&*storage, path)?.fields().unwrap_or_else(Fields::empty);
            Ok::<_, Error>(SourceFile { path: path.clone(), len: status.len, modified_ms: status.modified_ms, columns })
        })?;
        Ok(Self { storage, files })
    }

    /// The columns of all files, in the order in which the files name them; then the partition columns that only
    /// folders have, as strings. All may be null, as in tables that Hudi bootstraps.
    ///
    /// # Errors
    /// `InvalidArgument`, naming the file and the column, for a column that has different types in two files.
    pub(super) fn columns(&self, partition_columns: &[String]) -> Result<Schema> {
        let mut columns: Vec<FieldRef> = Vec::new();
        for file in &self.files {
            for field in &file.columns {
                let field = nullable(field);
                match columns.iter().find(|known| known.name() == field.name()) {
                    None => columns.push(field.into()),
                    Some(known) if known.data_type() == field.data_type() => {}
                    Some(known) => {
                        return Err(Error::invalid_argument(format!(
                            "column {:?} has the type {}, in other files {}; a table has one type for a column: write \
                             the files again with one type",
                            field.name(),
                            field.data_type(),
                            known.data_type()
                        ))
                        .in_file(self.storage.full_path(&file.path)));
                    }
                }
            }
        }
        let of_folders = partition_columns.iter().filter(|name| !columns.iter().any(|known| known.name() == *name));
        let of_folders: Vec<FieldRef> = of_folders.map(|name| Field::new(name, DataType::Utf8, true).into()).collect();
        columns.extend(of_folders);
        Ok(Schema::new(columns))
    }

    /// The rows of a file, with these columns of the table.
    ///
    /// # Errors
    /// Those of a file that cannot be read.
    pub(super) fn rows(&self, file: &SourceFile, table: &avro::Schema, wanted: &SchemaRef) -> Result<BaseBatches> {
        let read = || {
            let opened = base_file::read_as(opened(&*self.storage, &file.path)?, table, &FieldNames::default())?;
            opened.batches(wanted, BatchLimit::with_rows(BATCH_ROWS))
        };
        read().map_err(|error| error.in_file(self.full_path(file)))
    }

    /// The path or URI of a file.
    pub(super) fn full_path(&self, file: &SourceFile) -> String {
        self.storage.full_path(&file.path)
    }

    /// The URI of a file as Hudi's index has it: that of a local file has a scheme.
    pub(super) fn uri(&self, file: &SourceFile) -> String {
        let path = self.full_path(file);
        if path.starts_with('/') { format!("file:{path}") } else { path }
    }
}

fn opened(storage: &dyn Storage, path: &str) -> Result<Box<dyn BaseFile>> {
    let file = storage.open(path).and_then(base_file::open_parquet);
    file.map_err(|error| error.in_file(storage.full_path(path)))
}

/// Spark's rule (`HadoopFSUtils.shouldFilterOutPathName`): a folder `_a=1` is a partition.
fn is_hidden(name: &str) -> bool {
    name.starts_with('.') || (name.starts_with('_') && !name.contains('='))
}

/// A column as a table has it. Times in nanoseconds are those of `INT96`, which Spark reads as UTC in microseconds.
fn nullable(field: &Field) -> Field {
    let kind = match field.data_type() {
        DataType::Timestamp(TimeUnit::Nanosecond, _) => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        kind => kind.clone(),
    };
    Field::new(field.name(), kind, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_hidden() {
        let hidden: Vec<_> =
            ["_SUCCESS", ".crc", "_a=1", "a", "day=1"].into_iter().filter(|name| is_hidden(name)).collect();
        assert_eq!(hidden, ["_SUCCESS", ".crc"]);
    }
}
