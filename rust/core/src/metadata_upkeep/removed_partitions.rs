//! Partitions that a clean of Hudi 1.x has removed, and that are written to again.
//!
//! Such a clean deletes the key of the partition by a delete block. As long as the base file of the metadata table has a record of the
//! key, Hudi merges the next record of the partition over it, and finds files again that are gone (`HoodieMetadataPayload`). So that
//! record also has those files, as deleted.

use std::collections::{BTreeMap, BTreeSet};

use super::record_bytes::{Entries, FileEntry};
use crate::error::Result;
use crate::metadata_table::MetadataTable;

/// Adds to the entries of these partitions, by their names in the metadata table, the files that only base records still list.
///
/// # Errors
/// What reading the metadata table may fail with.
pub(super) fn mark_removed<'m>(
    files: &mut BTreeMap<String, Entries>,
    partitions: BTreeSet<String>,
    metadata: impl FnOnce() -> Result<&'m MetadataTable>,
) -> Result<()> {
    if partitions.is_empty() {
        return Ok(());
    }
    for (partition, removed) in metadata()?.removed_files(&partitions)? {
        let entries = files.entry(partition).or_default();
        for name in removed {
            entries.entry(name).or_insert(FileEntry::DELETED);
        }
    }
    Ok(())
}
