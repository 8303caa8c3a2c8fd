//! Deletes the metadata table, or partitions of it (`HoodieTable.maybeDeleteMetadataTable`).
//!
//! The table's properties come first: from then on, no reader uses what is deleted.

use std::sync::Arc;

use crate::commit::update_properties;
use crate::metadata_upkeep::metadata_folder::ROOT;
use crate::metadata_upkeep::partition_kind::{COMPLETED, INFLIGHT, ListedPartitions, TO_REBUILD};
use crate::metadata_upkeep::records::indexed_columns::undefine_indexes;
use mortice_base::error::Result;
use mortice_merge::config::{Properties, PropertiesFile};
use mortice_storage::FileStore;

/// Deletes the metadata table of a table with these properties. With `is_rebuilt` they name its partitions until it is built again; a
/// deletion that was stopped may have left the name of others. Returns true if the table's properties were changed.
///
/// # Errors
/// Those of the storage.
pub(in crate::metadata_upkeep) fn drop_metadata_table(
    store: &Arc<dyn FileStore>,
    properties: &Properties,
    is_rebuilt: bool,
) -> Result<bool> {
    let listed = ListedPartitions::of_properties(properties);
    let is_remembered = !ListedPartitions::to_rebuild(properties).is_empty();
    if listed.is_empty() && (is_rebuilt || !is_remembered) {
        return Ok(false);
    }
    update_properties(store.as_ref(), |properties| {
        properties.set(COMPLETED, "");
        if properties.get(INFLIGHT).is_some() {
            properties.set(INFLIGHT, "");
        }
        if is_rebuilt {
            properties.set(TO_REBUILD, &listed.names().join(","));
        } else {
            properties.remove(TO_REBUILD);
        }
        Ok(())
    })?;
    delete_below(store.as_ref(), ROOT)?;
    Ok(true)
}

/// Deletes partitions of the metadata table, by name. The table's properties name those that are to be `rebuilt` until they are.
///
/// # Errors
/// Those of the storage.
pub(in crate::metadata_upkeep) fn drop_partitions(
    store: &Arc<dyn FileStore>,
    names: &[String],
    rebuilt: &[&str],
) -> Result<()> {
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
        without(properties, TO_REBUILD);
        let mut waiting = properties.properties().list(&[TO_REBUILD]);
        waiting.extend(rebuilt.iter().map(|name| (*name).to_owned()));
        if waiting.is_empty() {
            properties.remove(TO_REBUILD);
        } else {
            properties.set(TO_REBUILD, &waiting.join(","));
        }
        Ok(())
    })?;
    // Names are those of folders; one that is not would lead elsewhere.
    let is_folder = |name: &&String| !name.contains('/') && !name.starts_with('.');
    names.iter().filter(is_folder).try_for_each(|name| delete_below(store.as_ref(), &format!("{ROOT}/{name}")))
}

/// Takes the names of partitions that are to be built again out of the table's properties: another writer has built them.
///
/// # Errors
/// Those of the storage.
pub(in crate::metadata_upkeep) fn forget_rebuilt(store: &Arc<dyn FileStore>) -> Result<()> {
    let forget = |properties: &mut PropertiesFile| {
        properties.remove(TO_REBUILD);
        Ok(())
    };
    update_properties(store.as_ref(), forget).map(drop)
}

/// Deletes what is in the folder of the metadata table and is not of a partition that the table's properties name: deletions, and
/// partitions that were being built, may have been stopped. Call it under the table's lock.
///
/// # Errors
/// As for [`delete_below`].
pub(in crate::metadata_upkeep) fn delete_unlisted(store: &Arc<dyn FileStore>, listed: &ListedPartitions) -> Result<()> {
    if listed.is_empty() {
        return delete_below(store.as_ref(), ROOT);
    }
    let unlisted = listed.unlisted();
    unlisted.iter().try_for_each(|name| delete_below(store.as_ref(), &format!("{ROOT}/{name}")))?;
    undefine_indexes(store.as_ref(), &unlisted)
}

/// Deletes all files below a folder. The properties of the metadata table go first: without them it cannot be taken for one.
///
/// # Errors
/// `InvalidTable` if a link leads out of the table: nothing is deleted then; those of the storage.
pub(in crate::metadata_upkeep) fn delete_below(store: &dyn FileStore, folder: &str) -> Result<()> {
    let mut paths: Vec<String> = store.list_recursively(folder)?.into_iter().map(|(path, _)| path).collect();
    paths.sort_by_key(|path| !path.ends_with("/hoodie.properties"));
    paths.iter().try_for_each(|path| store.check_removable(path))?;
    paths.iter().try_for_each(|path| store.delete(path))
}
