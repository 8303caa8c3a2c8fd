//! Makes sure that logs have what completed writes wrote to them, before they are merged and rewritten.

use std::sync::Arc;

use super::logs::damage::{SeenLog, rollback_target};
use super::logs::log_blocks::scan;
use super::report::{DamagedFile, SharedReport};
use crate::split::Split;
use crate::timeline::{WrittenRange, WrittenRanges};
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_formats::log::ForwardScan;
use mortice_storage::{KnownFile, Storage, parallel};

/// What is checked of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogCheck {
    /// Its length, as it was listed. No log is opened.
    Lengths,
    /// Its length and its blocks, without their records.
    Blocks,
}

/// Reads the blocks of a log, without their records. Returns what it has lost of completed writes.
///
/// Args:
///     storage: The storage of the table.
///     path: The log, relative to the table.
///     len: Its length.
///     written, pending: What completed writes wrote to it, and the instants of writes that are not completed. Old
///         writers record the whole file: blocks of others in it are no damage if they are pending, or rolled back.
///
/// # Errors
/// `CorruptLog` for a file that is not a log; those of the storage.
pub fn damage_of_log(
    storage: &dyn Storage,
    path: &str,
    len: u64,
    (written, pending): (&[WrittenRange], &[RequestedTime]),
) -> Result<Option<DamagedFile>> {
    let source = storage.open_known(path, &KnownFile { len, etag: None, may_have_grown: true })?;
    let mut seen = SeenLog::new(source.path(), source.len());
    let mut others = pending.to_vec();
    for block in ForwardScan::new(Arc::clone(&source)) {
        let block = block?;
        seen.note(&block);
        seen.note_instant(&block);
        others.extend(rollback_target(&block));
    }
    seen.forget_instants(&others);
    Ok(seen.damage(written))
}

/// Checks the logs of splits of one table, as the options of their query say.
///
/// Args:
///     splits: The splits.
///     check: What is checked.
///     storage, written: The storage of the table, and what its writes recorded.
///
/// # Errors
/// `CorruptLog` for a damaged log, with offset and instant; those of reading the logs and the timeline.
pub fn check_logs(
    splits: &[Split],
    check: LogCheck,
    (storage, written): (&Arc<dyn Storage>, WrittenRanges),
) -> Result<()> {
    let report = SharedReport::default();
    report.written_ranges(|| Ok(written))?;
    parallel::map(splits, storage.requests_at_once(), |split| match check {
        LogCheck::Blocks => scan(split, storage, &report).map(drop),
        LogCheck::Lengths => split.slice.log_files.iter().try_for_each(|log| {
            SeenLog::new(&storage.full_path(&log.path), log.len).check(log, &split.query, storage, &report)
        }),
    })
    .map(drop)
}
