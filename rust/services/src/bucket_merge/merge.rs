//! The write that merges file groups of buckets.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::one_row_each::OneRowEach;
use super::shared_buckets::{SharedBucket, shared_buckets};
use crate::open::open_for_service;
use crate::transaction::{CommitExtra, Transaction, WriteResult};
use crate::verify::Finding;
use mortice_base::error::{Error, Result};
use mortice_commit::writable_table::TableLocation;
use mortice_storage::check_cancelled;
use mortice_table::timeline::WriteOperation;
use mortice_write::index::new_bucket_prefix;
use mortice_write::rows::WriteSchema;
use mortice_write::write::{CreateHandle, CreateTarget, MetaColumns, WriteStatus, WriteToken};

/// Bytes of rows that wait for their row group to be complete.
const OPEN_BYTES: usize = 128 << 20;

/// Buckets with several file groups that got one again, or would.
#[derive(Debug, Default)]
pub struct BucketMergeResult {
    /// Each bucket, as a verification reports it.
    pub buckets: Vec<Finding>,
    /// The write; none if no bucket has several file groups, or nothing was changed.
    pub write: Option<WriteResult>,
}

/// Makes one file group of those of each bucket that has several.
///
/// Args:
///     location: Where the table is.
///     options: Options by Hudi's names.
///
/// # Errors
/// `InvalidArgument` for a table without a bucket index; `Unsupported`, by name, for tables that are not written and
/// for merge modes that writes do not have; as for [`Transaction::begin`] and [`Transaction::commit`].
pub fn run_bucket_merge(location: &TableLocation, options: &BTreeMap<String, String>) -> Result<BucketMergeResult> {
    merge_buckets(location, options, false)
}

/// Which buckets [`run_bucket_merge`] would merge. Nothing is changed.
///
/// # Errors
/// As for [`run_bucket_merge`].
pub fn plan_bucket_merge(location: &TableLocation, options: &BTreeMap<String, String>) -> Result<BucketMergeResult> {
    merge_buckets(location, options, true)
}

fn merge_buckets(
    location: &TableLocation,
    options: &BTreeMap<String, String>,
    is_dry_run: bool,
) -> Result<BucketMergeResult> {
    let target = Arc::new(open_for_service(location, options, "repair")?);
    let buckets: Vec<Finding> = shared_buckets(&target.latest())?.iter().map(SharedBucket::finding).collect();
    if buckets.is_empty() || is_dry_run {
        return Ok(BucketMergeResult { buckets, write: None });
    }
    let mut transaction = Transaction::begin(&target, WriteOperation::InsertOverwrite)?;
    let merged = merge_in(&mut transaction);
    let (transaction, (statuses, extra)) = transaction.or_abort(merged)?;
    let committed = transaction.commit(statuses, &extra)?;
    let write = WriteResult { warnings: target.warnings(), ..WriteResult::new(committed) };
    Ok(BucketMergeResult { buckets, write: Some(write) })
}

fn merge_in(transaction: &mut Transaction) -> Result<(Vec<WriteStatus>, CommitExtra)> {
    transaction.inflight_without_profile()?;
    let table = Arc::clone(transaction.table());
    let schema = WriteSchema::of_table(&table)?;
    let memory = transaction.target().settings().rows.memory();
    let (mut statuses, mut replaced): (_, BTreeMap<String, Vec<String>>) = (Vec::new(), BTreeMap::new());
    for (task, bucket) in (0_u32..).zip(shared_buckets(&table)?) {
        check_cancelled()?;
        let rows = OneRowEach::read(&table, &schema, &bucket.slices, memory.clone())?;
        statuses.extend(write_group(transaction, &schema, task, &bucket, &rows)?);
        let file_ids = bucket.slices.into_iter().map(|slice| slice.file_id);
        replaced.entry(bucket.partition).or_default().extend(file_ids);
    }
    let schema = schema.columns.json().to_owned();
    Ok((statuses, CommitExtra { schema, replaced, ..CommitExtra::default() }))
}

/// Writes the file group of a bucket.
fn write_group(
    transaction: &Transaction,
    schema: &WriteSchema,
    task: u32,
    bucket: &SharedBucket,
    rows: &OneRowEach,
) -> Result<Vec<WriteStatus>> {
    let target = CreateTarget {
        partition: bucket.partition.clone(),
        file_id_prefix: new_bucket_prefix(bucket.bucket),
        instant: transaction.instant().clone(),
        token: WriteToken { task, stage: 0, attempt: WriteToken::new_attempt() },
    };
    // A bucket has one file group, however large it is.
    let base = transaction.target().settings().base_files.clone().of_size(u64::MAX);
    let mut handle = CreateHandle::new(Arc::clone(transaction.store()), &schema.stored, target, base, false);
    for batch in rows.batches() {
        check_cancelled()?;
        handle.insert(&batch?, MetaColumns::Kept)?;
        if handle.held_bytes() > OPEN_BYTES {
            handle.end_row_group()?;
        }
    }
    let written = handle.finish()?;
    match written.len() {
        0 | 1 => Ok(written),
        files => Err(Error::internal(format!("the rows of a bucket are in {files} file groups"))),
    }
}
