//! Deletes what the plan of a clean names. It may be repeated: files that are gone are no error.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::plan_file::CheckedPlan;
use crate::data_paths::DataPath;
use mortice_base::error::Result;
use mortice_base::progress::Progress;
use mortice_commit::commit::{CleanedFiles, CleanedPartition};
use mortice_storage::{FileStore, FolderEntry, parallel};
use mortice_table::file_group::files_of;

/// What marks a folder as a partition, after a dot.
const PARTITION_METADATA: &str = "hoodie_partition_metadata";

/// Deletes the files of a plan but for those that readers need.
///
/// Args:
///     store: The table's root.
///     plan: The plan.
///     needed: What readers need.
///     progress: Gets how much is done.
///
/// # Errors
/// `InvalidTable` if a file is no regular file below the table's base path: nothing is deleted then; those of the
/// storage.
pub(super) fn delete_files(
    store: &Arc<dyn FileStore>,
    plan: &CheckedPlan,
    needed: &BTreeSet<DataPath>,
    progress: &Progress,
) -> Result<CleanedFiles> {
    let paths: Vec<DataPath> = plan.files().filter(|path| !needed.contains(path)).collect();
    // Before the first is deleted.
    parallel::map(&paths, store.requests_at_once(), |path| store.check_removable(&path.path()))?;
    progress.begin(paths.len() as u64);
    parallel::map(&paths, store.requests_at_once(), |path| {
        store.delete(&path.path())?;
        progress.advance(1);
        Ok(())
    })?;
    let mut done = CleanedFiles::default();
    for path in paths {
        done.partitions.entry(path.partition).or_default().files.push(path.name);
    }
    Ok(done)
}

/// Deletes partitions of a plan that have no data file any more. The caller holds the lock and has made sure that
/// nobody writes.
pub(super) fn delete_partitions(
    store: &Arc<dyn FileStore>,
    partitions: &BTreeSet<String>,
    done: &mut CleanedFiles,
) -> Result<()> {
    for partition in partitions {
        if !files_of(store.as_ref(), partition)?.is_empty() {
            continue;
        }
        for entry in store.list(partition)?.unwrap_or_default() {
            let FolderEntry::File(status) = entry else { continue };
            // With the extension of base files in some tables, and with a checksum beside it.
            if status.name.trim_start_matches('.').starts_with(PARTITION_METADATA) {
                store.check_removable(&format!("{partition}/{}", status.name))?;
                store.delete(&format!("{partition}/{}", status.name))?;
            }
        }
        store.remove_empty_folders(partition)?;
        let cleaned = done.partitions.entry(partition.clone()).or_default();
        *cleaned = CleanedPartition { is_deleted: true, ..std::mem::take(cleaned) };
    }
    Ok(())
}
