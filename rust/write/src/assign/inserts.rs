//! Rows with new keys: how many go to each small file, and how many to each new file group.

use super::options::AssignOptions;
use mortice_table::file_group::FileSlice;

/// Where some of a partition's new rows go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bin<'v> {
    SmallFile(&'v FileSlice),
    NewGroup,
}

/// Distributes so many rows: small files are filled up to the size of a file, the others go to new groups of equal numbers of rows.
pub(super) fn distribute<'v>(
    mut rows: u64,
    small_files: &[&'v FileSlice],
    record_size: u64,
    options: &AssignOptions,
) -> Vec<(Bin<'v>, u64)> {
    let mut bins = Vec::new();
    for slice in small_files {
        // A group of logs only has all its room.
        let len = slice.base_file.as_ref().map_or(0, |base| base.len);
        let room = options.max_file_size.saturating_sub(len) / record_size.max(1);
        let taken = room.min(rows);
        if taken > 0 {
            bins.push((Bin::SmallFile(slice), taken));
            rows -= taken;
        }
    }
    let of_group = options.insert_split.unwrap_or_else(|| options.max_file_size.div_ceil(record_size.max(1))).max(1);
    while rows > 0 {
        let taken = of_group.min(rows);
        bins.push((Bin::NewGroup, taken));
        rows -= taken;
    }
    bins
}
