//! A slice whose keys do not fit in memory, spilled in passes. Each pass reads the keys of the logs and of the base file again, for
//! a part of all keys, and notes in a file what becomes of them; then the base file is read once, the notes beside it.
//!
//! 1. The keys of a part are indexed, as many as fit.
//! 2. The base file's keys go by: which log records each base row meets is noted under the row's number, in ascending order.
//! 3. The keys that no base row has met are noted behind each other.
//! 4. The next part; after the last, the notes of all passes are merged as base rows come by, for each row is of one part.

use std::collections::VecDeque;

use arrow_array::RecordBatch;

use super::base_rows::row_in_batch;
use crate::base_file::Batches;
use crate::error::Result;
use crate::keys::KeyColumns;

use crate::merge::{
    BaseRows, GroupedRecords, HashRange, LogSink, MergeOutcome, OrderingColumn, RecordGroups, WinningRecords,
};
use crate::read::base::base_segments::{BaseSegments, Segment};
use crate::read::memory::SliceMemory;
use crate::spill::{BatchReader, BatchWriter};

/// Keys whose notes are written at a time.
const NOTES: usize = 8 * 1024;

/// Keys of one pass.
pub(in crate::read) trait Pass: LogSink {
    /// Which keys they are.
    fn hash_range(&self) -> HashRange;

    /// Notes what the log has for base rows, the first of which has the number `first`.
    fn note_base(
        &mut self,
        rows: &BaseRows,
        ordering: &OrderingColumn,
        first: u64,
        notes: &mut RecordGroups,
    ) -> Result<()>;

    /// Base rows that others read: what they meet is used up.
    fn skip_base(&mut self, rows: &BaseRows) -> Result<()>;

    /// Keys that no base row has met, and that are not of a share of all keys, are others'.
    fn restrict_inserts(&mut self, share: HashRange);

    /// Notes what the log has for keys that no base row has met, from entry `from` on; the entry to go on from.
    fn note_inserts(&self, from: usize, notes: &mut RecordGroups) -> Result<Option<usize>>;
}

impl Pass for WinningRecords {
    fn hash_range(&self) -> HashRange {
        Self::hash_range(self)
    }

    fn note_base(
        &mut self,
        rows: &BaseRows,
        ordering: &OrderingColumn,
        first: u64,
        notes: &mut RecordGroups,
    ) -> Result<()> {
        let mut outcomes = self.probe(rows, ordering)?.into_iter();
        outcomes.try_for_each(|(row, outcome)| notes.add_outcome(first.saturating_add(row as u64), outcome))
    }

    fn skip_base(&mut self, rows: &BaseRows) -> Result<()> {
        Self::skip_base(self, rows)
    }

    fn restrict_inserts(&mut self, share: HashRange) {
        Self::restrict_inserts(self, share);
    }

    fn note_inserts(&self, from: usize, notes: &mut RecordGroups) -> Result<Option<usize>> {
        let (outcomes, next) = self.inserts(from, NOTES);
        (0..).zip(outcomes).try_for_each(|(number, outcome)| notes.add_outcome(number, outcome))?;
        Ok(next)
    }
}

impl Pass for GroupedRecords {
    fn hash_range(&self) -> HashRange {
        Self::hash_range(self)
    }

    fn note_base(&mut self, rows: &BaseRows, _: &OrderingColumn, first: u64, notes: &mut RecordGroups) -> Result<()> {
        let met = self.probe(rows)?;
        self.copy_to(notes, met.into_iter().map(|(row, entry)| (first + row as u64, entry)))
    }

    fn skip_base(&mut self, rows: &BaseRows) -> Result<()> {
        Self::skip_base(self, rows)
    }

    fn restrict_inserts(&mut self, share: HashRange) {
        Self::restrict_inserts(self, share);
    }

    fn note_inserts(&self, from: usize, notes: &mut RecordGroups) -> Result<Option<usize>> {
        let (entries, next) = self.inserts(from, NOTES);
        self.copy_to(notes, (0..).zip(entries))?;
        Ok(next)
    }
}

/// What became of all keys of a slice.
#[derive(Default)]
pub(in crate::read) struct SpilledMerge {
    base: Vec<Run>,
    inserts: VecDeque<Run>,
    /// The number of the next base row.
    row: u64,
}

impl SpilledMerge {
    /// Notes what becomes of the keys of a pass. `base` are the base file's keys and ordering values. Rows are noted by their
    /// numbers among the part's own.
    pub(in crate::read) fn add(
        &mut self,
        pass: &mut dyn Pass,
        keys: &KeyColumns,
        base: &dyn Fn(Segment) -> Result<Batches>,
        segments: &BaseSegments,
        memory: &SliceMemory,
    ) -> Result<()> {
        let mut run = RunWriter::new(memory);
        for segment in [Segment::Before, Segment::Own, Segment::After] {
            if !segments.has(segment) {
                continue;
            }
            let mut number = segments.row_numbers(segment).start;
            let mut first = 0;
            for batch in base(segment)? {
                let batch = batch?;
                let rows = batch.num_rows();
                let met = keys.key.base_rows(&batch, number)?;
                if segment == Segment::Own {
                    pass.note_base(&met, &keys.base_ordering(&batch)?, first, &mut run.notes)?;
                    run.write_some()?;
                } else {
                    pass.skip_base(&met)?;
                }
                number += rows as u64;
                first += rows as u64;
            }
        }
        self.base.extend(run.finish()?);
        pass.restrict_inserts(segments.share());
        let mut run = RunWriter::new(memory);
        let mut from = Some(0);
        while let Some(at) = from {
            from = pass.note_inserts(at, &mut run.notes)?;
            run.write_all()?;
        }
        self.inserts.extend(run.finish()?);
        Ok(())
    }

    /// What there is for the next `rows` base rows, and the number of the first of them.
    pub(in crate::read) fn of_base(&mut self, rows: usize) -> Result<(u64, RecordGroups)> {
        let first = self.row;
        self.row += rows as u64;
        let mut found = RecordGroups::default();
        for run in &mut self.base {
            run.take_until(self.row, &mut found)?;
        }
        Ok((first, found))
    }

    /// Some keys that no base row has met; none after the last.
    pub(in crate::read) fn inserts(&mut self) -> Result<Option<RecordGroups>> {
        while let Some(run) = self.inserts.front_mut() {
            match run.reader.next() {
                Some(batch) => return RecordGroups::from_batch(&batch?).map(Some),
                None => drop(self.inserts.pop_front()),
            }
        }
        Ok(None)
    }
}

/// The outcomes of base rows by what was noted of them; `first` is the number of the first row.
///
/// # Errors
/// `Internal` if the notes are of rows before the first.
pub(in crate::read) fn outcomes(notes: &RecordGroups, first: u64) -> Result<Vec<(usize, MergeOutcome)>> {
    notes
        .outcomes()
        .map(|outcome| outcome.and_then(|(number, outcome)| Ok((row_in_batch(number, first)?, outcome))))
        .collect()
}

/// Notes on their way to a file.
struct RunWriter<'a> {
    memory: &'a SliceMemory,
    notes: RecordGroups,
    writer: Option<BatchWriter>,
}

impl<'a> RunWriter<'a> {
    fn new(memory: &'a SliceMemory) -> Self {
        Self { memory, notes: RecordGroups::default(), writer: None }
    }

    fn write_some(&mut self) -> Result<()> {
        if self.notes.len() < NOTES { Ok(()) } else { self.write_all() }
    }

    fn write_all(&mut self) -> Result<()> {
        if self.notes.is_empty() {
            return Ok(());
        }
        let batch: RecordBatch = std::mem::take(&mut self.notes).to_batch()?;
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

/// Notes of one pass, read again.
struct Run {
    reader: BatchReader,
    current: RecordGroups,
    next: usize,
}

impl Run {
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
