//! Which listing a plan goes by: the metadata table's, where it is there and sound, or the storage's.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::file_slices::Listing;
use super::metadata;
use super::partition_filter::PartitionFilter;
use crate::config::{ReadOptions, TableConfig};
use crate::error::{Error, Result};
use crate::file_group::{PartitionFiles, list_where};
use crate::metadata_table::{FILES, Listed, MetadataTable};
use crate::storage::{Place, StorageOptions};
use crate::timeline::Timeline;

/// A table whose files are to be listed.
pub(super) struct Lister<'a> {
    /// The table.
    pub uri: &'a str,
    /// How to reach it.
    pub storage: &'a StorageOptions,
    /// The same, open.
    pub place: &'a Arc<dyn Place>,
    /// What it says of itself.
    pub config: &'a TableConfig,
    /// Its timeline.
    pub timeline: &'a Timeline,
    /// How it is read.
    pub options: &'a ReadOptions,
    /// Its metadata table, opened once.
    pub metadata: &'a OnceLock<std::result::Result<MetadataTable, Arc<Error>>>,
}

impl<'a> Lister<'a> {
    /// Whether the table has this partition of a metadata table, complete.
    #[must_use]
    pub(super) fn has(&self, partition: &str) -> bool {
        self.config.metadata_partitions.iter().any(|one| one == partition)
    }

    /// Its metadata table; opened when it is first asked for.
    ///
    /// # Errors
    /// As for [`metadata::open`].
    pub(super) fn metadata_table(&self) -> std::result::Result<&'a MetadataTable, Arc<Error>> {
        let open =
            || metadata::open((self.uri, self.place), self.storage, self.timeline, self.options).map_err(Arc::new);
        self.metadata.get_or_init(open).as_ref().map_err(Arc::clone)
    }

    /// The files of every wanted partition, and where they were listed.
    ///
    /// # Errors
    /// What listing storage may fail with, where it comes to that.
    pub(super) fn list(&self, wanted: Option<&PartitionFilter>) -> Result<(Listed, Listing)> {
        let listing = if !self.has(FILES) {
            Listing::Storage
        } else if !self.options.metadata {
            Listing::MetadataTableOff
        } else {
            let choose = wanted.map(|wanted| |paths: &[&str]| wanted.may_match(paths));
            let list = |metadata: &MetadataTable| metadata.list(choose.as_ref().map(|choose| choose as _));
            match self.metadata_table().and_then(|metadata| list(metadata).map_err(Arc::new)) {
                Ok(listed) => return Ok((listed, Listing::MetadataTable)),
                Err(error) => Listing::MetadataTableFailed(error),
            }
        };
        Ok((self.list_storage(wanted)?, listing))
    }

    fn list_storage(&self, wanted: Option<&PartitionFilter>) -> Result<Listed> {
        let left_out = AtomicUsize::new(0);
        let listed = list_where(self.place.as_ref(), &|folder| {
            let excluded = wanted.is_some_and(|wanted| wanted.excludes_folder(folder));
            left_out.fetch_add(usize::from(excluded), Ordering::Relaxed);
            !excluded
        })?;
        let mut left_out = left_out.into_inner();
        let paths: Vec<&str> = listed.iter().map(|files| files.partition.as_str()).collect();
        let kept = wanted.map_or_else(|| Ok(vec![true; paths.len()]), |wanted| wanted.may_match(&paths))?;
        let all = listed.len();
        let files: Vec<PartitionFiles> =
            listed.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(files, _)| files).collect();
        left_out += all - files.len();
        Ok(Listed { files, left_out })
    }
}
