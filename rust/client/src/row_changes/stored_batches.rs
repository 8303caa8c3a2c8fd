//! The stored rows of a query, in batches of so many rows or bytes.

use arrow_array::RecordBatch;

use super::one_batch::one_batch;
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::Result;
use mortice_merge::spill::row_bytes;
use mortice_storage::check_cancelled;
use mortice_table::plan::Scan;
use mortice_table::read::{DamagedFile, Stream};

/// Stored rows as they are read.
pub(super) struct StoredBatches {
    stream: Option<Stream>,
    limit: BatchLimit,
    damaged: Vec<DamagedFile>,
}

impl StoredBatches {
    /// The rows of a query; none of none. A batch has at least as many rows or bytes as the limit, if there are as
    /// many.
    pub(super) fn new(scan: Option<&Scan>, limit: BatchLimit) -> Self {
        Self { stream: scan.map(Scan::stream), limit, damaged: Vec::new() }
    }

    /// The next rows.
    pub(super) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let (mut kept, mut rows, mut bytes) = (Vec::new(), 0_usize, 0_usize);
        while rows < self.limit.rows() && bytes < self.limit.bytes() {
            check_cancelled()?;
            let Some(stream) = &mut self.stream else { break };
            let (batch, damaged) = stream.next_with_damage()?;
            self.damaged.extend(damaged);
            let Some(batch) = batch else {
                self.stream = None;
                break;
            };
            rows = rows.saturating_add(batch.num_rows());
            bytes = bytes.saturating_add(row_bytes(&batch));
            kept.push(batch);
        }
        let Some(first) = kept.first() else { return Ok(None) };
        one_batch(&first.schema(), &kept).map(Some)
    }

    /// The damaged files that were read so far.
    pub(super) fn damaged(self) -> Vec<DamagedFile> {
        self.damaged
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge_into::testing::TestTable;
    use mortice_table::plan::{QueryOptions, SnapshotRows};

    #[test]
    fn batches_have_so_many_rows_or_bytes() {
        let table = TestTable::new();
        table.upsert(&[("a", "oslo", 1.0, 1), ("b", "rome", 1.0, 2), ("c", "lima", 1.0, 3)]);
        let scan = table.open().snapshot(&QueryOptions::default(), None, SnapshotRows::Merged).unwrap();
        let sizes = |limit: BatchLimit| {
            let mut rows = StoredBatches::new(Some(&scan), limit);
            let mut sizes = Vec::new();
            while let Some(batch) = rows.next_batch().unwrap() {
                sizes.push(batch.num_rows());
            }
            assert!(rows.damaged().is_empty());
            sizes
        };
        assert_eq!(sizes(BatchLimit::with_rows(1)), [1, 1, 1]);
        assert_eq!(sizes(BatchLimit::with_rows(2)), [2, 1]);
        assert_eq!(sizes(BatchLimit::with_rows(100)), [3]);
        assert_eq!(sizes(BatchLimit::with_rows(100).with_bytes(1)), [1, 1, 1]);
        assert!(StoredBatches::new(None, BatchLimit::with_rows(1)).next_batch().unwrap().is_none());
    }
}
