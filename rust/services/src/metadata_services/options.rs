//! How the metadata table is compacted, cleaned and archived, by Hudi's options
//! (`HoodieMetadataWriteUtils.createMetadataWriteConfig`).

use crate::archival::ArchivalOptions;
use crate::compaction::planning::{Trigger, TriggerNames, trigger};
use mortice_base::error::Result;
use mortice_merge::config::{WriteOptions, option_names};

const TRIGGER: TriggerNames = TriggerNames {
    strategy: option_names::METADATA_COMPACT_TRIGGER_STRATEGY,
    commits: option_names::METADATA_COMPACT_MAX_DELTA_COMMITS,
    seconds: option_names::METADATA_COMPACT_MAX_DELTA_SECONDS,
};

/// Options of the services of a metadata table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataServiceOptions {
    /// When it is compacted.
    pub(super) trigger: Trigger,
    /// Delta commits that may pile up while an instant of the table is pending, up to table version 7.
    pub(super) max_when_pending: u64,
    /// How many commits of the table stay active.
    pub(super) archival: ArchivalOptions,
    /// Whether a service that fails ends the write.
    pub(super) fails_write: bool,
}

impl MetadataServiceOptions {
    /// Reads the options.
    ///
    /// # Errors
    /// `InvalidArgument` and `Unsupported`, naming the option.
    pub fn resolve(options: &WriteOptions) -> Result<Self> {
        Ok(Self {
            trigger: trigger(options, TRIGGER)?,
            max_when_pending: options.integer(option_names::METADATA_MAX_DELTACOMMITS_WHEN_PENDING)?,
            archival: ArchivalOptions::resolve(options)?,
            fails_write: options.boolean(option_names::METADATA_WRITE_FAIL_ON_TABLE_SERVICE_FAILURES)?,
        })
    }
}
