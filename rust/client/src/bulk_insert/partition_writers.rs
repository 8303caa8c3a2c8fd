//! The new files that one thread writes: a series of file groups for each partition.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::keyed_rows::{KeyedRows, RowPlace};
use super::sorter::Sorter;
use mortice_base::error::Result;
use mortice_base::names::RequestedTime;
use mortice_commit::metadata_upkeep::keeps_blooms;
use mortice_storage::{FileStore, check_cancelled};
use mortice_table::plan::OpenTable;
use mortice_write::index::new_group_prefix;
use mortice_write::rows::WriteSchema;
use mortice_write::write::{BaseFileOptions, CreateHandle, CreateTarget, MetaColumns, WriteStatus, WriteToken};

/// Partitions whose files are open at the same time: an open file takes memory and a file descriptor.
pub(super) const OPEN_FILES: usize = 100;
/// Bytes of rows of other partitions that are sorted at a time.
const RUN_BYTES: usize = 32 << 20;

/// What is known of new files before there are rows.
pub(crate) struct BulkTarget<'a> {
    pub(crate) store: &'a Arc<dyn FileStore>,
    pub(crate) table: &'a OpenTable,
    pub(crate) schema: &'a WriteSchema,
    pub(crate) instant: &'a RequestedTime,
    pub(crate) base: BaseFileOptions,
    /// In the names of files: the engine's stage, and a number that no other attempt to write has.
    pub(crate) stage: u32,
    pub(crate) attempt: u64,
    /// The number of the next series of file groups.
    pub(crate) next_task: AtomicU32,
    /// Bytes of rows that wait in memory for their row group to be complete.
    pub(crate) memory: usize,
}

/// Writes rows to new file groups: a series of them for each partition and, by a user-defined partitioner, each output.
///
/// Rows of so many partitions that their files cannot be open together are sorted, and written once the others are.
pub(crate) struct PartitionWriters<'a> {
    target: &'a BulkTarget<'a>,
    handles: HashMap<RowPlace, CreateHandle>,
    /// Whether rows come sorted by partition, so that one partition has open files.
    is_sorted: bool,
    /// Rows that wait until the files of other partitions are complete.
    others: Option<Sorter>,
    statuses: Vec<WriteStatus>,
}

impl<'a> PartitionWriters<'a> {
    pub(crate) fn new(target: &'a BulkTarget<'a>, is_sorted: bool) -> Self {
        Self { target, handles: HashMap::new(), is_sorted, others: None, statuses: Vec::new() }
    }

    /// Writes rows of any partitions.
    pub(crate) fn insert(&mut self, rows: KeyedRows) -> Result<()> {
        for (place, rows) in rows.by_place()? {
            check_cancelled()?;
            if !self.handles.contains_key(&place) {
                if self.is_sorted {
                    self.close()?;
                } else if self.handles.len() >= OPEN_FILES && rows.outputs.is_none() {
                    let others = || Sorter::new(&self.target.schema.types, RUN_BYTES);
                    self.others.get_or_insert_with(others).add(rows)?;
                    continue;
                }
            }
            let handle = match self.handles.entry(place) {
                std::collections::hash_map::Entry::Occupied(handle) => handle.into_mut(),
                std::collections::hash_map::Entry::Vacant(place) => {
                    let handle = new_handle(self.target, &place.key().partition);
                    place.insert(handle)
                }
            };
            handle.insert(&rows.rows, meta_columns(self.target, &rows))?;
        }
        self.limit_memory()
    }

    /// Completes the files.
    pub(crate) fn finish(mut self) -> Result<Vec<WriteStatus>> {
        self.close()?;
        if let Some(others) = self.others.take() {
            self.is_sorted = true;
            for rows in others.finish()? {
                self.insert(rows?)?;
            }
            self.close()?;
        }
        Ok(self.statuses)
    }

    fn close(&mut self) -> Result<()> {
        let mut handles: Vec<(RowPlace, CreateHandle)> = self.handles.drain().collect();
        handles.sort_by(|(one, _), (other, _)| one.cmp(other));
        for (_, handle) in handles {
            self.statuses.extend(completed(handle, self.target)?);
        }
        Ok(())
    }

    /// Ends the row groups of the files that hold most, until they hold less than the limit together.
    fn limit_memory(&mut self) -> Result<()> {
        loop {
            let held: usize = self.handles.values().map(CreateHandle::held_bytes).sum();
            if held <= self.target.memory {
                return Ok(());
            }
            let largest = self.handles.values_mut().max_by_key(|handle| handle.held_bytes());
            let Some(largest) = largest.filter(|handle| handle.held_bytes() > 0) else { return Ok(()) };
            largest.end_row_group()?;
        }
    }
}

/// Completes the files of a series.
pub(super) fn completed(handle: CreateHandle, target: &BulkTarget<'_>) -> Result<Vec<WriteStatus>> {
    let mut statuses = handle.finish()?;
    if !keeps_blooms(&target.table.config) {
        statuses.iter_mut().for_each(WriteStatus::drop_bloom);
    }
    Ok(statuses)
}

/// The meta columns of rows.
pub(super) fn meta_columns<'r>(target: &BulkTarget<'_>, rows: &'r KeyedRows) -> MetaColumns<'r> {
    match target.table.config.populate_meta_fields {
        true => MetaColumns::Computed { record_keys: &rows.keys.record_keys },
        false => MetaColumns::Absent,
    }
}

/// A new series of file groups of a partition.
pub(super) fn new_handle(target: &BulkTarget<'_>, partition: &str) -> CreateHandle {
    let task = target.next_task.fetch_add(1, Ordering::Relaxed);
    let create = CreateTarget {
        partition: partition.to_owned(),
        file_id_prefix: new_group_prefix(),
        instant: target.instant.clone(),
        token: WriteToken { task, stage: target.stage, attempt: target.attempt },
    };
    CreateHandle::new(Arc::clone(target.store), &target.schema.stored, create, target.base.clone(), false)
}
