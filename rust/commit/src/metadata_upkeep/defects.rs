//! What makes a metadata table one that cannot be maintained: it is gone, damaged, or behind the table.
//!
//! | defect | found by |
//! |---|---|
//! | no properties, or ones that cannot be read; a timeline that cannot be read | opening it |
//! | a completed write of the table's active timeline is missing | [`check_complete`] |
//! | a partition that the table's properties name has no file groups, or others than Hudi's | a listing of its folder |
//! | the list of files lacks a base file or a log | [`check_log_files`] |
//!
//! Records that were written to such a metadata table would hide the rows of the files that it lacks: it would have the
//! table's newest write, and look complete. So it is built again from a listing of the table, or the write is refused
//! ([`METADATA_REBUILD_UNUSABLE`]). Damage within a file is found by the readers, which list the storage then.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::build::drop_metadata_table::drop_metadata_table;
use super::metadata_folder::{MetadataFolder, is_defect};
use super::options::MetadataOptions;
use super::partition_kind::{ListedPartitions, PartitionKind};
use super::upkeep::MetadataUpkeep;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_merge::config::option_names::METADATA_REBUILD_UNUSABLE;
use mortice_storage::{FileStore, parallel};
use mortice_table::file_group::{FileSystemView, PartitionFiles};
use mortice_table::metadata_table::{check_complete, check_log_files};
use mortice_table::plan::OpenTable;
use mortice_table::timeline::Timeline;

/// The metadata table of a table, as a write finds it.
pub enum FoundMetadata {
    /// The table has none, or one that can be maintained.
    Sound(Option<Box<MetadataUpkeep>>),
    /// It has one that cannot be maintained, with what is wrong.
    Unusable(Error),
}

impl MetadataUpkeep {
    /// Opens the metadata table as [`Self::open`] does, and makes sure that it can be maintained. Call it under the
    /// table's lock: without it a write that is being completed may have reached one of the two.
    ///
    /// # Errors
    /// `Unsupported`, by name, as for [`Self::open`]; those of the storage, which say nothing of the metadata table.
    pub fn find(
        store: &Arc<dyn FileStore>,
        table: &Arc<OpenTable>,
        options: &MetadataOptions,
    ) -> Result<FoundMetadata> {
        let Some(listed) = Self::listed(store.as_ref(), table, options)? else { return Ok(FoundMetadata::Sound(None)) };
        let found = MetadataFolder::open(store).and_then(|folder| {
            check(&folder, &table.timeline, &listed)?;
            Ok(folder)
        });
        match found {
            Ok(folder) => {
                let sound = Self::of_folder(folder, table, options, listed)?;
                Ok(FoundMetadata::Sound(Some(Box::new(sound))))
            }
            Err(error) if is_defect(&error) => Ok(FoundMetadata::Unusable(error)),
            Err(error) => Err(error),
        }
    }

    /// Deletes a metadata table that cannot be maintained. The table's properties name its partitions until it is built
    /// again ([`Self::initialize`], [`Self::rebuild_dropped`]); readers list the storage meanwhile. Call it under the
    /// table's lock, and open the table again.
    ///
    /// # Errors
    /// `InvalidTable`, with the defect and what to do, if options say that it is not to be built again; those of the
    /// storage.
    pub fn drop_unusable(
        store: &Arc<dyn FileStore>,
        table: &OpenTable,
        options: &MetadataOptions,
        defect: Option<&str>,
    ) -> Result<()> {
        let is_rebuilt = options.is_enabled();
        if is_rebuilt && !options.rebuilds_unusable() {
            return Err(Error::invalid_table(format!(
                "the metadata table cannot be maintained, and {METADATA_REBUILD_UNUSABLE} is false: build it again, with \
                 Table.build_metadata(rebuild=True) or `mortice metadata build --rebuild`; {}",
                defect.unwrap_or_default()
            )));
        }
        table.check_nothing_is_registered()?;
        drop_metadata_table(store, &table.config.properties, is_rebuilt).map(drop)
    }
}

/// Makes sure that a metadata table has what a write of the table builds upon.
fn check(folder: &MetadataFolder, table: &Timeline, listed: &ListedPartitions) -> Result<()> {
    check_complete(table, &folder.timeline)?;
    let kinds: Vec<PartitionKind> = listed.known.iter().cloned().collect();
    let threads = folder.store().requests_at_once();
    let found = parallel::map(&kinds, threads, |kind| {
        let files = folder.files(kind)?;
        folder.checked_file_ids(kind, &files).map(|_| (kind.clone(), files))
    })?;
    match found.iter().find(|(kind, _)| *kind == PartitionKind::Files) {
        Some((_, files)) => check_listing(folder, table, files),
        None => Ok(()),
    }
}

/// Makes sure that the list of files has all its files.
fn check_listing(folder: &MetadataFolder, table: &Timeline, files: &PartitionFiles) -> Result<()> {
    let slices = FileSystemView::new(&folder.timeline, &folder.config, None)?.slices(files)?;
    let written: BTreeSet<RequestedTime> = table.completed_writes().map(|write| write.requested_time.clone()).collect();
    check_log_files(files, &slices, &folder.timeline, &written)
}
