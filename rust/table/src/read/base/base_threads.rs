//! Reads a base file with several threads, each of which decodes some of the columns, while earlier rows are merged.
//!
//! ```text
//! thread 1   columns a c     batch 0 · batch 1 · …  ┐
//! thread 2   columns b       batch 0 · batch 1 · …  ┴─> batches of a b c, in the file's order
//! ```
//! All threads skip the same rows. They end their batches at the same rows, unless rows are large: then a batch ends
//! where that of one of the threads ends. Hudi writes a base file as one row group, which cannot be divided by rows.
//! Threads are joined when the batches are dropped, and are at most two batches ahead.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use crate::read::reader_threads::{self, ReaderThreads};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_formats::base_file::{BaseBatches, batches_until_end};

/// The number of batches that wait for the consumer, per thread; another one is being decoded meanwhile.
const AHEAD: usize = 1;

/// The maximum number of batches of a thread that are in memory.
pub(in crate::read) const BATCHES_AHEAD: u64 = AHEAD as u64 + 1;

/// Assigns the columns of `wanted` to threads by weight, the heaviest first.
pub(in crate::read) fn shares(wanted: &SchemaRef, weights: &[u64], threads: usize) -> Vec<SchemaRef> {
    let mut columns: Vec<(usize, u64)> = weights.iter().copied().enumerate().collect();
    columns.sort_by_key(|(at, weight)| (std::cmp::Reverse(*weight), *at));
    let mut shares: Vec<(u64, Vec<usize>)> = vec![(0, Vec::new()); threads.clamp(1, columns.len().max(1))];
    for (at, weight) in columns {
        if let Some((sum, share)) = shares.iter_mut().min_by_key(|(sum, share)| (*sum, share.len())) {
            *sum = sum.saturating_add(weight);
            share.push(at);
        }
    }
    let schema = |mut columns: Vec<usize>| {
        columns.sort_unstable();
        Arc::new(Schema::new(columns.iter().filter_map(|at| wanted.fields().get(*at).cloned()).collect::<Vec<_>>()))
    };
    shares.into_iter().map(|(_, columns)| schema(columns)).collect()
}

/// Returns batches with all columns of `wanted`. Each share of the columns is read by its own thread.
pub(in crate::read) fn side_by_side(shares: Vec<(SchemaRef, BaseBatches)>, wanted: &SchemaRef) -> Result<BaseBatches> {
    let places = wanted.fields().iter().map(|field| {
        let of = |(share, (schema, _)): (usize, &(SchemaRef, BaseBatches))| {
            Some((share, schema.index_of(field.name()).ok()?))
        };
        shares.iter().enumerate().find_map(of)
    });
    let Some(places) = places.collect::<Option<Vec<_>>>() else {
        return Err(Error::internal("columns without a reader thread"));
    };
    let mut reading = SideBySide {
        wanted: Arc::clone(wanted),
        places,
        queues: Vec::new(),
        held: Vec::new(),
        threads: ReaderThreads::default(),
    };
    for (ordinal, (_, batches)) in shares.into_iter().enumerate() {
        reading.start(ordinal, batches)?;
    }
    Ok(batches_until_end(move || reading.next_batch()))
}

/// A message of a thread. The end is sent explicitly, so that a thread that panicked is not mistaken for one that is
/// done.
type Message = Option<Result<RecordBatch>>;

struct SideBySide {
    wanted: SchemaRef,
    /// The share of each column, and its position there.
    places: Vec<(usize, usize)>,
    /// Dropped before the threads: those that wait for space in a queue see that it is closed, and end.
    queues: Vec<Receiver<Message>>,
    /// What is left of the batch of each thread.
    held: Vec<Option<RecordBatch>>,
    threads: ReaderThreads,
}

impl SideBySide {
    fn start(&mut self, ordinal: usize, batches: BaseBatches) -> Result<()> {
        let (sender, receiver) = sync_channel(AHEAD);
        let read = move || {
            for batch in batches {
                if sender.send(Some(batch)).is_err() {
                    return;
                }
            }
            let _ = sender.send(None);
        };
        self.threads.start(format!("mortice-base-{ordinal}"), read)?;
        self.queues.push(receiver);
        self.held.push(None);
        Ok(())
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        self.threads.check_here()?;
        for (queue, held) in self.queues.iter().zip(&mut self.held) {
            if held.is_some() {
                continue;
            }
            let Ok(message) = reader_threads::received(queue)? else {
                return Err(Error::new(ErrorKind::Io, "a reader thread ended before its columns did"));
            };
            *held = message.transpose()?;
        }
        let at_end = self.held.iter().filter(|held| held.is_none()).count();
        let Some(rows) = self.held.iter().flatten().map(RecordBatch::num_rows).min().filter(|_| at_end == 0) else {
            if at_end == self.held.len() {
                return Ok(None);
            }
            return Err(Error::invalid_table("invalid base file: its columns differ in their number of rows"));
        };
        let parts: Vec<RecordBatch> = self.held.iter_mut().filter_map(|held| taken(held, rows)).collect();
        let column = |(share, at): &(usize, usize)| parts.get(*share)?.columns().get(*at).cloned();
        let columns: Vec<ArrayRef> = self.places.iter().filter_map(column).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.wanted), columns, &options).map(Some).map_err(|error| {
            Error::invalid_table("invalid base file: its columns do not fit the table").caused_by(error)
        })
    }
}

/// Takes the first rows of a batch; the others stay.
fn taken(held: &mut Option<RecordBatch>, rows: usize) -> Option<RecordBatch> {
    let batch = held.take()?;
    *held = (rows < batch.num_rows()).then(|| batch.slice(rows, batch.num_rows().saturating_sub(rows)));
    Some(batch.slice(0, rows))
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int32Array, StringArray};
    use arrow_schema::{DataType, Field};

    use super::*;

    fn wanted() -> SchemaRef {
        let field = |name, kind| Field::new(name, kind, true);
        Arc::new(Schema::new(vec![
            field("a", DataType::Int32),
            field("b", DataType::Utf8),
            field("c", DataType::Int32),
        ]))
    }

    fn batch(of: &[&str], rows: i32) -> RecordBatch {
        let column = |name: &str| -> ArrayRef {
            match name {
                "b" => Arc::new(StringArray::from_iter_values((0..rows).map(|row| row.to_string()))),
                _ => Arc::new(Int32Array::from_iter_values((0..rows).map(|row| row + i32::from(name.as_bytes()[0])))),
            }
        };
        RecordBatch::try_from_iter_with_nullable(of.iter().map(|name| (*name, column(name), true))).unwrap()
    }

    type ReadBatches = Vec<Result<RecordBatch>>;

    fn read(shares: Vec<(&[&str], ReadBatches)>) -> Vec<Result<RecordBatch>> {
        let share = |(columns, batches): (&[&str], ReadBatches)| {
            (batch(columns, 0).schema(), Box::new(batches.into_iter()) as BaseBatches)
        };
        side_by_side(shares.into_iter().map(share).collect(), &wanted()).unwrap().collect()
    }

    #[test]
    fn columns_come_together_in_their_order() {
        let of = |columns: &[&str]| vec![Ok(batch(columns, 3)), Ok(batch(columns, 1)), Ok(batch(columns, 0))];
        let all: Vec<_> = read(vec![(&["b"], of(&["b"])), (&["a", "c"], of(&["a", "c"]))]);
        let whole = |rows| batch(&["a", "b", "c"], rows);
        assert_eq!(all.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [whole(3), whole(1), whole(0)]);
    }

    #[test]
    fn batches_may_end_at_different_rows() {
        let of = |columns: &[&str], rows: &[i32]| rows.iter().map(|rows| Ok(batch(columns, *rows))).collect();
        let all = read(vec![(&["b"], of(&["b"], &[2, 2])), (&["a", "c"], of(&["a", "c"], &[1, 3]))]);
        let rows: Vec<_> = all.into_iter().map(|batch| batch.unwrap().num_rows()).collect();
        assert_eq!(rows, [1, 1, 2]);
    }

    #[test]
    fn an_error_is_the_last_thing() {
        let failed = || vec![Ok(batch(&["b"], 3)), Err(Error::corrupt("torn")), Ok(batch(&["b"], 3))];
        let sound = || (0..9).map(|_| Ok(batch(&["a", "c"], 3))).collect();
        let all = read(vec![(&["b"], failed()), (&["a", "c"], sound())]);
        assert_eq!((all.len(), all[1].as_ref().unwrap_err().kind()), (2, ErrorKind::CorruptLog));
    }

    #[test]
    fn columns_of_different_lengths_are_an_error() {
        for other in [vec![Ok(batch(&["b"], 2))], vec![], vec![Ok(batch(&["b"], 3)), Ok(batch(&["b"], 1))]] {
            let all = read(vec![(&["a", "c"], vec![Ok(batch(&["a", "c"], 3))]), (&["b"], other)]);
            assert_eq!(all.last().unwrap().as_ref().unwrap_err().kind(), ErrorKind::InvalidTable);
        }
    }

    #[test]
    fn a_consumer_that_stops_early_does_not_wait() {
        let endless = std::iter::repeat_with(|| Ok(batch(&["a", "b", "c"], 1)));
        let share = (wanted(), Box::new(endless) as BaseBatches);
        let mut batches = side_by_side(vec![share], &wanted()).unwrap();
        assert!(batches.next().unwrap().is_ok());
        drop(batches);
    }

    #[test]
    fn columns_are_assigned_by_weight() {
        let names = |weights: &[u64], threads| {
            let of = |share: SchemaRef| share.fields().iter().map(|field| field.name().clone()).collect::<String>();
            shares(&wanted(), weights, threads).into_iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(names(&[2, 5, 4], 2), ["b", "ac"]);
        assert_eq!(names(&[0, 0, 0], 2), ["ac", "b"]);
        assert_eq!(names(&[1, 1, 1], 1), ["abc"]);
        assert_eq!(names(&[1, 2, 3], 9), ["c", "b", "a"]);
    }
}
