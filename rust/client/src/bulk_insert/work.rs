//! What the threads of a bulk insert do with rows.

use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::RecordBatch;

use super::keyed_rows::{KeyedRows, RowPlace, outputs_of};
use super::lanes::{Lanes, Work};
use super::partition_writers::{BulkTarget, PartitionWriters, completed, meta_columns};
use super::place_router::{InsertLane, PlaceRouter};
use mortice_base::error::Result;
use mortice_merge::keys::RowKeys;
use mortice_merge::spill::row_bytes;
use mortice_storage::check_cancelled;
use mortice_table::timeline::WriteOperation;
use mortice_write::rows::{DeleteMarks, FullRows, ReaderPool, RefusedRows, RowSource, check_inserts};
use mortice_write::write::WriteStatus;

/// Reads the rows of chunks: any thread, one chunk each.
pub(super) struct Reading<'a> {
    pub(super) source: RowSource<'a>,
    pub(super) target: &'a BulkTarget<'a>,
    pub(super) marks: DeleteMarks,
    /// Whether a user-defined partitioner has chosen outputs.
    pub(super) has_outputs: bool,
    /// Rows that were left out, as they delete their keys.
    pub(super) deleted: AtomicU64,
    pub(super) readers: ReaderPool<FullRows<'a>>,
}

impl Reading<'_> {
    /// The rows of a chunk that are written, and those that are left out. Generated keys have the row's number in the
    /// input.
    pub(super) fn read(&self, chunk: &RecordBatch, first_row: u64) -> Result<(Vec<KeyedRows>, RefusedRows)> {
        let new_reader = || FullRows::new(self.source, self.target.instant, 0, self.readers.ignores_failed());
        let (parts, refused) = self.readers.read(new_reader, chunk, first_row)?;
        let outputs = if self.has_outputs { outputs_of(chunk)? } else { None };
        let rows = |(rows, keys): (RecordBatch, RowKeys)| {
            check_inserts(WriteOperation::BulkInsert, &rows, first_row)?;
            let deletes = self.marks.of_rows(&rows)?;
            self.deleted.fetch_add(deletes.true_count() as u64, Ordering::Relaxed);
            KeyedRows { rows, keys, outputs: outputs.clone() }.without(&deletes)
        };
        Ok((parts.into_iter().map(rows).collect::<Result<_>>()?, refused))
    }
}

/// Writes rows to new file groups.
pub(super) struct InsertWork<'a, 'r> {
    pub(super) reading: &'r Reading<'a>,
    pub(super) target: &'a BulkTarget<'a>,
}

/// Rows that are to be inserted.
pub(super) enum InsertChunk {
    /// As they are given, and the number of the first.
    Given(RecordBatch, u64),
    /// Rows that were read and sorted.
    Sorted(Box<KeyedRows>),
}

/// A chunk by place, with the bytes of its rows.
pub(super) struct PlacedRows {
    rows: Vec<((RowPlace, KeyedRows), usize)>,
    refused: RefusedRows,
}

impl<'a> Work for InsertWork<'a, '_> {
    type Chunk = InsertChunk;
    type Prepared = PlacedRows;
    type Router = PlaceRouter<'a>;
    type Lane = InsertLane;
    type Item = KeyedRows;
    type Done = Vec<WriteStatus>;

    fn prepare(&self, chunk: InsertChunk) -> Result<PlacedRows> {
        check_cancelled()?;
        let (parts, refused) = match chunk {
            InsertChunk::Given(chunk, first_row) => self.reading.read(&chunk, first_row)?,
            InsertChunk::Sorted(rows) => (vec![*rows], RefusedRows::default()),
        };
        let mut rows = Vec::new();
        for part in parts {
            for (place, own) in part.by_place()? {
                let bytes = row_bytes(&own.rows);
                rows.push(((place, own), bytes));
            }
        }
        Ok(PlacedRows { rows, refused })
    }

    fn route(&self, router: &mut PlaceRouter<'a>, chunk: PlacedRows, lanes: &mut Lanes<'_, Self>) -> Result<()> {
        router.refuse(chunk.refused);
        chunk.rows.into_iter().try_for_each(|((place, rows), bytes)| router.pass(place, rows, bytes, lanes))
    }

    fn write(&self, lane: &mut InsertLane, rows: KeyedRows) -> Result<()> {
        check_cancelled()?;
        match lane {
            InsertLane::Series(handle) => handle.insert(&rows.rows, meta_columns(self.target, &rows)),
            InsertLane::Waiting(sorter) => sorter.add(rows),
        }
    }

    fn held_bytes(&self, lane: &InsertLane) -> usize {
        match lane {
            InsertLane::Series(handle) => handle.held_bytes(),
            // It has a limit of its own.
            InsertLane::Waiting(_) => 0,
        }
    }

    fn relieve(&self, lane: &mut InsertLane) -> Result<()> {
        match lane {
            InsertLane::Series(handle) => handle.end_row_group(),
            InsertLane::Waiting(_) => Ok(()),
        }
    }

    fn finish(&self, lane: InsertLane) -> Result<Vec<WriteStatus>> {
        match lane {
            InsertLane::Series(handle) => completed(*handle, self.target),
            InsertLane::Waiting(sorter) => {
                let mut writers = PartitionWriters::new(self.target, true);
                for rows in sorter.finish()? {
                    writers.insert(rows?)?;
                }
                writers.finish()
            }
        }
    }
}
