//! Base rows in parts that fit a batch once log rows have replaced them.
//!
//! A batch of small base rows may become one of large log rows. So it is merged in parts, by the size of the largest
//! log row. If most of the rows are small, the merged parts are joined again.

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;

use super::slice_merge::SliceMerge;
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, Result};
use mortice_formats::base_file::BaseBatches;
use mortice_merge::spill::row_bytes;

/// The base rows of a merge.
pub(in crate::read) struct BaseParts {
    batches: BaseBatches,
    /// What is left of the batch at hand.
    rest: Option<RecordBatch>,
    limit: BatchLimit,
}

impl BaseParts {
    pub(in crate::read) fn new(batches: BaseBatches, limit: BatchLimit) -> Self {
        Self { batches, rest: None, limit }
    }

    /// The next rows, as many as may be merged at once.
    pub(in crate::read) fn next(&mut self, merge: Option<&SliceMerge>) -> Option<Result<RecordBatch>> {
        let batch = match self.rest.take() {
            Some(rest) => rest,
            None => match self.batches.next()? {
                Ok(batch) => batch,
                Err(error) => return Some(Err(error)),
            },
        };
        let (rows, most) = (batch.num_rows(), merge.map_or(usize::MAX, |merge| merge.rows_at_once(self.limit)));
        if rows <= most {
            return Some(Ok(batch));
        }
        self.rest = Some(batch.slice(most, rows.saturating_sub(most)));
        Some(Ok(batch.slice(0, most)))
    }

    /// Whether the next rows are of the same batch.
    pub(in crate::read) fn is_within_batch(&self) -> bool {
        self.rest.is_some()
    }

    /// How large a batch may be.
    pub(in crate::read) fn limit(&self) -> BatchLimit {
        self.limit
    }
}

/// Merged parts that are joined to a batch.
pub(in crate::read) struct JoinedParts {
    parts: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
}

impl JoinedParts {
    pub(in crate::read) fn new(first: RecordBatch) -> Self {
        let (rows, bytes) = (first.num_rows(), row_bytes(&first));
        Self { parts: vec![first], rows, bytes }
    }

    /// Whether another part may follow.
    pub(in crate::read) fn has_room(&self, limit: BatchLimit) -> bool {
        self.rows < limit.rows() && self.bytes < limit.bytes() / 2
    }

    pub(in crate::read) fn add(&mut self, part: RecordBatch) {
        self.rows = self.rows.saturating_add(part.num_rows());
        self.bytes = self.bytes.saturating_add(row_bytes(&part));
        self.parts.push(part);
    }

    pub(in crate::read) fn finish(self) -> Result<RecordBatch> {
        match self.parts.as_slice() {
            [only] => Ok(only.clone()),
            [first, ..] => concat_batches(first.schema_ref(), &self.parts)
                .map_err(|error| Error::internal("parts of a merged batch").caused_by(error)),
            [] => Err(Error::internal("a batch without parts")),
        }
    }
}
