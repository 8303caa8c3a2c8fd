//! Keys and ordering values of base rows, as the merge reads them.

use arrow_array::RecordBatch;

use super::key_columns::KeyColumns;
use crate::merge::engine::BaseKeys;
use crate::merge::{BaseRows, OrderingColumn};
use mortice_base::error::Result;

impl BaseKeys for KeyColumns {
    fn keys(&self, rows: &RecordBatch, first: u64) -> Result<BaseRows> {
        self.key.base_rows(rows, first)
    }

    fn ordering(&self, rows: &RecordBatch) -> Result<OrderingColumn> {
        self.base_ordering(rows)
    }
}
