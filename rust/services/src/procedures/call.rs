//! A call of a procedure.

use std::sync::Arc;

use super::arguments::Arguments;
use mortice_base::error::Result;
use mortice_base::time::Time;
use mortice_commit::writable_table::TableLocation;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::Timeline;

/// A call: what it is given, and the table that it is of.
pub(super) struct Call<'a> {
    pub(super) location: &'a TableLocation,
    pub(super) arguments: &'a Arguments,
    pub(super) table: Arc<OpenTable>,
}

impl Call<'_> {
    pub(super) fn timeline(&self) -> &Timeline {
        &self.table.timeline
    }

    /// The time by which ages are measured.
    pub(super) fn time(&self) -> Result<Arc<dyn Time>> {
        Ok(self.location.open_store()?.time())
    }
}
