//! Refuses an index that the table's file groups contradict: its keys would not be found, and every update would add a row.

use super::options::IndexType;
use crate::config::TableType;
use crate::error::{Error, Result};
use crate::plan::{OpenTable, WriteView};

const HASHING_METADATA: &str = ".hoodie/.bucket_index/consistent_hashing_metadata";
/// Hudi's tables have some thousand buckets at most. Random ids look like smaller numbers once in 43,000 groups.
const MOST_BUCKETS: u32 = 100_000;

/// The bucket that a file id begins with: eight digits.
pub(super) fn bucket_in(file_id: &str) -> Option<u32> {
    let digits = file_id.split('-').next().filter(|digits| digits.len() == 8)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// Checks the file groups of the partitions that are written to.
pub(super) fn check(table: &OpenTable, view: &WriteView, kind: IndexType) -> Result<()> {
    check_buckets(table, view, kind)?;
    let log_only = view.slices.iter().find(|slice| slice.base_file.is_none());
    match log_only {
        Some(slice) if kind != IndexType::Bucket && table.config.table_type == TableType::MergeOnRead => {
            Err(Error::invalid_argument(format!(
                "file group {:?} in partition {:?} has logs and no base file: another index than {} wrote it (INMEMORY, Flink's), and its keys would not be found; compact the table with its own writer first",
                slice.file_id,
                slice.partition,
                kind.name()
            ))
            .in_file(&table.uri))
        }
        _ => Ok(()),
    }
}

/// The same, of rows whose keys are not looked up.
pub(super) fn check_buckets(table: &OpenTable, view: &WriteView, kind: IndexType) -> Result<()> {
    let with_table = |error: Error| error.in_file(&table.uri);
    if table.storage.list(HASHING_METADATA)?.is_some_and(|entries| !entries.is_empty()) {
        return Err(with_table(Error::unsupported(
            "the table has a bucket index with consistent hashing (.hoodie/.bucket_index); write to it with Hudi",
        )));
    }
    if kind == IndexType::Bucket {
        return Ok(());
    }
    let is_bucket = |file_id: &str| bucket_in(file_id).is_some_and(|bucket| bucket < MOST_BUCKETS);
    if !view.slices.is_empty() && view.slices.iter().all(|slice| is_bucket(&slice.file_id)) {
        return Err(with_table(Error::invalid_argument(format!(
            "the file groups of the table are buckets, but the index of this write is {}; set hoodie.index.type to BUCKET, and hoodie.bucket.index.num.buckets to the number of buckets in a partition",
            kind.name()
        ))));
    }
    Ok(())
}
