//! The valid blocks of a file slice: frames all log files, reports damage, and applies the rules of the scan.

use std::iter::Peekable;
use std::sync::Arc;

use super::block_schemas::check_schemas;
use super::damage::{SeenLog, rollback_target};
use crate::file_group::{BaseFile, LogFile};
use crate::read::report::{CorruptRange, SharedReport};
use crate::split::{Query, Split};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_base::names::{LogFileName, RequestedTime};
use mortice_formats::log::{BlockKind, BlockRef, ForwardScan, ScanControl, ScanOrder, ScanRules, ValidBlocks};
use mortice_merge::config::{LogScan, MergeSemantics, OnCorrupt};
use mortice_storage::{FileSource, KnownFile, PrefixSource, Storage};

/// The open log files of a slice, and the valid blocks, oldest first.
pub(in crate::read) struct LogBlocks {
    /// The partition of the slice.
    pub(in crate::read) partition: String,
    pub(in crate::read) files: Vec<Arc<dyn FileSource>>,
    pub(in crate::read) blocks: Vec<BlockRef>,
}

impl LogBlocks {
    /// Returns true if some records have some of their columns only.
    pub(in crate::read) fn has_partial(&self) -> bool {
        self.blocks.iter().any(|found| found.block.is_partial())
    }
}

/// Frames all log files of a split. The contents of blocks are not read.
pub(in crate::read) fn scan(split: &Split, storage: &Arc<dyn Storage>, report: &SharedReport) -> Result<LogBlocks> {
    let instants = &split.query.instants;
    let is_committed = |instant: &RequestedTime| instants.is_committed(instant);
    let mut rules = match (split.query.options.semantics, split.query.options.log_scan) {
        (MergeSemantics::V0x, _) => ScanRules::hudi_0_x(instants.latest.as_ref()),
        (MergeSemantics::V1x, LogScan::ByInstant) => ScanRules::hudi_1_x(instants.latest.as_ref()),
        (MergeSemantics::V1x, LogScan::ByBlock) => {
            ScanRules { order: ScanOrder::ByBlock, ..ScanRules::hudi_1_x(instants.latest.as_ref()) }
        }
    };
    if split.query.commits_by_block {
        rules.is_committed = Some(&is_committed);
    }
    rules.range = split.query.range.as_ref().map(|range| &range.blocks);
    let mut files: Vec<Arc<dyn FileSource>> = Vec::new();
    let (mut valid, mut seen_logs, mut undone) = (ValidBlocks::new(rules), Vec::new(), Vec::new());
    for (ordinal, log) in split.slice.log_files.iter().enumerate() {
        let frames = LogFrames::open(storage.as_ref(), log, &split.query)?;
        let source = Arc::clone(&frames.source);
        let mut seen = SeenLog::new(source.path(), source.len());
        let name = LogFileName::parse(log.name());
        let mut control = ScanControl::GoesOn;
        files.push(Arc::clone(&source));
        for block in frames.blocks {
            let block = block?;
            note(&block, source.path(), split.query.options.on_corrupt, report)?;
            seen.note(&block);
            seen.note_other_instant(&block, name.as_ref(), &split.query);
            undone.extend(rollback_target(&block));
            control = valid.add(ordinal, block).map_err(|error| error.in_file(source.path()))?;
            if control == ScanControl::Ended {
                break;
            }
        }
        seen_logs.push((log, seen));
        if control == ScanControl::Ended {
            break;
        }
    }
    for (log, mut seen) in seen_logs {
        seen.forget_instants(&undone);
        seen.check(log, &split.query, storage, report)?;
    }
    let mut edited = report.edit();
    edited.files += files.len() as u64;
    edited.rolled_back += valid.rolled_back;
    edited.uncommitted += valid.uncommitted;
    drop(edited);
    let found = LogBlocks { partition: split.slice.partition.clone(), files, blocks: valid.finish()? };
    let blocks = found.blocks.iter().map(|one| (&one.block, found.files.get(one.file).map(|file| file.path())));
    check_schemas(blocks, &split.query, storage, report)?;
    Ok(found)
}

/// The frames of an open log file.
pub(in crate::read) struct LogFrames {
    pub(in crate::read) source: Arc<dyn FileSource>,
    pub(in crate::read) blocks: Peekable<ForwardScan>,
}

impl LogFrames {
    /// Opens a log, up to the length that was planned. The file may be shorter: [`SeenLog::check`] decides whether that
    /// is an error.
    pub(in crate::read) fn open(storage: &dyn Storage, log: &LogFile, query: &Query) -> Result<Self> {
        let mut frames = Self::within(storage, log, log.len, query)?;
        // Stores report the length of an object with its first bytes.
        let is_changed = matches!(frames.blocks.peek(), Some(Err(error)) if error.kind() == ErrorKind::FileChanged);
        if is_changed && log.etag.is_none() {
            let len = storage.len_of(&log.path)?;
            if len < log.len {
                frames = Self::within(storage, log, len, query)?;
            }
        }
        Ok(frames)
    }

    fn within(storage: &dyn Storage, log: &LogFile, len: u64, query: &Query) -> Result<Self> {
        let opened = open_log(storage, log, len, query)?;
        let len = len.min(opened.len());
        let source: Arc<dyn FileSource> = Arc::new(PrefixSource::new(opened, len)?);
        let blocks = ForwardScan::new(Arc::clone(&source)).peekable();
        Ok(Self { source, blocks })
    }
}

fn open_log(storage: &dyn Storage, log: &LogFile, len: u64, query: &Query) -> Result<Arc<dyn FileSource>> {
    let known = KnownFile { len, ..known_log(log) };
    open_planned(storage, &log.path, &known, query).map_err(|error| match LogFileName::parse(log.name()) {
        Some(name) => error.at_instant(name.instant),
        None => error,
    })
}

/// Returns the state of a log file in the plan: a writer may have appended to it since.
pub(in crate::read) fn known_log(log: &LogFile) -> KnownFile {
    KnownFile { len: log.len, etag: log.etag.clone(), may_have_grown: true }
}

/// Returns the state of a base file in the plan.
pub(in crate::read) fn known_base(base: &BaseFile) -> KnownFile {
    KnownFile { len: base.len, etag: base.etag.clone(), may_have_grown: false }
}

/// Opens a file of a plan; if it does not exist, the error is [`ErrorKind::FileCleaned`].
pub(in crate::read) fn open_planned(
    storage: &dyn Storage,
    path: &str,
    known: &KnownFile,
    query: &Query,
) -> Result<Arc<dyn FileSource>> {
    storage.open_known(path, known).map_err(|error| {
        if error.kind() != ErrorKind::NotFound {
            return error;
        }
        let message = match query.range {
            None => "the file was removed after the query was planned (by the cleaner, or a rollback); plan the query again",
            // Planned from commit metadata, which is kept longer than the files.
            Some(_) => "a commit of the range wrote this file, and the cleaner has removed it; begin the range later, or let the query fall back to a full table scan, which returns the rows that still exist",
        };
        Error::new(ErrorKind::FileCleaned, message).in_file(storage.full_path(path))
    })
}

pub(in crate::read) fn note(
    block: &mortice_formats::log::Block,
    path: &str,
    on_corrupt: OnCorrupt,
    report: &SharedReport,
) -> Result<()> {
    let mut edited = report.edit();
    *edited.blocks.entry(block.type_name().into_owned()).or_default() += 1;
    let BlockKind::Corrupt(damage) = &block.kind else { return Ok(()) };
    if on_corrupt == OnCorrupt::Raise {
        return Err(Error::corrupt(damage.reason.clone()).at_offset(damage.offset).in_block(block.index).in_file(path));
    }
    edited.corrupt.push(CorruptRange { file: path.to_owned(), offset: block.offset, reason: damage.reason.clone() });
    Ok(())
}
