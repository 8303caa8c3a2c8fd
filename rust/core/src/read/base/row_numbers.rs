//! Row numbers in a base file: whether the logs of a slice record which base rows their records update, so that no key need be
//! compared (`PositionBasedFileGroupRecordBuffer`), and the numbers of base rows where some of the file's rows are left out.
//!
//! Records are merged by row number if each block that counts holds the position of each of its records, in this very base file.
//! Hudi merges by position under the same condition unless `hoodie.merge.use.record.positions` is false.
//!
//! The rows are the same by key, except where a base file has a key twice (`bulk_insert` does not deduplicate). Measured on Hudi
//! 1.2.0: an upsert or a delete writes one record with a position for each base row of the key. By position each of these rows is
//! merged with its own record; by key the first row is merged with the last record, and the others stay as they are. So neither a
//! filter, a projection nor a commit range may decide which of the two it is.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::SchemaRef;

use crate::base_file::Batches;
use crate::error::Error;
use crate::log::{BlockKind, BlockRef, BlockType, HeaderKey, block_positions};
use crate::names::RequestedTime;
use crate::read::logs::log_blocks::LogBlocks;
use crate::storage::Source;

/// Whether records can go by row numbers of the base file that this instant wrote.
pub(in crate::read) fn are_known(blocks: &LogBlocks, base_instant: Option<&RequestedTime>) -> bool {
    let Some(base_instant) = base_instant else { return false };
    blocks.blocks.iter().all(|found| blocks.files.get(found.file).is_some_and(|file| are_of(file, found, base_instant)))
}

fn are_of(file: &Arc<dyn Source>, found: &BlockRef, base_instant: &RequestedTime) -> bool {
    let header = &found.block.header;
    // Positions are in ascending order, the records of an HFile block in the order of their keys.
    found.block.kind != BlockKind::Sound(BlockType::HfileData)
        && header.bytes(HeaderKey::BaseFileInstantTimeOfRecordPositions).is_some_and(|instant| instant == base_instant.as_str())
        // What cannot be read as positions is none: keys are there.
        && matches!(block_positions(file, &found.block), Ok(Some(numbers)) if !numbers.is_empty())
}

/// The batches with row numbers behind their columns. `rows` are the numbers of their rows, in order.
pub(in crate::read) fn numbered(batches: Batches, rows: Vec<Range<u64>>, wanted: SchemaRef) -> Batches {
    let mut numbers = rows.into_iter().flatten();
    Box::new(batches.map(move |batch| {
        let batch = batch?;
        let of_batch: UInt64Array = numbers.by_ref().take(batch.num_rows()).collect::<Vec<_>>().into();
        if of_batch.len() != batch.num_rows() {
            return Err(Error::corrupt("a base file with more rows than its footer counts"));
        }
        let mut columns = batch.columns().to_vec();
        columns.push(Arc::new(of_batch));
        RecordBatch::try_new(Arc::clone(&wanted), columns)
            .map_err(|error| Error::invalid_table("columns of other types than the table's").caused_by(error))
    }))
}
