//! Batches as one, where its columns hold all values.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{FieldRef, Schema, SchemaRef};
use arrow_select::concat::concat_batches;

use super::sides::UNFIT;
use mortice_base::error::{Error, Result};
use mortice_merge::spill::slice_bytes;

/// Offsets of Arrow's strings and lists have 31 bits.
const MOST_BYTES: usize = i32::MAX as usize;

/// All rows as one batch, whose columns may be null: what a caller says of nulls need not be so.
pub(super) fn one_batch(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<RecordBatch> {
    one_batch_within(schema, batches, MOST_BYTES)
}

fn one_batch_within(schema: &SchemaRef, batches: &[RecordBatch], most: usize) -> Result<RecordBatch> {
    let fields = schema.fields().iter().map(|field| Arc::new(field.as_ref().clone().with_nullable(true)));
    let schema = &Arc::new(Schema::new(fields.collect::<Vec<FieldRef>>()));
    if let [only] = batches {
        let options = RecordBatchOptions::new().with_row_count(Some(only.num_rows()));
        return RecordBatch::try_new_with_options(Arc::clone(schema), only.columns().to_vec(), &options)
            .map_err(Error::internal_by(UNFIT));
    }
    let bytes = |column: usize| {
        let parts = batches.iter().filter_map(|batch| batch.columns().get(column));
        parts.map(|part| slice_bytes(part.as_ref())).fold(0, usize::saturating_add)
    };
    let columns = schema.fields().iter().enumerate();
    let has_offsets = columns.filter(|(_, field)| field.data_type().primitive_width().is_none());
    if has_offsets.map(|(at, _)| bytes(at)).any(|bytes| bytes > most) {
        return Err(Error::invalid_argument(
            "the rows of a merge have 2 GiB or more in one column; merge them in several parts",
        ));
    }
    concat_batches(schema, batches).map_err(Error::internal_by(UNFIT))
}

#[cfg(test)]
mod tests {
    use super::super::testing::batch;
    use super::*;

    #[test]
    fn a_column_holds_so_many_bytes() {
        let rows = batch(&[("a", "x", 1.0, 1), ("b", "x", 2.0, 2)]);
        let (schema, parts) = (rows.schema(), [rows.slice(0, 1), rows.slice(1, 1)]);
        assert_eq!(one_batch(&schema, &parts).unwrap(), rows);
        assert_eq!(one_batch(&schema, &[]).unwrap().num_rows(), 0);
        let error = one_batch_within(&schema, &parts, 4).unwrap_err();
        assert!(error.text().contains("2 GiB"), "{error}");
        // Numbers have no offsets, and one batch is there already.
        let numbers = parts.each_ref().map(|part| part.project(&[2, 3]).unwrap());
        assert!(one_batch_within(&rows.project(&[2, 3]).unwrap().schema(), &numbers, 4).is_ok());
        assert!(one_batch_within(&schema, std::slice::from_ref(&rows), 4).is_ok());
        let strict = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(false));
        let strict = Arc::new(Schema::new(strict.collect::<Vec<_>>()));
        for parts in [&parts[..], &parts[..1]] {
            assert_eq!(one_batch(&strict, parts).unwrap().schema(), schema);
        }
    }
}
