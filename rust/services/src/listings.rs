//! Files of partitions, each listed once.

use std::collections::BTreeMap;
use std::sync::Arc;

use mortice_base::error::{Error, Result};
use mortice_base::names::{LogFileName, RequestedTime};
use mortice_storage::{FileStatus, FileStore, FolderEntry, Storage};
use mortice_table::file_group::partitions;

/// Partitions that were listed.
pub(crate) struct Listings<'a> {
    store: &'a Arc<dyn FileStore>,
    known: BTreeMap<String, BTreeMap<String, FileStatus>>,
}

impl<'a> Listings<'a> {
    /// Of the table at the store's root.
    pub(crate) const fn new(store: &'a Arc<dyn FileStore>) -> Self {
        Self { store, known: BTreeMap::new() }
    }

    /// All partitions of the table.
    pub(crate) fn partitions(&self) -> Result<Vec<String>> {
        let place: Arc<dyn Storage> = Arc::<dyn FileStore>::clone(self.store);
        partitions(place.as_ref())
    }

    /// The files of a partition by name.
    pub(crate) fn files(&mut self, partition: &str) -> Result<&BTreeMap<String, FileStatus>> {
        if !self.known.contains_key(partition) {
            let entries = self.store.list(partition)?.unwrap_or_default();
            let files = entries.into_iter().filter_map(|entry| match entry {
                FolderEntry::File(status) => Some((status.name.clone(), status)),
                FolderEntry::Folder(_) => None,
            });
            self.known.insert(partition.to_owned(), files.collect());
        }
        self.known.get(partition).ok_or_else(|| Error::internal("a listing is lost"))
    }

    /// The log files of a slice, with their lengths.
    pub(crate) fn logs(
        &mut self,
        partition: &str,
        file_id: &str,
        base_instant: &RequestedTime,
    ) -> Result<Vec<(LogFileName, u64)>> {
        let files = self.files(partition)?;
        let named = files.values().filter_map(|status| Some((LogFileName::parse(&status.name)?, status.len)));
        let is_of_slice = |name: &LogFileName| name.file_id == file_id && name.instant == *base_instant;
        Ok(named.filter(|(name, _)| !name.is_native() && is_of_slice(name)).collect())
    }
}
