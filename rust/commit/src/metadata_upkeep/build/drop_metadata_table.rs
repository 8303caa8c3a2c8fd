//! Deletes the metadata table, or partitions of it (`HoodieTable.maybeDeleteMetadataTable`).
//!
//! The table's properties come first: from then on, no reader uses what is deleted.

use std::sync::Arc;

use crate::commit::update_properties;
use crate::metadata_upkeep::metadata_folder::ROOT;
use crate::metadata_upkeep::partition_kind::{COMPLETED, INFLIGHT, ListedPartitions, PartitionKind, TO_REBUILD};
use crate::metadata_upkeep::records::indexed_columns::undefine_indexes;
use mortice_base::error::Result;
use mortice_merge::config::{Properties, PropertiesFile};
use mortice_storage::FileStore;

/// Deletes the metadata table of a table with these properties. With `is_rebuilt` they name its partitions until it is
/// built again; a deletion that was stopped may have left the name of others. Returns true if the table's properties
/// were changed.
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

/// Deletes partitions of the metadata table, by name. The table's properties name those that are to be `rebuilt` until
/// they are.
pub(in crate::metadata_upkeep) fn drop_partitions(
    store: &Arc<dyn FileStore>,
    names: &[String],
    rebuilt: &[String],
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
        waiting.extend(rebuilt.iter().cloned());
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

/// Takes the names of partitions that are to be built again out of the table's properties: another writer has built
/// them.
pub(in crate::metadata_upkeep) fn forget_rebuilt(store: &Arc<dyn FileStore>) -> Result<()> {
    let forget = |properties: &mut PropertiesFile| {
        properties.remove(TO_REBUILD);
        Ok(())
    };
    update_properties(store.as_ref(), forget).map(drop)
}

/// Deletes what is in the folder of the metadata table and is not of a partition that the table's properties name:
/// deletions, and partitions that were being built, may have been stopped. Call it under the table's lock.
pub(in crate::metadata_upkeep) fn delete_unlisted(store: &Arc<dyn FileStore>, listed: &ListedPartitions) -> Result<()> {
    if listed.is_empty() {
        return delete_below(store.as_ref(), ROOT);
    }
    let mut unlisted = listed.unlisted();
    // Secondary indexes have names of their own.
    let entries = store.list(ROOT)?.unwrap_or_default();
    let kinds = entries.iter().filter_map(|entry| PartitionKind::named(entry.name()));
    let left = kinds.filter(|kind| matches!(kind, PartitionKind::SecondaryIndex(_)) && !listed.known.contains(kind));
    unlisted.extend(left.map(|kind| kind.folder().to_owned()));
    unlisted.iter().try_for_each(|name| delete_below(store.as_ref(), &format!("{ROOT}/{name}")))?;
    undefine_indexes(store.as_ref(), &unlisted)
}

/// Deletes all files below a folder. The properties of the metadata table go first: without them it cannot be taken for
/// one.
///
/// # Errors
/// `InvalidTable` if a link leads out of the table: nothing is deleted then; those of the storage.
pub(in crate::metadata_upkeep) fn delete_below(store: &dyn FileStore, folder: &str) -> Result<()> {
    let mut paths: Vec<String> = store.list_recursively(folder)?.into_iter().map(|(path, _)| path).collect();
    paths.sort_by_key(|path| !path.ends_with("/hoodie.properties"));
    paths.iter().try_for_each(|path| store.check_removable(path))?;
    paths.iter().try_for_each(|path| store.delete(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use mortice_storage::LocalStorage;
    use mortice_storage::failing_store::FailingStore;

    const FILES: [&str; 6] = [
        ".hoodie/metadata/.hoodie/hoodie.properties",
        ".hoodie/metadata/.hoodie/timeline/1.deltacommit.requested",
        ".hoodie/metadata/column_stats/a",
        ".hoodie/metadata/files/.hoodie_partition_metadata",
        ".hoodie/metadata/files/b",
        "p/data",
    ];

    /// A table with these properties of its metadata table.
    fn table(completed: &str, more: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        FILES.iter().for_each(|path| drop(store.put(path, &Bytes::from_static(b"x"), None).unwrap()));
        let entries = [("hoodie.table.name", "t"), ("hoodie.table.version", "9"), (COMPLETED, completed)];
        let properties: PropertiesFile = entries.into_iter().chain(more.iter().copied()).collect();
        let bytes = Bytes::from(properties.to_hudi_bytes(chrono::DateTime::UNIX_EPOCH).unwrap());
        store.put(".hoodie/hoodie.properties", &bytes, None).unwrap();
        folder
    }

    fn store(folder: &tempfile::TempDir) -> Arc<dyn FileStore> {
        Arc::new(LocalStorage::new(&folder.path().to_string_lossy(), true))
    }

    fn properties(folder: &tempfile::TempDir) -> Properties {
        let bytes = std::fs::read(folder.path().join(".hoodie/hoodie.properties")).unwrap();
        PropertiesFile::parse(&bytes).unwrap().properties().clone()
    }

    fn lists(folder: &tempfile::TempDir) -> [Vec<String>; 3] {
        let properties = properties(folder);
        [COMPLETED, INFLIGHT, TO_REBUILD].map(|name| properties.list(&[name]))
    }

    fn left(folder: &tempfile::TempDir) -> Vec<&'static str> {
        FILES.into_iter().filter(|path| folder.path().join(path).exists()).collect()
    }

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn partitions_leave_all_lists_and_those_to_build_again_are_remembered() {
        let folder =
            table("files,column_stats,record_index", &[(INFLIGHT, "bloom_filters"), (TO_REBUILD, "column_stats")]);
        drop_partitions(&store(&folder), &owned(&["column_stats", "bloom_filters"]), &owned(&["bloom_filters"]))
            .unwrap();
        let expected = [owned(&["files", "record_index"]), Vec::new(), owned(&["bloom_filters"])];
        assert_eq!(lists(&folder), expected);
        assert!(!left(&folder).contains(&FILES[2]) && left(&folder).len() == 5);
        drop_partitions(&store(&folder), &owned(&["record_index", "bloom_filters"]), &[]).unwrap();
        assert_eq!(lists(&folder), [owned(&["files"]), Vec::new(), Vec::new()]);
        assert!(properties(&folder).get(TO_REBUILD).is_none());
    }

    /// A name of the properties that leads out of the metadata table's folder: nothing there is a partition of it.
    #[test]
    fn names_that_are_no_folders_delete_nothing() {
        for name in ["../../p", ".hoodie", "files/../../../p", "."] {
            let folder = table(&format!("files,{name}"), &[]);
            drop_partitions(&store(&folder), &owned(&[name]), &[]).unwrap();
            assert_eq!(left(&folder), FILES, "{name}");
            assert_eq!(lists(&folder)[0], ["files"], "{name}");
        }
    }

    /// From the first change on no reader uses what is deleted; what remains of it is no metadata table.
    #[test]
    fn the_table_s_properties_come_first_and_then_those_of_the_metadata_table() {
        for (limit, is_listed, has_properties) in [(0, true, true), (1, false, true), (2, false, false)] {
            let folder = table("files,column_stats", &[]);
            let local = LocalStorage::new(&folder.path().to_string_lossy(), true);
            let failing: Arc<dyn FileStore> = Arc::new(FailingStore::new(local, limit, false));
            let before = properties(&folder);
            assert!(drop_metadata_table(&failing, &before, true).is_err());
            assert_eq!(lists(&folder)[0].is_empty(), !is_listed, "{limit}");
            assert_eq!(left(&folder).contains(&FILES[0]), has_properties, "{limit}");
            assert!(left(&folder).contains(&FILES[4]), "{limit}");
            // The next one goes on: the properties do not name it any more.
            delete_unlisted(&store(&folder), &ListedPartitions::of_properties(&properties(&folder))).unwrap();
            assert_eq!(left(&folder), if is_listed { FILES.to_vec() } else { vec![FILES[5]] }, "{limit}");
        }
    }

    #[test]
    fn a_table_without_a_metadata_table_is_left_alone_unless_one_is_remembered() {
        let folder = table("", &[]);
        for is_rebuilt in [false, true] {
            assert!(!drop_metadata_table(&store(&folder), &properties(&folder), is_rebuilt).unwrap());
            assert_eq!(left(&folder), FILES);
        }
        let folder = table("", &[(TO_REBUILD, "files")]);
        assert!(!drop_metadata_table(&store(&folder), &properties(&folder), true).unwrap());
        assert_eq!(lists(&folder)[2], ["files"], "what an earlier deletion remembers is not forgotten");
        assert!(drop_metadata_table(&store(&folder), &properties(&folder), false).unwrap());
        assert!(properties(&folder).get(TO_REBUILD).is_none());
    }
}
