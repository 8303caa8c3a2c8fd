//! The metadata table's part of a write.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::CommitExtra;
use crate::commit::WriteOperation;
use crate::error::{Error, Result};
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

/// Creates the metadata table of a table that is to have one and has none. Returns true if it was created.
pub(super) fn initialize(
    _store: &Arc<dyn FileStore>,
    _table: &Arc<OpenTable>,
    _options: &BTreeMap<String, String>,
) -> Result<bool> {
    Ok(false)
}

/// Opens the metadata table as it is now; none if the table has none.
pub(super) fn open(
    _store: &Arc<dyn FileStore>,
    table: &Arc<OpenTable>,
    _options: &BTreeMap<String, String>,
) -> Result<Option<Box<dyn MetadataPart>>> {
    let properties = &table.config.properties;
    let partitions =
        properties.list(&["hoodie.table.metadata.partitions", "hoodie.table.metadata.partitions.inflight"]);
    match partitions.first() {
        None => Ok(None),
        Some(partition) => {
            Err(Error::unsupported(format!("writing to a table with a metadata table ({partition}, …)")))
        }
    }
}
