//! Rows of a bulk insert on their way to the series of file groups of their partitions.

use std::collections::HashMap;

use super::chunks::waiting_rows;
use super::keyed_rows::{KeyedRows, RowPlace};
use super::lanes::{Lanes, Work};
use super::partition_writers::{BulkTarget, new_handle};
use super::sorter::Sorter;
use super::spreading::{Choice, Spreading};
use mortice_base::error::Result;
use mortice_write::rows::RefusedRows;
use mortice_write::write::CreateHandle;

/// Bytes of rows of partitions whose files are not open that are sorted at a time, of each thread.
const SORTED_BYTES: usize = 32 << 20;

/// What rows are written to.
pub(super) enum InsertLane {
    /// A series of file groups of one place.
    Series(Box<CreateHandle>),
    /// Rows that wait until the files of other places are complete.
    Waiting(Box<Sorter>),
}

/// Passes rows to the lanes of their places.
pub(super) struct PlaceRouter<'a> {
    target: &'a BulkTarget<'a>,
    spreading: Spreading,
    /// Lanes of rows that wait until the files of other places are complete.
    waiting: HashMap<usize, usize>,
    refused: RefusedRows,
}

impl<'a> PlaceRouter<'a> {
    pub(super) fn new(target: &'a BulkTarget<'a>, spreading: Spreading) -> Self {
        Self { target, spreading, waiting: HashMap::new(), refused: RefusedRows::default() }
    }

    /// The rows that were left out.
    pub(super) fn into_refused(self) -> RefusedRows {
        self.refused
    }

    pub(super) fn refuse(&mut self, rows: RefusedRows) {
        self.refused.append(rows);
    }

    /// Passes rows, of so many bytes, on.
    pub(super) fn pass<W: Work<Lane = InsertLane, Item = KeyedRows>>(
        &mut self,
        place: RowPlace,
        rows: KeyedRows,
        bytes: usize,
        lanes: &mut Lanes<'_, W>,
    ) -> Result<()> {
        let lane = match self.spreading.choose(&place, bytes, lanes.next_number()) {
            Choice::Series(lane) => lane,
            Choice::NewSeries { completed } => {
                completed.into_iter().try_for_each(|lane| lanes.close(lane))?;
                lanes.open(InsertLane::Series(Box::new(new_handle(self.target, &place.partition))))
            }
            Choice::Waiting(number) => {
                let types = &self.target.schema.types;
                let open = || lanes.open(InsertLane::Waiting(Box::new(Sorter::new(types, SORTED_BYTES))));
                *self.waiting.entry(number).or_insert_with(open)
            }
        };
        let waiting = waiting_rows(rows.rows.num_rows(), bytes);
        lanes.pass(lane, rows, waiting)
    }
}
