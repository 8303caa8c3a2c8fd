//! The files of a table that say where the keys of a bucket index are, and which of them an instant has made: they are
//! undone with it.

use std::collections::BTreeSet;

use mortice_base::error::Result;
use mortice_storage::FileStore;

/// The folder of the numbers of buckets by partition.
pub(super) const CONFIG_FOLDER: &str = ".hoodie/.bucket_index/partition_bucket_index_meta/configs";
pub(super) const CONFIG_SUFFIX: &str = ".hashing_config";
/// The folder of the rings of consistent hashing, which has a folder for each partition.
pub(super) const RING_FOLDER: &str = ".hoodie/.bucket_index/consistent_hashing_metadata";
pub(super) const RING_SUFFIX: &str = ".hashing_meta";
/// An empty file beside that of a ring: the instant that has made it is completed.
pub(super) const COMMIT_SUFFIX: &str = ".commit";

/// The folder of a partition's rings.
pub(super) fn ring_folder(partition: &str) -> String {
    if partition.is_empty() { RING_FOLDER.to_owned() } else { format!("{RING_FOLDER}/{partition}") }
}

/// Deletes what an instant, which is rolled back, has said of the buckets of these partitions: Hudi would take it for
/// committed once the instant is off the timeline (`getCommittedHashingConfigInstants`, `recommitMetadataFile`).
///
/// # Errors
/// Those of the store.
pub fn delete_hashing_files(store: &dyn FileStore, instant: &str, partitions: &BTreeSet<String>) -> Result<()> {
    if store.list(".hoodie/.bucket_index")?.is_none_or(|entries| entries.is_empty()) {
        return Ok(());
    }
    store.delete(&format!("{CONFIG_FOLDER}/{instant}{CONFIG_SUFFIX}"))?;
    for partition in partitions {
        let folder = ring_folder(partition);
        store.delete(&format!("{folder}/{instant}{COMMIT_SUFFIX}"))?;
        store.delete(&format!("{folder}/{instant}{RING_SUFFIX}"))?;
    }
    Ok(())
}
