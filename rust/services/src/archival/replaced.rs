//! Replace commits that must not be archived, as the file groups that they replaced have files still. Readers of a
//! timeline without the commit would take these groups for live, and return rows that were replaced or deleted.
//!
//! Hudi goes by the last clean alone ([`super::limits`]). That clean need not have deleted all files: a savepoint has
//! kept some, and was deleted since; or an incremental clean of another writer left a partition out.

use std::collections::{BTreeMap, BTreeSet};

use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::{Action, Instant, ReplacedFileGroup};

/// The first of these instants that replaced a file group with files. Only partitions with replaced file groups are
/// listed, by the metadata table if the table has one.
pub(super) fn first_with_files(table: &OpenTable, instants: &[Instant]) -> Result<Option<RequestedTime>> {
    let replaces = instants.iter().filter(|instant| instant.action.completes_as() == Action::ReplaceCommit);
    let replaces: BTreeSet<&RequestedTime> = replaces.map(|instant| &instant.requested_time).collect();
    if replaces.is_empty() {
        return Ok(None);
    }
    let mut groups = table.timeline.replaced_file_groups()?;
    groups.retain(|group| replaces.contains(&group.instant));
    let mut by_partition: BTreeMap<&str, Vec<&ReplacedFileGroup>> = BTreeMap::new();
    for group in &groups {
        by_partition.entry(&group.partition).or_default().push(group);
    }
    let partitions = by_partition.keys().map(|partition| (*partition).to_owned()).collect();
    let mut with_files: Vec<&RequestedTime> = Vec::new();
    for files in table.files_of_partitions(Some(&partitions))? {
        let bases = files.base_files.iter().map(|base| base.name.file_id.as_str());
        let present: BTreeSet<&str> =
            bases.chain(files.log_files.iter().map(|log| log.name.file_id.as_str())).collect();
        let replaced = by_partition.get(files.partition.as_str()).into_iter().flatten();
        with_files
            .extend(replaced.filter(|group| present.contains(group.file_id.as_str())).map(|group| &group.instant));
    }
    Ok(with_files.into_iter().min().cloned())
}
