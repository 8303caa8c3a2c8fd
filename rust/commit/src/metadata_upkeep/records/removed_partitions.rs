//! Partitions that a clean of Hudi 1.x has removed, and that are written to again.
//!
//! Such a clean deletes the key of the partition by a delete block. As long as the base file of the metadata table has
//! a record of the key, Hudi merges the next record of the partition over it, and finds files again that are gone
//! (`HoodieMetadataPayload`). So that record also has those files, as deleted.

use std::collections::{BTreeMap, BTreeSet};

use super::record_bytes::{Entries, FileEntry};
use mortice_base::error::{ErrorKind, Result};
use mortice_table::metadata_table::MetadataTable;

/// Adds to the entries of these partitions, by their names in the metadata table, the files that only base records
/// still list. Nothing is added if the metadata table is damaged: up to table version 7 it can only be built again
/// after the rollback of failed writes.
pub(in crate::metadata_upkeep) fn mark_removed<'m>(
    files: &mut BTreeMap<String, Entries>,
    partitions: BTreeSet<String>,
    metadata: impl FnOnce() -> Result<&'m MetadataTable>,
) -> Result<()> {
    if partitions.is_empty() {
        return Ok(());
    }
    let removed = match metadata().and_then(|metadata| metadata.removed_files(&partitions)) {
        Err(error) if is_damage(error.kind()) => return Ok(()),
        removed => removed?,
    };
    for (partition, removed) in removed {
        let entries = files.entry(partition).or_default();
        for name in removed {
            entries.entry(name).or_insert(FileEntry::DELETED);
        }
    }
    Ok(())
}

/// Whether an error is one of the table's files, on which readers list storage instead, and no failure of the storage.
fn is_damage(kind: ErrorKind) -> bool {
    use ErrorKind::{CorruptLog, FileChanged, FileCleaned, InvalidTable, NotFound, Unsupported};
    matches!(kind, CorruptLog | FileChanged | FileCleaned | InvalidTable | NotFound | Unsupported)
}
