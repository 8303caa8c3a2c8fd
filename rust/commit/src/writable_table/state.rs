//! A table at one time.

use std::sync::Arc;

use crate::commit::{Clock, Timelines};
use crate::metadata_upkeep::MetadataUpkeep;
use mortice_storage::FileStore;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::Timeline;

/// A table and its metadata table, as they were when they were opened. Under the table's lock they stay so.
pub struct TableState {
    /// The table's root, for writing.
    pub store: Arc<dyn FileStore>,
    /// The table.
    pub table: Arc<OpenTable>,
    /// Its metadata table; none if it has none.
    pub metadata: Option<MetadataUpkeep>,
    /// What was wrong with a metadata table that could not be maintained and was deleted, or that would be: it is built
    /// again.
    pub defect: Option<String>,
    /// Generates the times of its instants.
    pub clock: Clock,
}

/// The metadata table's services may have used a time that the table does not have, which is not in the past if the
/// clock was set back.
impl Timelines for TableState {
    fn timelines(&self) -> Vec<&Timeline> {
        std::iter::once(&self.table.timeline).chain(self.metadata.as_ref().map(MetadataUpkeep::timeline)).collect()
    }
}
