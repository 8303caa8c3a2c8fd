//! Rows of the file groups that hold their keys.

use std::collections::BTreeMap;

use crate::index::Tagged;
use crate::write::{LogNaming, SliceNames};
use mortice_base::error::{Error, Result};
use mortice_base::names::LogFileName;
use mortice_base::row_number::at;
use mortice_merge::config::{TableConfig, TableType, TimelineLayout};
use mortice_table::file_group::FileSlice;
use mortice_table::plan::WriteView;

/// A row, and the number of its key's row in the base file.
pub(super) type Placed = (u32, Option<u64>);

/// Rows by partition and file group.
pub(super) type Updates = BTreeMap<(String, String), Vec<Placed>>;

/// Rows of each file group, ascending.
pub(super) fn of_tagged(tagged: &Tagged) -> Result<Updates> {
    let mut by_group: Vec<Vec<Placed>> = vec![Vec::new(); tagged.groups.len()];
    let mut add = |group: u32, placed: Placed| {
        let rows = by_group.get_mut(at(group));
        rows.ok_or_else(|| Error::internal("a row is tagged with a file group that is not there"))
            .map(|rows| rows.push(placed))
    };
    for (row, group) in (0_u32..).zip(&tagged.locations) {
        if let Some(group) = group {
            add(*group, (row, tagged.position(at(row))?))?;
        }
    }
    for further in &tagged.further {
        add(further.group, (further.row, further.position))?;
    }
    let mut updates = Updates::new();
    for (location, rows) in tagged.groups.iter().zip(by_group).filter(|(_, rows)| !rows.is_empty()) {
        updates.entry((location.partition.clone(), location.file_id.clone())).or_default().extend(rows);
    }
    for rows in updates.values_mut() {
        rows.sort_unstable();
        rows.dedup();
    }
    Ok(updates)
}

/// The slice that is written upon. Refuses groups under pending clustering (`SparkRejectUpdateStrategy`): the rows would be lost with
/// the group.
pub(super) fn slice_of<'v>(
    view: &'v WriteView,
    config: &TableConfig,
    partition: &str,
    file_id: &str,
) -> Result<&'v FileSlice> {
    if let Some(instant) = view.pending_clustering(partition, file_id) {
        return Err(Error::unsupported(format!(
            "rows of file group {file_id:?} in partition {partition:?}, which a pending clustering is to replace; execute the clustering or roll it back, then write again"
        ))
        .at_instant(instant));
    }
    let slices = if config.table_type == TableType::CopyOnWrite { &view.base_files } else { &view.slices };
    slices.iter().find(|slice| slice.partition == partition && slice.file_id == file_id).ok_or_else(|| {
        Error::invalid_table(format!(
            "the index has keys in file group {file_id:?} of partition {partition:?}, which is not a live file group"
        ))
    })
}

/// The names of new log files of a slice. Up to version 7 they have the slice's base instant: that of the pending compaction, if there
/// is one, which begins the next slice.
pub(crate) fn log_naming(view: &WriteView, config: &TableConfig, slice: &FileSlice) -> LogNaming {
    if config.layout() == TimelineLayout::V2 {
        return match config.cdc {
            None => LogNaming::ByDeltaCommit,
            Some(_) => LogNaming::ByDeltaCommitOf(SliceNames {
                base_instant: slice.base_instant.clone(),
                base_file: slice.base_file.as_ref().map(|base| base.name.clone()).unwrap_or_default(),
                log_files: slice.log_files.iter().map(|log| log.name.clone()).collect(),
            }),
        };
    }
    let names = |keep: &dyn Fn(&LogFileName) -> bool| {
        let logs = slice.log_files.iter().filter(|log| LogFileName::parse(&log.name).is_some_and(|name| keep(&name)));
        logs.map(|log| log.name.clone()).collect()
    };
    match view.pending_compaction(&slice.partition, &slice.file_id) {
        Some(instant) => LogNaming::BySlice {
            base_instant: instant.clone(),
            base_file: String::new(),
            log_files: names(&|name| name.instant == *instant),
        },
        None => LogNaming::BySlice {
            base_instant: slice.base_instant.clone(),
            base_file: slice.base_file.as_ref().map(|base| base.name.clone()).unwrap_or_default(),
            log_files: names(&|_| true),
        },
    }
}
