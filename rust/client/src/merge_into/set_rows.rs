//! Rows that are set in a column of flags.

use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_schema::ArrowError;
use arrow_select::filter::filter_record_batch;

use mortice_base::error::{Error, Result};

/// Where values are true, and not null.
pub(crate) fn set_values(flags: &BooleanArray) -> BooleanBuffer {
    match flags.nulls() {
        None => flags.values().clone(),
        Some(valid) => flags.values() & valid.inner(),
    }
}

/// Some rows.
pub(crate) fn only(batch: &RecordBatch, rows: &BooleanBuffer) -> Result<RecordBatch> {
    if rows.len() == batch.num_rows() && rows.count_set_bits() == rows.len() {
        return Ok(batch.clone());
    }
    let unfit = |error: ArrowError| Error::internal("changed rows cannot be selected").caused_by(error);
    filter_record_batch(batch, &BooleanArray::from(rows.clone())).map_err(unfit)
}
