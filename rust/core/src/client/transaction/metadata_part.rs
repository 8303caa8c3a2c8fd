//! The metadata table's part of a write.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::CommitExtra;
use crate::avro::Schema;
use crate::commit::{RolledBackFiles, WriteOperation};
use crate::error::Result;
use crate::metadata_upkeep::{CommitUpdate, MetadataUpkeep};
use crate::names::RequestedTime;
use crate::plan::OpenTable;
use crate::services::MetadataRollback;
use crate::storage::FileStore;
use crate::write::WriteStatus;

/// The upkeep of a metadata table by one write.
pub(super) trait MetadataPart: MetadataRollback {
    /// Writes and completes the metadata table's commit, before the write itself is completed.
    fn write_commit(
        &self,
        instant: &RequestedTime,
        operation: WriteOperation,
        statuses: &[WriteStatus],
        extra: &CommitExtra,
    ) -> Result<()>;

    /// Removes the metadata table's markers and heartbeat, after the write was completed.
    fn clean_up(&self, instant: &RequestedTime) -> Result<()>;
}

impl MetadataPart for MetadataUpkeep {
    fn write_commit(
        &self,
        instant: &RequestedTime,
        operation: WriteOperation,
        statuses: &[WriteStatus],
        extra: &CommitExtra,
    ) -> Result<()> {
        let schema = Schema::parse(&extra.schema)?;
        let update = CommitUpdate { operation, statuses, replaced: &extra.replaced, schema: &schema };
        Self::write_commit(self, instant, &update)
    }

    fn clean_up(&self, instant: &RequestedTime) -> Result<()> {
        Self::clean_up(self, instant)
    }
}

impl MetadataRollback for MetadataUpkeep {
    fn roll_back(&self, failed: &RequestedTime, rollback: &RequestedTime, touched: &RolledBackFiles) -> Result<()> {
        Self::roll_back(self, failed, rollback, touched)
    }
}

/// Creates the metadata table of a table that is to have one and has none, or deletes that of a table that is to have none. Returns true
/// if the table's properties were changed.
pub(super) fn initialize(
    store: &Arc<dyn FileStore>,
    table: &Arc<OpenTable>,
    options: &BTreeMap<String, String>,
) -> Result<bool> {
    MetadataUpkeep::initialize(store, table, options)
}

/// Opens the metadata table as it is now; none if the table has none.
pub(super) fn open(
    store: &Arc<dyn FileStore>,
    table: &Arc<OpenTable>,
    options: &BTreeMap<String, String>,
) -> Result<Option<Box<dyn MetadataPart>>> {
    let upkeep = MetadataUpkeep::open(Arc::clone(store), table, options)?;
    Ok(upkeep.map(|upkeep| Box::new(upkeep) as Box<dyn MetadataPart>))
}
