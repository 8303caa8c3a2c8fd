//! Whether the logs of a slice say which base rows their records update, so that no key need be compared
//! (`PositionBasedFileGroupRecordBuffer`).
//!
//! Each block that counts must hold the position of each of its records, in this very base file; one that does not makes all go by
//! keys. Keys decide all the same, and give the same rows: positions are only faster.

use std::sync::Arc;

use super::log_blocks::LogBlocks;
use crate::log::{BlockRef, HeaderKey, block_positions};
use crate::storage::Source;

/// Whether records can go by row numbers of the base file that this instant wrote.
pub(super) fn are_known(blocks: &LogBlocks, base_instant: Option<&str>) -> bool {
    let Some(base_instant) = base_instant else { return false };
    blocks.blocks.iter().all(|found| blocks.files.get(found.file).is_some_and(|file| are_of(file, found, base_instant)))
}

fn are_of(file: &Arc<dyn Source>, found: &BlockRef, base_instant: &str) -> bool {
    let header = &found.block.header;
    header.bytes(HeaderKey::BaseFileInstantTimeOfRecordPositions).is_some_and(|instant| instant == base_instant)
        // What cannot be read as positions is none: keys are there.
        && matches!(block_positions(file, &found.block), Ok(Some(numbers)) if !numbers.is_empty())
}
