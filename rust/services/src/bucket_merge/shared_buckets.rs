//! The buckets that have several file groups.

use crate::verify::{Finding, duplicate_bucket};
use mortice_base::error::{Error, Result};
use mortice_base::names::bucket_in;
use mortice_table::file_group::FileSlice;
use mortice_table::plan::OpenTable;
use mortice_write::index;

/// A bucket of a partition, and the latest slices of its file groups.
pub(super) struct SharedBucket {
    pub(super) partition: String,
    pub(super) bucket: u32,
    pub(super) slices: Vec<FileSlice>,
}

impl SharedBucket {
    /// As a verification reports it.
    pub(super) fn finding(&self) -> Finding {
        duplicate_bucket(&self.partition, self.bucket, self.slices.iter().map(|slice| slice.file_id.as_str()))
    }
}

/// The buckets with more than one file group.
pub(super) fn shared_buckets(table: &OpenTable) -> Result<Vec<SharedBucket>> {
    let view = table.write_view(None)?;
    if let Some(slice) = view.slices.iter().find(|slice| bucket_in(&slice.file_id).is_none()) {
        return Err(Error::invalid_argument(format!(
            "file group {:?} in partition {:?} is of no bucket: the table has no bucket index, and there is nothing to merge",
            slice.file_id, slice.partition
        ))
        .in_file(&table.uri));
    }
    let buckets = index::shared_buckets(&view.slices);
    if let Some((slice, instant)) = buckets
        .values()
        .flatten()
        .find_map(|slice| Some((slice, view.pending_clustering(&slice.partition, &slice.file_id)?)))
    {
        return Err(Error::unsupported(format!(
            "file group {:?} in partition {:?} is to be merged with another one, which a pending clustering rewrites; execute the \
             clustering or roll it back, then repair again",
            slice.file_id, slice.partition
        ))
        .in_file(&table.uri)
        .at_instant(instant));
    }
    let shared = |((partition, bucket), slices): ((&str, u32), Vec<&FileSlice>)| {
        let slices = slices.into_iter().cloned().collect();
        SharedBucket { partition: partition.to_owned(), bucket, slices }
    };
    Ok(buckets.into_iter().map(shared).collect())
}
