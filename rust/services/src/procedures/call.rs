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

    /// The full path of a file of the table, as Hudi shows it.
    pub(super) fn shown_path(&self, path: &str) -> String {
        shown(&self.table.storage.full_path(path))
    }

    /// The table as it was named.
    pub(super) fn title(&self) -> String {
        self.arguments.text("table").or_else(|| self.arguments.text("path")).unwrap_or_else(|| self.table.uri.clone())
    }
}

/// A full path as Hudi shows it: local ones with their scheme.
pub(super) fn shown(path: &str) -> String {
    if path.starts_with('/') { format!("file:{path}") } else { path.to_owned() }
}
