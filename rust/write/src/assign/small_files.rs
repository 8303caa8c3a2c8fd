//! Base files that are small enough to take new rows.
//!
//! Copy-on-write: every one below the limit. Merge-on-read: of those without logs the smallest, up to the limit of
//! candidates; such a group is rewritten, as new keys have to be in base files. Groups under pending compaction or
//! clustering take none.

use super::options::AssignOptions;
use mortice_merge::config::TableType;
use mortice_table::file_group::FileSlice;
use mortice_table::plan::WriteView;

/// The slices of a partition that take new rows, in the order in which they are filled.
pub(super) fn of_partition<'v>(
    view: &'v WriteView,
    table_type: TableType,
    partition: &str,
    options: &AssignOptions,
) -> Vec<&'v FileSlice> {
    let is_small = |slice: &&FileSlice| {
        slice.partition == partition
            && slice.base_file.as_ref().is_some_and(|base| base.len < options.small_file_limit)
            && view.pending_clustering(partition, &slice.file_id).is_none()
    };
    if table_type == TableType::CopyOnWrite {
        return view.base_files.iter().filter(is_small).collect();
    }
    let is_free =
        |slice: &&FileSlice| slice.log_files.is_empty() && view.pending_compaction(partition, &slice.file_id).is_none();
    let mut small: Vec<&FileSlice> = view.slices.iter().filter(is_small).filter(is_free).collect();
    // A group of logs only is the smallest.
    small.sort_by_key(|slice| slice.base_file.as_ref().map_or(0, |base| base.len));
    small.truncate(options.small_file_candidates);
    small
}
