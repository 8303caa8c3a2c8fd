//! Whether a file that looks incomplete has lost bytes of a completed write.
//!
//! A corrupt block, or a file that ends early, may be what an interrupted write has left: Hudi skips both. The metadata
//! of completed writes distinguishes the two, as it records which bytes of a log each of them wrote. It is read only
//! for files that look incomplete, so that reading a sound table costs nothing.
//!
//! It also tells the write of a block whose header names another instant, by which the block would be skipped, or read
//! in another order.

use std::ops::Range;
use std::sync::Arc;

use crate::file_group::{BaseFile, LogFile};
use crate::read::report::{DamagedFile, SharedReport};
use crate::split::Query;
use crate::timeline::{Timeline, WrittenRange, WrittenRanges};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::{LogFileName, RequestedTime};
use mortice_formats::log::{Block, BlockKind, BlockType, HeaderKey};
use mortice_merge::config::{OnCorrupt, OnDamage, TableConfig};
use mortice_storage::Storage;

/// What a scan has seen of a log file.
#[derive(Debug, Default)]
pub(in crate::read) struct SeenLog {
    /// The full path, for messages.
    path: String,
    /// The length of the file, at most the planned one.
    len: u64,
    corrupt: Vec<CorruptBytes>,
    /// Blocks whose instant may not be that of their write.
    doubtful: Vec<NamedBlock>,
}

/// A block, and the instant in its header.
#[derive(Debug)]
struct NamedBlock {
    bytes: Range<u64>,
    instant: RequestedTime,
}

/// Bytes that are not a block.
#[derive(Debug)]
struct CorruptBytes {
    bytes: Range<u64>,
    reason: String,
}

impl SeenLog {
    pub(in crate::read) fn new(path: &str, len: u64) -> Self {
        Self { path: path.to_owned(), len, ..Self::default() }
    }

    /// Remembers a block if it is corrupt.
    pub(in crate::read) fn note(&mut self, block: &Block) {
        if let BlockKind::Corrupt(damage) = &block.kind {
            self.corrupt.push(CorruptBytes { bytes: block.offset..block.end, reason: damage.reason.clone() });
        }
    }

    /// Remembers the instant of a block, to compare it with the write of its bytes.
    pub(in crate::read) fn note_instant(&mut self, block: &Block) {
        if let Some(instant) = instant_of_rows(block) {
            self.doubtful.push(NamedBlock { bytes: block.offset..block.end, instant });
        }
    }

    /// Remembers the instant of a block if it may be another than that of the write: headers have no checksum. From
    /// version 8 on, the name of the log has the instant. Before, an instant that the timeline does not have may be
    /// that of a write that was rolled back.
    ///
    /// Args:
    ///     block: The block.
    ///     log: The name of the log.
    ///     query: The query, which knows the instants of the timeline.
    pub(in crate::read) fn note_other_instant(&mut self, block: &Block, log: Option<&LogFileName>, query: &Query) {
        let is_other = |instant: &RequestedTime| match query.commits_by_block {
            true => !query.instants.is_known(instant),
            false => log.is_some_and(|log| log.instant != *instant),
        };
        if instant_of_rows(block).as_ref().is_some_and(is_other) {
            self.note_instant(block);
        }
    }

    /// Forgets blocks of instants that a command of the slice rolls back, or that are pending: they are not read.
    pub(in crate::read) fn forget_instants(&mut self, undone: &[RequestedTime]) {
        self.doubtful.retain(|block| !undone.contains(&block.instant));
    }

    /// Reports a log that has lost bytes of a completed write, or returns an error, as the options say.
    pub(in crate::read) fn check(
        &self,
        log: &LogFile,
        query: &Query,
        storage: &Arc<dyn Storage>,
        report: &SharedReport,
    ) -> Result<()> {
        let options = &query.options;
        let is_doubtful = !self.corrupt.is_empty() || !self.doubtful.is_empty();
        let looks_damaged = self.len < log.len || self.len == 0 || is_doubtful;
        if options.on_damage == OnDamage::Ignore || !(looks_damaged || query.checks_lengths) {
            return Ok(());
        }
        let mut written = report.written_ranges(|| written_ranges(storage))?.of_log(&log.path)?;
        written.retain(|range| query.instants.is_committed(&range.instant));
        let Some(damage) = self.damage(&written) else { return self.check_planned(log) };
        if options.on_damage == OnDamage::Raise || options.on_corrupt == OnCorrupt::Raise {
            return Err(raised(&damage));
        }
        let mut report = report.edit();
        if report.damaged.iter().all(|known| known.file != damage.file) {
            report.damaged.push(damage);
        }
        Ok(())
    }

    /// Returns what the file has lost, if it has lost anything.
    pub(in crate::read) fn damage(&self, written: &[WrittenRange]) -> Option<DamagedFile> {
        let damaged = |offset: u64, range: &WrittenRange, what: String| {
            let Range { start, end } = range.bytes;
            let reason = format!("the completed instant {} wrote the bytes {start} to {end}, {what}", range.instant);
            DamagedFile { file: self.path.clone(), offset, instant: range.instant.clone(), reason }
        };
        if let Some(range) = written.iter().find(|range| range.bytes.end > self.len) {
            return Some(damaged(self.len, range, format!("and the file has {} bytes", self.len)));
        }
        let corrupt = self.corrupt.iter().find_map(|corrupt| {
            let overlaps =
                |range: &&WrittenRange| range.bytes.start < corrupt.bytes.end && corrupt.bytes.start < range.bytes.end;
            let range = written.iter().find(overlaps)?;
            Some(damaged(corrupt.bytes.start, range, format!("and a block is corrupt: {}", corrupt.reason)))
        });
        corrupt.or_else(|| {
            self.doubtful.iter().find_map(|block| {
                let range = writer_of(block, written)?;
                let what = format!("and a block has the instant {} in its header", block.instant);
                Some(damaged(block.bytes.start, range, what))
            })
        })
    }

    /// No write recorded the length that a listing had.
    fn check_planned(&self, log: &LogFile) -> Result<()> {
        if self.len >= log.len {
            return Ok(());
        }
        let message = format!(
            "the file had {} bytes when the query was planned, now {}; plan the query again",
            log.len, self.len
        );
        Err(Error::invalid_table(message).in_file(&self.path))
    }
}

/// Returns the instant that a command rolls back.
pub(in crate::read) fn rollback_target(block: &Block) -> Option<RequestedTime> {
    RequestedTime::parse(&block.header.get(HeaderKey::TargetInstantTime)?)
}

/// Returns the instant of a block with rows or deleted keys.
fn instant_of_rows(block: &Block) -> Option<RequestedTime> {
    match block.kind {
        BlockKind::Sound(BlockType::Command) | BlockKind::Unknown(_) | BlockKind::Corrupt(_) => None,
        BlockKind::Sound(_) => block.header.requested_time(),
    }
}

/// Returns the write of the bytes of a block, if it is not that of the instant in its header.
fn writer_of<'a>(block: &NamedBlock, written: &'a [WrittenRange]) -> Option<&'a WrittenRange> {
    let contains = |range: &&WrittenRange| range.bytes.start <= block.bytes.start && block.bytes.end <= range.bytes.end;
    if written.iter().filter(contains).any(|range| range.instant == block.instant) {
        return None;
    }
    written.iter().find(contains)
}

/// Reads the timeline of the table in a storage.
pub(super) fn written_ranges(storage: &Arc<dyn Storage>) -> Result<WrittenRanges> {
    let config = TableConfig::load(storage.as_ref())?;
    Ok(WrittenRanges::new(Timeline::load(storage, &config)?))
}

/// Adds the length that a write recorded to an error of reading a base file, if the file has another length.
pub(in crate::read) fn with_recorded_length(
    error: Error,
    base: &BaseFile,
    storage: &Arc<dyn Storage>,
    report: &SharedReport,
) -> Error {
    let is_of_base = error.location().path.as_ref().is_some_and(|path| path.ends_with(base.name()));
    if !is_of_base || !matches!(error.kind(), ErrorKind::InvalidTable | ErrorKind::CorruptLog | ErrorKind::Io) {
        return error;
    }
    // The error is that of the file, also if its write is not known.
    let written = report.written_ranges(|| written_ranges(storage));
    let Ok(Some(range)) = written.and_then(|written| written.of_base_file(&base.path, &base.instant)) else {
        return error;
    };
    let (expected, Ok(len)) = (range.bytes.end, storage.len_of(&base.path)) else { return error };
    if len == expected {
        return error;
    }
    let location = error.location().clone();
    let message = format!(
        "{}; the completed instant {} wrote {expected} bytes, and the file has {len}: restore it from a copy",
        error.text(),
        range.instant
    );
    let longer = Error::new(error.kind(), message).in_file(storage.full_path(&base.path)).at_instant(&range.instant);
    match location.offset {
        Some(offset) => longer.at_offset(offset),
        None => longer,
    }
}

fn raised(damage: &DamagedFile) -> Error {
    let message = format!(
        "the log file is damaged: {}; restore the file from a copy, or use on_damage=\"warn\" to go on without what is lost",
        damage.reason
    );
    Error::corrupt(message).at_offset(damage.offset).in_file(&damage.file).at_instant(&damage.instant)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(instant: &str, bytes: Range<u64>) -> WrittenRange {
        WrittenRange { instant: instant.into(), bytes }
    }

    fn seen(len: u64, corrupt: &[(u64, u64)]) -> SeenLog {
        let corrupt = corrupt.iter().map(|(start, end)| CorruptBytes { bytes: *start..*end, reason: "cut".into() });
        SeenLog { corrupt: corrupt.collect(), ..SeenLog::new("/t/log", len) }
    }

    fn named(blocks: &[(&str, Range<u64>)]) -> SeenLog {
        let block =
            |(instant, bytes): &(&str, Range<u64>)| NamedBlock { bytes: bytes.clone(), instant: (*instant).into() };
        SeenLog { doubtful: blocks.iter().map(block).collect(), ..SeenLog::new("/t/log", 30) }
    }

    fn found(seen: &SeenLog, written: &[WrittenRange]) -> Option<(u64, String)> {
        seen.damage(written).map(|damage| (damage.offset, damage.instant.to_string()))
    }

    #[test]
    fn what_no_completed_write_wrote_is_not_damage() {
        let written = [range("1", 0..10), range("3", 20..30)];
        assert_eq!(found(&seen(30, &[]), &written), None);
        // A rollback may append a block; a stopped writer may leave a part of one, at the end or between others.
        assert_eq!(found(&seen(45, &[(10, 20), (30, 45)]), &written), None);
        assert_eq!(found(&seen(0, &[]), &[]), None);
    }

    #[test]
    fn lost_and_corrupt_bytes_of_completed_writes_are_damage() {
        let written = [range("1", 0..10), range("3", 20..30)];
        assert_eq!(found(&seen(20, &[]), &written), Some((20, "3".into())), "at the border of a block");
        assert_eq!(found(&seen(25, &[(20, 25)]), &written), Some((25, "3".into())));
        assert_eq!(found(&seen(0, &[]), &written), Some((0, "1".into())));
        assert_eq!(found(&seen(30, &[(5, 30)]), &written), Some((5, "1".into())));
        assert_eq!(found(&seen(60, &[(15, 60)]), &written), Some((15, "3".into())), "the next magic is destroyed");
    }

    #[test]
    fn blocks_of_other_instants_than_their_write_are_damage() {
        let written = [range("1", 0..10), range("3", 20..30)];
        assert_eq!(found(&named(&[("1", 0..5), ("1", 5..10), ("3", 20..30)]), &written), None);
        assert_eq!(found(&named(&[("2", 10..20)]), &written), None, "it was rolled back, or its metadata is deleted");
        assert_eq!(found(&named(&[("1", 0..5), ("7", 5..10)]), &written), Some((5, "1".into())));
        assert_eq!(found(&named(&[("1", 20..30)]), &written), Some((20, "3".into())), "another write of the log");
        // Two statistics of one write are one range, in which another write may have appended.
        assert_eq!(found(&named(&[("2", 10..20)]), &[range("1", 0..30), range("2", 10..20)]), None);
    }
}
