//! What runs on a metadata table before a write, and in what order.

use std::sync::Arc;

use super::compact::MetadataCompaction;
use super::options::MetadataServiceOptions;
use super::{archive, clean};
use crate::service_table::ServiceTable;
use mortice_base::error::{ErrorKind, Result};
use mortice_commit::commit::Clock;
use mortice_commit::metadata_upkeep::maintained_partitions;
use mortice_merge::config::TableConfig;
use mortice_storage::FileStore;
use mortice_table::timeline::Timeline;

/// The services of the metadata table of a table.
pub struct MetadataServices<'a> {
    /// The table's root.
    pub store: &'a Arc<dyn FileStore>,
    /// The table.
    pub config: &'a TableConfig,
    /// Its timeline, read under the lock after failed writes were rolled back.
    pub timeline: &'a Timeline,
    /// Generates the times of instants.
    pub clock: &'a Clock,
    /// When they are due, and what they keep.
    pub options: &'a MetadataServiceOptions,
}

impl MetadataServices<'_> {
    /// Runs what is due, by the timeline of the metadata table as it was last read, and returns whether anything
    /// changed: then both must be opened again. The caller holds the table's lock, if it has one.
    ///
    /// # Errors
    /// `InvalidArgument` and `Unsupported` for options; what compactions may fail with, unless
    /// `hoodie.metadata.write.fail.on.table.service.failures` is false. A service that failed is taken up again by the
    /// next write.
    pub fn run(&self, metadata: &Timeline) -> Result<bool> {
        let options = self.options;
        let partitions = maintained_partitions(&self.config.properties)?;
        let compaction =
            MetadataCompaction { data: self.timeline, clock: self.clock, partitions: &partitions, options };
        let is_due = compaction.is_due(metadata, self.config.timeline_zone)?
            || clean::is_due(metadata)
            || archive::is_due(metadata, options);
        if !is_due {
            return Ok(false);
        }
        match self.run_due(&compaction) {
            Err(error) if options.fails_write || error.kind() == ErrorKind::Interrupted => Err(error),
            Err(_) => Ok(true),
            changed => changed,
        }
    }

    fn run_due(&self, compaction: &MetadataCompaction<'_>) -> Result<bool> {
        let mut metadata = ServiceTable::open_metadata(self.store)?;
        let executed = compaction.execute_pending(&mut metadata)?;
        let compacted = compaction.compact(&mut metadata)?;
        let cleaned = clean::clean(&mut metadata, self.clock, self.timeline, compaction.partitions)?;
        let archived = archive::archive(&mut metadata, self.timeline, compaction.options)?;
        Ok(executed || compacted || cleaned || archived)
    }
}
