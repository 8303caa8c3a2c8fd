//! File groups that a write replaced which is archived. Readers know replaced groups by the active timeline alone: if
//! files of one were still there when its replace commit was archived, its rows are in the table again.

use std::collections::{BTreeMap, BTreeSet};

use super::findings::{Finding, FindingKind};
use super::stored_files::{StoredFiles, joined};
use mortice_base::error::Result;
use mortice_base::names::{BaseFileName, LogFileName};
use mortice_table::plan::OpenTable;
use mortice_table::timeline::{Action, MetadataPart};

/// Finds replaced file groups that have files, and that no active replace commit names.
pub(super) fn live_replaced_groups(table: &OpenTable, stored: &StoredFiles) -> Result<Vec<Finding>> {
    let mut present: BTreeMap<(&str, String), u64> = BTreeMap::new();
    for (partition, name, _, status) in stored.data_files() {
        let base = BaseFileName::parse(name).map(|base| base.file_id);
        if let Some(file_id) = base.or_else(|| LogFileName::parse(name).map(|log| log.file_id)) {
            let bytes = present.entry((partition, file_id)).or_default();
            *bytes = bytes.saturating_add(status.len);
        }
    }
    let timeline = &table.timeline;
    let still_replaced = timeline.replaced_file_groups()?.into_iter().map(|group| (group.partition, group.file_id));
    let still_replaced: BTreeSet<(String, String)> = still_replaced.collect();
    let mut found = Vec::new();
    let replaces = timeline.archived()?.iter().filter(|instant| instant.action == Action::ReplaceCommit);
    for replace in replaces.filter(|instant| instant.is_completed()) {
        let Some(commit) = timeline.commit_metadata(replace, MetadataPart::Replaced)? else { continue };
        for (partition, file_id) in
            commit.replaced.iter().flat_map(|(partition, ids)| ids.iter().map(move |id| (partition, id)))
        {
            let Some(bytes) = present.get(&(partition.as_str(), file_id.clone())) else { continue };
            if !still_replaced.contains(&(partition.clone(), file_id.clone())) {
                let message = format!(
                    "{replace} replaced the file group and is archived: rows that it replaced or deleted are read again"
                );
                let path = joined(partition, file_id);
                found.push(Finding::new(FindingKind::LiveReplacedGroup, path, message).with_bytes(*bytes));
            }
        }
    }
    Ok(found)
}
