//! The bootstrap index (`HFileBootstrapIndex`).
//!
//! ```text
//! .hoodie/.aux/.bootstrap/.partitions/00000000-0000-0000-0000-000000000000-0_1-0-1_00000000000001.hfile
//! part=<partition>  →  HoodieBootstrapPartitionMetadata, an Avro container: fileIdToBootstrapFile, a map of file statuses
//! info INDEX_INFO   →  HoodieBootstrapIndexInfo: bootstrapBasePath
//! ```
//! Beside it lies one by file id, which says the same. Keys of early writers go on with `//` and what HBase made of a
//! cell.
//!
//! The index holds whole URIs. Where the table's properties name another source folder than the index does, because the
//! source was moved or copied, its files are sought there.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, StructArray};

use mortice_avro::{ArrowMapping, Container};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_formats::hfile::HFile;
use mortice_merge::config::TableConfig;
use mortice_storage::Storage;

pub(super) const FILE: &str =
    ".hoodie/.aux/.bootstrap/.partitions/00000000-0000-0000-0000-000000000000-0_1-0-1_00000000000001.hfile";
pub(super) const INFO: &str = "INDEX_INFO";
/// The one class of an index that holds something.
const HFILE_INDEX: &str = "HFileBootstrapIndex";
/// What ends a key and begins what HBase made of it.
const BEHIND_KEY: &str = "//";

/// The index of a bootstrapped table.
pub struct BootstrapIndex {
    file: HFile,
    path: String,
    /// The source's folder when the index was written, and now.
    moved: Option<(String, String)>,
}

/// A file of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedFile {
    /// Path or URI.
    pub path: String,
    /// Bytes, when it was indexed.
    pub len: u64,
}

impl BootstrapIndex {
    /// Opens the index of a table.
    ///
    /// # Errors
    /// `InvalidTable` where there is none or it is damaged; `Unsupported` where the table has one of another class.
    pub fn open(storage: &dyn Storage, config: &TableConfig) -> Result<Self> {
        let class = config.properties.first_of(&["hoodie.bootstrap.index.class", "hoodie.bootstrap.index.type"]);
        if let Some(class) = class.filter(|class| !is_known(class)) {
            return Err(Error::unsupported(format!(
                "unsupported bootstrap index class {class} (supported: {HFILE_INDEX})"
            )));
        }
        let path = storage.full_path(FILE);
        let source = storage.open(FILE).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::invalid_table("the bootstrap index of a table with bootstrapped files is missing; restore it from a copy of the table"),
            _ => error,
        });
        let opened = source.and_then(HFile::open).map_err(|error| as_table_error(error).in_file(&path))?;
        let then = opened.info(INFO).map(base_path).transpose().map_err(|error| error.in_file(&path))?.flatten();
        let now = config.properties.first_of(&["hoodie.bootstrap.base.path"]).map(str::to_owned);
        let moved = then.zip(now).filter(|(then, now)| plain(then) != plain(now));
        Ok(Self { file: opened, path, moved })
    }

    /// The source files of a partition, by the file ids of their skeletons; empty for a partition without any.
    ///
    /// # Errors
    /// `InvalidTable` where the index is damaged.
    pub fn files_of(&self, partition: &str) -> Result<HashMap<String, IndexedFile>> {
        self.read(partition).map_err(|error| as_table_error(error).in_file(&self.path))
    }

    fn read(&self, partition: &str) -> Result<HashMap<String, IndexedFile>> {
        let key = format!("part={partition}");
        for cells in self.file.seek_prefixes(&[&key])? {
            let cells = cells?;
            for cell in &cells.cells {
                let found = String::from_utf8_lossy(cells.key(cell));
                let found = found.split_once(BEHIND_KEY).map_or(&*found, |(key, _)| key);
                let value = cells.value(cell);
                if found == key {
                    return self.files(value);
                }
            }
        }
        Ok(HashMap::new())
    }

    fn files(&self, container: &[u8]) -> Result<HashMap<String, IndexedFile>> {
        let record = record(container, "fileIdToBootstrapFile")?;
        let Some(map) = record.column_by_name("fileIdToBootstrapFile").filter(|map| map.is_valid(0)) else {
            return Ok(HashMap::new());
        };
        let unshaped = || Error::invalid_table("invalid entry of the bootstrap index: unexpected types of fields");
        let pairs = map.as_map_opt().ok_or_else(unshaped)?.value(0);
        let ids = pairs.column(0).as_string_opt::<i32>().ok_or_else(unshaped)?;
        let statuses = pairs.column(1).as_struct_opt().ok_or_else(unshaped)?;
        let column = |of: &StructArray, name: &str| of.column_by_name(name).cloned().ok_or_else(unshaped);
        let paths = column(statuses, "path")?;
        let uris = column(paths.as_struct_opt().ok_or_else(unshaped)?, "uri")?;
        let uris = uris.as_string_opt::<i32>().ok_or_else(unshaped)?;
        let lens = column(statuses, "length")?;
        let lens = lens.as_primitive_opt::<Int64Type>().ok_or_else(unshaped)?;
        let entry = |(at, id): (usize, Option<&str>)| {
            let uri = uris.is_valid(at).then(|| uris.value(at)).ok_or_else(unshaped)?;
            let len = if lens.is_valid(at) { u64::try_from(lens.value(at)).unwrap_or_default() } else { 0 };
            Ok((id.ok_or_else(unshaped)?.to_owned(), IndexedFile { path: self.now_at(uri), len }))
        };
        ids.iter().enumerate().map(entry).collect()
    }

    /// Where a file of the source lies now.
    fn now_at(&self, uri: &str) -> String {
        let Some((then, now)) = &self.moved else { return uri.to_owned() };
        match plain(uri).strip_prefix(plain(then)).filter(|rest| rest.starts_with('/')) {
            Some(rest) => format!("{}{rest}", now.trim_end_matches('/')),
            None => uri.to_owned(),
        }
    }
}

/// Classes by their last names, and the types that stand for them.
fn is_known(class: &str) -> bool {
    class.rsplit(['.', '$']).next() == Some(HFILE_INDEX) || class == "HFILE"
}

/// A path without the scheme that says that it is local.
fn plain(uri: &str) -> &str {
    let path = uri.strip_prefix("file:").unwrap_or(uri);
    let path = if path.starts_with("///") { path.get(2..).unwrap_or(path) } else { path };
    path.trim_end_matches('/')
}

fn base_path(container: &[u8]) -> Result<Option<String>> {
    let record = record(container, "bootstrapBasePath")?;
    let column = record.column_by_name("bootstrapBasePath").and_then(|column| column.as_string_opt::<i32>());
    Ok(column.filter(|column| column.is_valid(0)).map(|column| column.value(0).to_owned()))
}

/// The one record of a container, with one of its fields.
fn record(container: &[u8], field: &str) -> Result<StructArray> {
    let batch = Container::open(container)?.read(Some(&[field]), ArrowMapping::File)?;
    if batch.num_rows() == 1 {
        return Ok(StructArray::from(batch));
    }
    Err(Error::invalid_table(format!(
        "invalid entry of the bootstrap index: expected one record, found {}",
        batch.num_rows()
    )))
}

fn as_table_error(error: Error) -> Error {
    if error.kind() == ErrorKind::CorruptLog { error.with_kind(ErrorKind::InvalidTable) } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_paths_have_many_forms() {
        for uri in ["/a/b", "file:/a/b", "file:///a/b/", "/a/b/"] {
            assert_eq!(plain(uri), "/a/b");
        }
        assert_eq!(plain("s3://a/b"), "s3://a/b");
    }

    #[test]
    fn classes_of_indexes() {
        for known in ["org.apache.hudi.common.bootstrap.index.hfile.HFileBootstrapIndex", "HFILE"] {
            assert!(is_known(known));
        }
        assert!(!is_known("org.acme.HFileBootstrapIndexes") && !is_known("NO_OP"));
    }
}
