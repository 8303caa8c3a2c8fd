//! Deletes the metadata table, or partitions of it (`HoodieTable.maybeDeleteMetadataTable`).
//!
//! The table's properties come first: from then on, no reader uses what is deleted.

use std::sync::Arc;

use super::metadata_folder::ROOT;
use super::partition_kind::{COMPLETED, INFLIGHT, ListedPartitions};
use crate::commit::update_properties;
use crate::config::PropertiesFile;
use crate::error::Result;
use crate::storage::FileStore;

/// Deletes the metadata table. Returns true if the table's properties were changed.
///
/// # Errors
/// Those of the storage.
pub(super) fn drop_metadata_table(store: &Arc<dyn FileStore>, listed: &ListedPartitions) -> Result<bool> {
    if listed.is_empty() {
        return Ok(false);
    }
    update_properties(store.as_ref(), |properties| {
        properties.set(COMPLETED, "");
        if properties.get(INFLIGHT).is_some() {
            properties.set(INFLIGHT, "");
        }
        Ok(())
    })?;
    delete_below(store.as_ref(), ROOT)?;
    Ok(true)
}

/// Deletes partitions of the metadata table, by name.
///
/// # Errors
/// Those of the storage.
pub(super) fn drop_partitions(store: &Arc<dyn FileStore>, names: &[String]) -> Result<()> {
    let without = |properties: &mut PropertiesFile, key: &str| {
        let left = properties.properties().list(&[key]);
        let left: Vec<String> = left.into_iter().filter(|name| !names.contains(name)).collect();
        if properties.get(key).is_some() {
            properties.set(key, &left.join(","));
        }
    };
    update_properties(store.as_ref(), |properties| {
        without(properties, COMPLETED);
        without(properties, INFLIGHT);
        Ok(())
    })?;
    // Names are those of folders; one that is not would lead elsewhere.
    let is_folder = |name: &&String| !name.contains('/') && !name.starts_with('.');
    names.iter().filter(is_folder).try_for_each(|name| delete_below(store.as_ref(), &format!("{ROOT}/{name}")))
}

/// Deletes all files below a folder. The properties of the metadata table go first: without them it cannot be taken for one.
///
/// # Errors
/// `InvalidTable` if a link leads out of the table: nothing is deleted then; those of the storage.
pub(super) fn delete_below(store: &dyn FileStore, folder: &str) -> Result<()> {
    let mut paths: Vec<String> = store.list_recursively(folder)?.into_iter().map(|(path, _)| path).collect();
    paths.sort_by_key(|path| !path.ends_with("/hoodie.properties"));
    paths.iter().try_for_each(|path| store.check_removable(path))?;
    paths.iter().try_for_each(|path| store.delete(path))
}
