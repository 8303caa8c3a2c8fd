//! Selects the source of file listings: the metadata table if it exists and is complete, otherwise storage.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::file_slices::ListingSource;
use super::metadata;
use super::partition_filter::PartitionFilter;
use super::registered_files::check_listed;
use crate::file_group::{PartitionFiles, StorageListing, list_where};
use crate::metadata_table::{ChoosePartitions, EachPartition, FILES, MetadataTable, PartitionListing};
use crate::timeline::Timeline;
use mortice_base::error::{Error, Result};
use mortice_merge::config::{ReadOptions, TableConfig};
use mortice_storage::{Storage, StorageOptions};

/// A table whose files are listed.
pub(in crate::plan) struct Lister<'a> {
    /// The URI of the table.
    pub uri: &'a str,
    /// The storage options.
    pub storage_options: &'a StorageOptions,
    /// The storage of the table.
    pub storage: &'a Arc<dyn Storage>,
    /// The properties of the table.
    pub config: &'a TableConfig,
    /// The timeline of the table.
    pub timeline: &'a Timeline,
    /// The read options.
    pub options: &'a ReadOptions,
    /// The metadata table, opened once.
    pub metadata: &'a OnceLock<std::result::Result<MetadataTable, Arc<Error>>>,
}

impl<'a> Lister<'a> {
    /// Whether the table has this partition of a metadata table, complete.
    #[must_use]
    pub(in crate::plan) fn has(&self, partition: &str) -> bool {
        self.config.metadata_partitions.iter().any(|one| one == partition)
    }

    /// Returns the metadata table, which is opened on first use.
    pub(in crate::plan) fn metadata_table(&self) -> std::result::Result<&'a MetadataTable, Arc<Error>> {
        let open = || {
            metadata::open((self.uri, self.storage), self.storage_options, self.timeline, self.options)
                .map_err(Arc::new)
        };
        self.metadata.get_or_init(open).as_ref().map_err(Arc::clone)
    }

    /// Returns what `each` makes of the files of the selected partitions, and the source of the listing. If the
    /// metadata table cannot be used, `each` may have been called with some of its partitions.
    pub(in crate::plan) fn list<T: Send>(
        &self,
        wanted: Option<&PartitionFilter>,
        each: EachPartition<'_, T>,
    ) -> Result<(PartitionListing<T>, ListingSource)> {
        let listing = if !self.has(FILES) {
            ListingSource::Storage
        } else if !self.options.metadata {
            ListingSource::MetadataTableOff
        } else {
            let choose = wanted.map(|wanted| |paths: &[&str]| wanted.may_match(paths));
            let choose: Option<ChoosePartitions<'_>> = choose.as_ref().map(|choose| choose as _);
            match self.metadata_table().and_then(|table| table.list_each(choose, each).map_err(Arc::new)) {
                Ok(listed) => return Ok((listed, ListingSource::MetadataTable)),
                Err(error) => ListingSource::MetadataTableFailed(error),
            }
        };
        Ok((self.list_storage(wanted, each)?, listing))
    }

    fn list_storage<T>(
        &self,
        wanted: Option<&PartitionFilter>,
        each: EachPartition<'_, T>,
    ) -> Result<PartitionListing<T>> {
        let left_out = AtomicUsize::new(0);
        let StorageListing { partitions: listed, unknown } = list_where(self.storage.as_ref(), &|folder| {
            let excluded = wanted.is_some_and(|wanted| wanted.excludes_folder(folder));
            left_out.fetch_add(usize::from(excluded), Ordering::Relaxed);
            !excluded
        })?;
        let lacks_files = self.has(FILES) && listed.iter().all(PartitionFiles::is_empty);
        check_listed(self.timeline, unknown.is_some(), lacks_files)?;
        let mut left_out = left_out.into_inner();
        let paths: Vec<&str> = listed.iter().map(|files| files.partition.as_str()).collect();
        let kept = wanted.map_or_else(|| Ok(vec![true; paths.len()]), |wanted| wanted.may_match(&paths))?;
        let all = listed.len();
        let kept = listed.into_iter().zip(kept).filter(|(_, kept)| *kept);
        let files: Vec<T> = kept.map(|(files, _)| each(files)).collect();
        left_out += all - files.len();
        Ok(PartitionListing { files, left_out })
    }
}
