//! Writes changed rows, unless there are none.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::WriteInput;
use crate::merge_into::write_changes;
use mortice_base::error::Result;
use mortice_commit::commit::CommitValidator;
use mortice_services::transaction::WriteResult;
use mortice_table::plan::OpenTable;
use mortice_table::read::DamagedFile;

/// What a change of rows did.
#[derive(Debug)]
pub struct RowsChanged {
    /// The write; none if no row has changed.
    pub written: Option<WriteResult>,
    /// Damaged files among those that were read.
    pub damaged: Vec<DamagedFile>,
}

/// Writes changed rows as one commit. Without rows nothing is written.
pub(super) fn write_rows(
    table: &Arc<OpenTable>,
    schema: SchemaRef,
    rows: &mut dyn Iterator<Item = Result<RecordBatch>>,
    updated: &[String],
    options: &BTreeMap<String, String>,
    validator: Option<Arc<dyn CommitValidator>>,
) -> Result<Option<WriteResult>> {
    let mut rows = rows.filter(|rows| !rows.as_ref().is_ok_and(|rows| rows.num_rows() == 0));
    let Some(first) = rows.next().transpose()? else { return Ok(None) };
    let mut batches = std::iter::once(Ok(first)).chain(rows);
    let input = WriteInput { schema, batches: &mut batches, is_in_memory: false, options, validator };
    write_changes(table, updated, input).map(Some)
}
