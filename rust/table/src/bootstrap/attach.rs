//! Adds the source file to slices whose base file is a skeleton
//! (`AbstractTableFileSystemView.addBootstrapBaseFileIfPresent`).

use std::collections::HashMap;

use super::index::{BootstrapIndex, IndexedFile};
use crate::file_group::{BaseFile, BootstrapSource, FileSlice};
use mortice_base::error::{Error, Result};
use mortice_base::names::instant_time;
use mortice_merge::config::TableConfig;
use mortice_merge::keys::partition_path;
use mortice_storage::Storage;

/// Gives each slice with a skeleton its source. Of slices without skeletons, and of those that have their sources,
/// nothing is read.
///
/// # Errors
/// What [`BootstrapIndex`] says; `InvalidTable` where it does not know a skeleton.
pub fn attach<'a>(
    storage: &dyn Storage,
    config: &TableConfig,
    slices: impl IntoIterator<Item = &'a mut FileSlice>,
) -> Result<()> {
    let mut index: Option<BootstrapIndex> = None;
    let mut known: HashMap<String, HashMap<String, IndexedFile>> = HashMap::new();
    for slice in slices {
        let is_incomplete =
            |base: &&mut BaseFile| base.instant == instant_time::METADATA_BOOTSTRAP && base.source.is_none();
        let Some(base) = slice.base_file.as_mut().filter(is_incomplete) else { continue };
        let index = match &mut index {
            Some(index) => index,
            unopened => unopened.insert(BootstrapIndex::open(storage, config)?),
        };
        if !known.contains_key(&slice.partition) {
            known.insert(slice.partition.clone(), index.files_of(&slice.partition)?);
        }
        let found = known.get(&slice.partition).and_then(|files| files.get(&slice.file_id));
        let file = found.ok_or_else(|| {
            let message = "the bootstrap index has no entry for this skeleton file, so its source file is unknown";
            Error::invalid_table(message).in_file(storage.full_path(&base.path)).at_instant(&base.instant)
        })?;
        base.source = Some(Box::new(BootstrapSource {
            path: file.path.clone(),
            len: file.len,
            path_values: path_values(config, &slice.partition),
        }));
    }
    Ok(())
}

/// What the path says of the partition columns; nothing where it does not tell them.
fn path_values(config: &TableConfig, partition: &str) -> Vec<(String, Option<String>)> {
    let fields = &config.partition_fields;
    if fields.is_empty() {
        return Vec::new();
    }
    let values = partition_path::values(fields, partition, true).unwrap_or_default();
    fields.iter().cloned().zip(values).collect()
}
