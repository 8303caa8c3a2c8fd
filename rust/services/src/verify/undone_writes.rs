//! Completed writes that had been rolled back before: their writer stalled, was taken for dead, and was killed before
//! it found that out.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::findings::{Finding, FindingKind};
use super::stored_files::joined;
use mortice_base::error::Result;
use mortice_commit::commit::{TimelineWriter, UndoneWrite};
use mortice_storage::{FileStore, OverlaidFolder, Storage};
use mortice_table::plan::OpenTable;

/// Finds them, and opens the table as it is without them.
pub(super) fn without_undone(
    store: &Arc<dyn FileStore>,
    table: Arc<OpenTable>,
) -> Result<(Arc<OpenTable>, Vec<UndoneWrite>)> {
    let files = TimelineWriter::new(Arc::clone(store), &table.config);
    let undone = UndoneWrite::find(&files, &table.timeline)?;
    if undone.is_empty() {
        return Ok((table, undone));
    }
    let hidden: BTreeSet<String> = undone.iter().map(|undone| undone.write.file_name.clone()).collect();
    let storage = Arc::<dyn FileStore>::clone(store) as Arc<dyn Storage>;
    let storage = OverlaidFolder::new(storage, table.config.timeline_folder.clone()).without_files(hidden);
    let without = OpenTable::at(Arc::new(storage), &table.uri, &table.storage_options, table.options.clone())?;
    Ok((Arc::new(without), undone))
}

/// Each as a finding.
pub(super) fn undone_findings(undone: &[UndoneWrite], table: &OpenTable) -> Vec<Finding> {
    let finding = |UndoneWrite { write, rollback }: &UndoneWrite| {
        let message =
            format!("{rollback} had rolled the write back before it was completed: its rows are not in the table");
        let path = joined(&table.config.timeline_folder, &write.file_name);
        Finding::new(FindingKind::RollbackResult, path, message)
    };
    undone.iter().map(finding).collect()
}
