//! Merges files of one level of the history into one of the next (`LSMTimelineWriter.compactAndClean`), and deletes
//! files that no recent manifest names.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::lsm_history::{HistoryBase, HistoryWriter, put_file};
use crate::service_table::ServiceTable;
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_storage::FolderEntry;
use mortice_table::timeline::{HistoryFile, history_batches, manifest_files};

/// Manifests that stay, for readers that have begun.
const KEPT_MANIFESTS: usize = 3;
/// Files are merged up to this size altogether.
const LARGEST: u64 = 1 << 30;

/// Merges the oldest files of each level that has `batch` of them.
///
/// # Errors
/// What reading files may fail with; `WriteConflict` if another writer has changed the history since; those of the
/// storage. The history is whole at any time.
pub(super) fn compact(table: &ServiceTable, mut history: HistoryBase, batch: usize) -> Result<()> {
    let mut merged = 0_usize;
    for level in 0_u32.. {
        let is_of_level = |file: &&HistoryFile| level_of(&file.name) == Some(level);
        let mut of_level: Vec<HistoryFile> = history.files().iter().filter(is_of_level).cloned().collect();
        if of_level.len() < batch {
            break;
        }
        of_level.sort_by(|one, other| one.name.cmp(&other.name));
        let chosen = smallest_prefix(of_level, batch);
        let Some((least, greatest)) = times_of(&chosen).filter(|_| chosen.len() > 1) else { break };
        let content = merge(table, &chosen)?;
        let file = put_file(table, least, greatest, level.saturating_add(1), &content)?;
        let mut files: Vec<HistoryFile> =
            history.files().iter().filter(|file| !chosen.contains(file)).cloned().chain([file]).collect();
        files.sort_by(|one, other| one.name.cmp(&other.name));
        history = history.replaced_by(table, files)?;
        merged = merged.saturating_add(1);
    }
    delete_old(table, KEPT_MANIFESTS.saturating_add(merged))
}

/// At most `batch` files, together not larger than allowed.
fn smallest_prefix(files: Vec<HistoryFile>, batch: usize) -> Vec<HistoryFile> {
    let mut bytes = 0_u64;
    let mut chosen = Vec::new();
    for file in files.into_iter().take(batch) {
        bytes = bytes.saturating_add(file.len);
        if bytes > LARGEST {
            break;
        }
        chosen.push(file);
    }
    chosen
}

/// The level in a file's name, `<min>_<max>_<level>.parquet`.
fn level_of(name: &str) -> Option<u32> {
    name.strip_suffix(".parquet")?.rsplit('_').next()?.parse().ok()
}

/// The least and the greatest time in the names of files.
fn times_of(files: &[HistoryFile]) -> Option<(RequestedTime, RequestedTime)> {
    let times = |at: usize| files.iter().filter_map(move |file| RequestedTime::parse(file.name.split('_').nth(at)?));
    times(0).min().zip(times(1).max())
}

fn merge(table: &ServiceTable, files: &[HistoryFile]) -> Result<Bytes> {
    let mut writer = HistoryWriter::new()?;
    for file in files {
        for batch in history_batches(&*table.storage, &format!("{}/{}", table.config.archive_folder, file.name))? {
            writer.write(&batch?)?;
        }
    }
    writer.finish()
}

/// Deletes manifests but for the newest, and files that none of these names.
fn delete_old(table: &ServiceTable, kept_manifests: usize) -> Result<()> {
    let folder = &table.config.archive_folder;
    let names: Vec<String> = table
        .storage
        .list(folder)?
        .unwrap_or_default()
        .into_iter()
        .filter_map(|entry| match entry {
            FolderEntry::File(status) => Some(status.name),
            FolderEntry::Folder(_) => None,
        })
        .collect();
    let mut manifests: Vec<u64> =
        names.iter().filter_map(|name| name.strip_prefix("manifest_")?.parse().ok()).collect();
    manifests.sort_unstable_by(|one, other| other.cmp(one));
    let Some(oldest_kept) = manifests.get(..kept_manifests).and_then(<[u64]>::last).copied() else { return Ok(()) };
    if manifests.len() <= kept_manifests {
        return Ok(());
    }
    let mut kept = BTreeSet::new();
    for number in manifests.iter().filter(|number| **number >= oldest_kept) {
        kept.extend(manifest_files(&*table.storage, folder, *number)?.into_iter().map(|file| file.name));
    }
    let is_old = |name: &&String| match name.strip_prefix("manifest_").map(str::parse::<u64>) {
        Some(Ok(number)) => number < oldest_kept,
        _ => level_of(name).is_some() && !kept.contains(*name),
    };
    // Manifests first: none names a file that is gone.
    let (manifests, files): (Vec<&String>, Vec<&String>) =
        names.iter().filter(is_old).partition(|name| name.starts_with("manifest_"));
    manifests.into_iter().chain(files).try_for_each(|name| {
        let path = format!("{folder}/{name}");
        table.store.check_removable(&table.in_store(&path))?;
        table.delete(&path)
    })
}
