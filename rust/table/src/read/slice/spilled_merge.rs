//! A merge whose keys do not fit in memory, in several passes over hash ranges of the keys. Each pass reads the keys of
//! the logs and of the base file again, and spills the record groups that it finds; then the base file is read once,
//! with the groups of all passes.
//!
//! 1. The keys of a hash range are indexed, as many as fit.
//! 2. The keys of the base file probe the index: the group that a base row matches is written under the number of the
//!    row, so that numbers ascend.
//! 3. The groups that no base row has matched are written one after the other.
//! 4. The next pass begins. After the last, the groups of all passes are merged in the order of base rows; the key of
//!    each row is in one hash range.

use std::collections::VecDeque;

use arrow_array::RecordBatch;

use crate::read::base::base_segments::{BaseSegment, BaseSegments};
use crate::read::memory::SliceMemory;
use mortice_base::error::Result;
use mortice_formats::base_file::BaseBatches;
use mortice_merge::keys::KeyColumns;
use mortice_merge::merge::RecordGroups;
use mortice_merge::merge::engine::{BuildSide, SpilledGroups};
use mortice_merge::spill::{BatchReader, BatchWriter};

/// The number of groups that are written at a time.
const GROUPS: usize = 8 * 1024;

/// The groups that the passes have spilled.
#[derive(Default)]
pub(super) struct SpilledMerge {
    base: Vec<Run>,
    inserts: VecDeque<Run>,
}

impl SpilledMerge {
    /// Spills the groups of a pass. `base` reads the keys and ordering values of the base file.
    pub(super) fn add_pass(
        &mut self,
        build: &mut BuildSide,
        keys: &KeyColumns,
        base: &dyn Fn(BaseSegment) -> Result<BaseBatches>,
        segments: &BaseSegments,
        memory: &SliceMemory,
    ) -> Result<()> {
        let mut run = RunWriter::new(memory);
        for segment in [BaseSegment::Before, BaseSegment::Own, BaseSegment::After] {
            if !segments.has(segment) {
                continue;
            }
            let mut number = segments.row_numbers(segment).start;
            for batch in base(segment)? {
                let batch = batch?;
                let rows = keys.key.base_rows(&batch, number)?;
                if segment == BaseSegment::Own {
                    build.probe_into(&mut run.groups, &rows, &keys.base_ordering(&batch)?, number)?;
                    run.write_full()?;
                } else {
                    build.skip_base(&rows)?;
                }
                number += batch.num_rows() as u64;
            }
        }
        self.base.extend(run.finish()?);
        build.restrict_inserts(segments.share());
        let mut run = RunWriter::new(memory);
        let mut from = Some(0);
        while let Some(at) = from {
            from = build.inserts_into(&mut run.groups, at, GROUPS)?;
            run.write_all()?;
        }
        self.inserts.extend(run.finish()?);
        Ok(())
    }
}

impl SpilledGroups for SpilledMerge {
    fn base_groups(&mut self, end: u64) -> Result<RecordGroups> {
        let mut found = RecordGroups::default();
        for run in &mut self.base {
            run.take_until(end, &mut found)?;
        }
        Ok(found)
    }

    fn insert_groups(&mut self) -> Result<Option<RecordGroups>> {
        while let Some(run) = self.inserts.front_mut() {
            match run.reader.next() {
                Some(batch) => return RecordGroups::from_batch(&batch?).map(Some),
                None => drop(self.inserts.pop_front()),
            }
        }
        Ok(None)
    }
}

/// Writes the groups of one pass.
struct RunWriter<'a> {
    memory: &'a SliceMemory,
    /// Groups that are not written yet.
    groups: RecordGroups,
    writer: Option<BatchWriter>,
}

impl<'a> RunWriter<'a> {
    fn new(memory: &'a SliceMemory) -> Self {
        Self { memory, groups: RecordGroups::default(), writer: None }
    }

    /// Writes the groups if there are enough for a batch.
    fn write_full(&mut self) -> Result<()> {
        if self.groups.len() < GROUPS { Ok(()) } else { self.write_all() }
    }

    fn write_all(&mut self) -> Result<()> {
        if self.groups.is_empty() {
            return Ok(());
        }
        let batch: RecordBatch = std::mem::take(&mut self.groups).to_batch()?;
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => self.writer.insert(self.memory.run(batch.schema_ref())?),
        };
        writer.write(&batch)
    }

    fn finish(mut self) -> Result<Option<Run>> {
        self.write_all()?;
        let reader = self.writer.map(BatchWriter::finish).transpose()?;
        Ok(reader.map(|reader| Run { reader, current: RecordGroups::default(), next: 0 }))
    }
}

/// The groups of one pass, read back.
struct Run {
    reader: BatchReader,
    current: RecordGroups,
    /// The next group of `current`.
    next: usize,
}

impl Run {
    /// Adds the groups of base rows before `end` to `found`.
    fn take_until(&mut self, end: u64, found: &mut RecordGroups) -> Result<()> {
        loop {
            self.next = found.take_until(&self.current, self.next, end)?;
            if self.next < self.current.len() {
                return Ok(());
            }
            let Some(batch) = self.reader.next() else { return Ok(()) };
            (self.current, self.next) = (RecordGroups::from_batch(&batch?)?, 0);
        }
    }
}
