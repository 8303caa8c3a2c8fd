//! Row numbers in a base file: decides whether the logs of a slice record which base rows their records update, so that
//! no keys are compared (`PositionBasedFileGroupRecordBuffer`), and numbers base rows if some rows of the file are
//! skipped.
//!
//! Records are merged by row number if each valid block has the position of each of its records in this base file. Hudi
//! merges by position under the same condition unless `hoodie.merge.use.record.positions` is false.
//!
//! Merging by key gives the same rows, unless a base file has a key twice (`bulk_insert` does not deduplicate).
//! Measured on Hudi 1.2.0: an upsert or a delete writes one record with a position for each base row of the key. By
//! position each of these rows is merged with its own record; by key the first row is merged with the last record, and
//! the others stay unchanged. So the choice must not depend on a filter, a projection or a commit range.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::SchemaRef;

use super::merge_base::MergeBase;
use crate::read::logs::log_blocks::LogBlocks;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_formats::base_file::BaseBatches;
use mortice_formats::log::{BlockKind, BlockRef, BlockType, HeaderKey, block_positions};
use mortice_storage::FileSource;

/// Returns true if records can be merged by row number with the base file.
pub(in crate::read) fn are_known(blocks: &LogBlocks, base: &dyn MergeBase) -> Result<bool> {
    let Some(instant) = base.instant() else { return Ok(false) };
    let mut ends = Vec::new();
    for found in &blocks.blocks {
        let file = blocks.files.get(found.file);
        match file.and_then(|file| end_of_positions(file, found, instant)) {
            Some(end) => ends.push(end),
            None => return Ok(false),
        }
    }
    // A position of no row is wrong: keys are available.
    Ok(match ends.into_iter().max() {
        Some(end) => base.rows_of_file()?.is_none_or(|rows| end <= rows),
        None => true,
    })
}

/// Returns the number behind the last row that the records of a block update; `None` if that is not known of each of
/// them.
fn end_of_positions(file: &Arc<dyn FileSource>, found: &BlockRef, base_instant: &RequestedTime) -> Option<u64> {
    let header = &found.block.header;
    // Positions ascend in inline logs, the records of an HFile block are in the order of their keys.
    let is_of_base = found.block.kind != BlockKind::Sound(BlockType::HfileData)
        && header
            .bytes(HeaderKey::BaseFileInstantTimeOfRecordPositions)
            .is_some_and(|instant| instant == base_instant.as_str());
    if !is_of_base {
        return None;
    }
    // Positions that cannot be decoded are ignored: keys are available.
    let numbers = block_positions(file, &found.block).ok()??;
    numbers.into_iter().max().map(|last| last.saturating_add(1))
}

/// Appends row numbers to the columns of batches. `rows` are the numbers of their rows, in order.
pub(in crate::read) fn numbered(batches: BaseBatches, rows: Vec<Range<u64>>, wanted: SchemaRef) -> BaseBatches {
    let mut numbers = rows.into_iter().flatten();
    Box::new(batches.map(move |batch| {
        let batch = batch?;
        let of_batch: UInt64Array = numbers.by_ref().take(batch.num_rows()).collect::<Vec<_>>().into();
        if of_batch.len() != batch.num_rows() {
            return Err(Error::corrupt("the base file has more rows than its footer says"));
        }
        let mut columns = batch.columns().to_vec();
        columns.push(Arc::new(of_batch));
        RecordBatch::try_new(Arc::clone(&wanted), columns)
            .map_err(|error| Error::invalid_table("columns with types other than the table's").caused_by(error))
    }))
}
