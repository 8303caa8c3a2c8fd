//! The files of a slice of the metadata table as streams of keys in their order: the base file, and each valid block of
//! the logs.
//!
//! Memory holds a data block of each HFile, and the keys of delete blocks.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use bytes::Bytes;

use crate::service_table::ServiceTable;
use mortice_avro::Schema;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;
use mortice_formats::hfile::{Cells, HFile, HFileScan};
use mortice_formats::log::{
    BlockKind, BlockRef, BlockType, ForwardScan, HeaderKey, LogFile, ScanControl, ScanRules, ValidBlocks,
};
use mortice_storage::{FileSource, KnownFile, PrefixSource, SectionSource};
use mortice_table::file_group::FileSlice;

/// What a source says of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// Its record.
    Record(Bytes),
    /// Its delete.
    Delete,
}

/// A stream of keys with their entries.
pub(super) struct SortedSource {
    path: String,
    stream: Stream,
    /// The schema of the records; none of a delete block.
    pub(super) schema: Option<Schema>,
}

enum Stream {
    Records { scan: HFileScan, cells: Option<(Cells, usize)> },
    Deletes(std::vec::IntoIter<Bytes>),
}

/// The sources of a slice, in the order in which their entries are merged, and what was read of logs.
pub(super) struct Sources {
    pub(super) base: Option<SortedSource>,
    pub(super) logs: Vec<SortedSource>,
    pub(super) log_blocks: u64,
    pub(super) rollback_blocks: u64,
}

impl Sources {
    /// Opens the files of a slice. Blocks of instants that `is_committed` refuses are left out.
    pub(super) fn open(
        table: &ServiceTable,
        slice: &FileSlice,
        latest: &RequestedTime,
        is_committed: &dyn Fn(&RequestedTime) -> bool,
    ) -> Result<Self> {
        let base = slice.base_file.as_ref().map(|base| {
            let known = KnownFile { len: base.len, etag: base.etag.clone(), may_have_grown: false };
            let file = table.storage.open_known(&base.path, &known)?;
            SortedSource::records(&file, None)
        });
        let rules = ScanRules { is_committed: Some(is_committed), ..ScanRules::hudi_1_x(Some(latest)) };
        let (mut valid, mut files) = (ValidBlocks::new(rules), Vec::new());
        let (mut log_blocks, mut rollback_blocks) = (0_u64, 0_u64);
        'files: for (ordinal, log) in slice.log_files.iter().enumerate() {
            let known = KnownFile { len: log.len, etag: log.etag.clone(), may_have_grown: true };
            let file: Arc<dyn FileSource> =
                Arc::new(PrefixSource::new(table.storage.open_known(&log.path, &known)?, log.len)?);
            files.push(Arc::clone(&file));
            for block in ForwardScan::new(Arc::clone(&file)) {
                let block = block?;
                if let BlockKind::Corrupt(damage) = &block.kind {
                    let error = Error::corrupt(damage.reason.clone()).at_offset(damage.offset);
                    return Err(error.in_block(block.index).in_file(file.path()));
                }
                log_blocks = log_blocks.saturating_add(1);
                let is_command = block.kind == BlockKind::Sound(BlockType::Command);
                rollback_blocks = rollback_blocks.saturating_add(u64::from(is_command));
                if valid.add(ordinal, block).map_err(|error| error.in_file(file.path()))? == ScanControl::Ended {
                    break 'files;
                }
            }
        }
        let blocks = valid.finish()?;
        let logs = blocks.iter().map(|block| SortedSource::of_block(&files, block)).collect::<Result<_>>()?;
        Ok(Self { base: base.transpose()?, logs, log_blocks, rollback_blocks })
    }
}

impl SortedSource {
    fn of_block(files: &[Arc<dyn FileSource>], block: &BlockRef) -> Result<Self> {
        let file = files.get(block.file).ok_or_else(|| Error::internal("a log block of a file that is not open"))?;
        let block = &block.block;
        let mark = |error: Error| {
            let error = error.offset_from(block.content.start).in_block(block.index).in_file(file.path());
            match block.header.instant_time() {
                Some(instant) => error.at_instant(instant),
                None => error,
            }
        };
        match &block.kind {
            BlockKind::Sound(BlockType::HfileData) => {
                let section: Arc<dyn FileSource> =
                    Arc::new(SectionSource::new(Arc::clone(file), block.content.clone())?);
                Self::records(&section, block.header.get(HeaderKey::Schema).as_deref()).map_err(mark)
            }
            BlockKind::Sound(BlockType::Delete) => Self::deletes(file, block),
            _ => {
                let message = format!("a {} in a log file of the metadata table", block.type_name());
                Err(mark(Error::unsupported(message)))
            }
        }
    }

    /// The records of an HFile, whose schema is in it or, before 0.10, in the header of its log block.
    fn records(file: &Arc<dyn FileSource>, header: Option<&str>) -> Result<Self> {
        let path = file.path().to_owned();
        if file.is_empty() {
            return Ok(Self { path, stream: Stream::Deletes(Vec::new().into_iter()), schema: None });
        }
        let hfile = HFile::open(Arc::clone(file)).map_err(|error| error.in_file(&path))?;
        if hfile.entry_count() == 0 {
            return Ok(Self { path, stream: Stream::Deletes(Vec::new().into_iter()), schema: None });
        }
        let schema = hfile.schema().or(header).ok_or_else(|| {
            Error::unsupported("an HFile of the metadata table without the schema of its records").in_file(&path)
        })?;
        let schema = Schema::parse(schema).map_err(|error| error.in_file(&path))?;
        let stream = Stream::Records { scan: hfile.scan(), cells: None };
        Ok(Self { path, stream, schema: Some(schema) })
    }

    fn deletes(file: &Arc<dyn FileSource>, block: &mortice_formats::log::Block) -> Result<Self> {
        let deletes = LogFile::new(Arc::clone(file)).deletes(block)?;
        let keys = deletes.column_by_name("record_key").and_then(|keys| keys.as_string_opt::<i32>());
        let keys = keys.ok_or_else(|| Error::internal("deleted keys without a column of keys"))?;
        let unkeyed = || Error::corrupt("a delete without a key").in_block(block.index).in_file(file.path());
        let keys = keys.iter().map(|key| key.map(|key| Bytes::copy_from_slice(key.as_bytes())).ok_or_else(unkeyed));
        let mut keys = keys.collect::<Result<Vec<Bytes>>>()?;
        keys.sort_unstable();
        keys.dedup();
        Ok(Self { path: file.path().to_owned(), stream: Stream::Deletes(keys.into_iter()), schema: None })
    }

    /// The file, for messages.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The next key with its entry, in the order of the keys' bytes; none at the end.
    pub(super) fn next_entry(&mut self) -> Result<Option<(Bytes, Entry)>> {
        let (scan, current) = match &mut self.stream {
            Stream::Deletes(keys) => return Ok(keys.next().map(|key| (key, Entry::Delete))),
            Stream::Records { scan, cells } => (scan, cells),
        };
        loop {
            if let Some((cells, at)) = current {
                if let Some(cell) = cells.cells.get(*at) {
                    *at = at.saturating_add(1);
                    let part =
                        |range: &std::ops::Range<u32>| cells.payload.slice(range.start as usize..range.end as usize);
                    return Ok(Some((part(&cell.key), Entry::Record(part(&cell.value)))));
                }
                *current = None;
            }
            match scan.next().transpose().map_err(|error| error.in_file(&self.path))? {
                Some(cells) => *current = Some((cells, 0)),
                None => return Ok(None),
            }
        }
    }
}
