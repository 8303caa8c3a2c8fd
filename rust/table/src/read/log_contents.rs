//! What the valid log blocks of a slice are, without their records: for log compaction.

use std::sync::Arc;

use super::logs::log_blocks::scan;
use super::report::SharedReport;
use crate::split::Split;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_storage::Storage;

/// The valid log blocks of a slice, in the order in which they are merged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogContents {
    /// The instants of the blocks, each once, oldest first (`HoodieLogBlockMetadataScanner.getValidBlockInstants`).
    pub instants: Vec<RequestedTime>,
    /// The number of blocks.
    pub blocks: u64,
    /// Whether records of some block have a part of the columns only (`IS_PARTIAL`).
    pub is_partial: bool,
}

/// Reads the headers of the log blocks of a split.
///
/// # Errors
/// Those of reading the log files.
pub fn log_contents(split: &Split, storage: &Arc<dyn Storage>) -> Result<LogContents> {
    let found = scan(split, storage, &SharedReport::default())?;
    let mut contents = LogContents { blocks: found.blocks.len() as u64, ..LogContents::default() };
    for one in &found.blocks {
        contents.is_partial |= one.block.is_partial();
        let instant = one.block.header.requested_time();
        let instant = instant.ok_or_else(|| Error::internal("a valid log block has no instant"))?;
        if !contents.instants.contains(&instant) {
            contents.instants.push(instant);
        }
    }
    Ok(contents)
}
