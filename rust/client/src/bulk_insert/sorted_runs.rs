//! The rows of a bulk insert, sorted by partition and record key: threads read and sort runs of them, which are merged
//! then.

use super::chunks::waiting_rows;
use super::keyed_rows::KeyedRows;
use super::lanes::{Lanes, Work};
use super::sorter::Sorter;
use super::work::Reading;
use mortice_base::error::Result;
use mortice_merge::spill::row_bytes;
use mortice_storage::check_cancelled;
use mortice_write::rows::{RefusedRows, SortedRun};

/// Bytes of rows that a thread sorts at a time.
const RUN_BYTES: usize = 64 << 20;

/// Sorts rows in runs. A run has rows that follow each other in the input, so that those of equal keys keep their
/// order.
pub(super) struct SortWork<'a, 'r> {
    pub(super) reading: &'r Reading<'a>,
}

/// The run that gets the next rows.
#[derive(Default)]
pub(super) struct Runs {
    current: Option<usize>,
    bytes: usize,
    refused: RefusedRows,
}

impl Runs {
    /// The rows that were left out.
    pub(super) fn into_refused(self) -> RefusedRows {
        self.refused
    }
}

impl Work for SortWork<'_, '_> {
    type Chunk = (arrow_array::RecordBatch, u64);
    type Prepared = (Vec<KeyedRows>, RefusedRows);
    type Router = Runs;
    type Lane = Sorter;
    type Item = KeyedRows;
    type Done = SortedRun;

    fn prepare(&self, (chunk, first_row): Self::Chunk) -> Result<Self::Prepared> {
        self.reading.read(&chunk, first_row)
    }

    fn route(&self, runs: &mut Runs, (parts, refused): Self::Prepared, lanes: &mut Lanes<'_, Self>) -> Result<()> {
        runs.refused.append(refused);
        for rows in parts {
            let sorter = || Sorter::new(&self.reading.target.schema.types, usize::MAX);
            let run = *runs.current.get_or_insert_with(|| lanes.open(sorter()));
            let bytes = row_bytes(&rows.rows);
            runs.bytes = runs.bytes.saturating_add(bytes);
            let waiting = waiting_rows(rows.rows.num_rows(), bytes);
            lanes.pass(run, rows, waiting)?;
            if runs.bytes >= RUN_BYTES {
                lanes.close(run)?;
                *runs = Runs { refused: std::mem::take(&mut runs.refused), ..Runs::default() };
            }
        }
        Ok(())
    }

    fn write(&self, run: &mut Sorter, rows: KeyedRows) -> Result<()> {
        check_cancelled()?;
        run.add(rows)
    }

    fn held_bytes(&self, _: &Sorter) -> usize {
        0
    }

    fn relieve(&self, _: &mut Sorter) -> Result<()> {
        Ok(())
    }

    fn finish(&self, run: Sorter) -> Result<SortedRun> {
        run.finish_run(RUN_BYTES)
    }
}
