//! The rows of table and source, beside each other.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::SchemaRef;
use arrow_select::take::take;

use crate::merge_into::only;
use mortice_base::error::{Error, Result};
use mortice_expr::{Batches, Sides};

pub(super) const UNFIT: &str = "rows of a merge do not fit each other";

/// The stored rows.
pub(super) const TARGET: &str = "target";
/// The given rows.
pub(super) const SOURCE: &str = "source";
const ALIASES: [(&str, &str); 4] = [("t", TARGET), ("target", TARGET), ("s", SOURCE), ("source", SOURCE)];

/// The columns that expressions of a merge can name.
pub(super) fn sides_of(schemas: impl IntoIterator<Item = (&'static str, SchemaRef)>) -> Arc<Sides> {
    let aliases = ALIASES.iter().map(|(alias, side)| ((*alias).to_owned(), (*side).to_owned()));
    let schemas = schemas.into_iter().map(|(side, schema)| (side.to_owned(), schema));
    Arc::new(Sides { schemas: schemas.collect(), aliases: aliases.collect() })
}

/// The rows of one side.
pub(super) fn alone(side: &str, rows: RecordBatch) -> Batches {
    Batches::from([(side.to_owned(), rows)])
}

/// No rows of these sides.
pub(super) fn no_rows(sides: &Sides) -> Batches {
    let empty = |(side, schema): &(String, SchemaRef)| (side.clone(), RecordBatch::new_empty(Arc::clone(schema)));
    sides.schemas.iter().map(empty).collect()
}

/// Some rows of all sides.
pub(super) fn only_of(batches: &Batches, rows: &BooleanBuffer) -> Result<Batches> {
    batches.iter().map(|(side, batch)| Ok((side.clone(), only(batch, rows)?))).collect()
}

/// Where no column is null; none if there are no nulls.
pub(super) fn without_nulls(columns: &[ArrayRef]) -> Option<NullBuffer> {
    let nulls = columns.iter().map(|column| column.logical_nulls());
    nulls.fold(None, |all, nulls| NullBuffer::union(all.as_ref(), nulls.as_ref()))
}

/// The columns of some names.
pub(super) fn with_columns(batch: &RecordBatch, is_wanted: impl Fn(&str) -> bool) -> Result<RecordBatch> {
    let fields = batch.schema_ref().fields().iter().enumerate();
    let kept: Vec<usize> = fields.filter(|(_, field)| is_wanted(field.name())).map(|(at, _)| at).collect();
    batch.project(&kept).map_err(Error::internal_by(UNFIT))
}

/// Rows by their numbers; a batch without columns has rows, too.
pub(super) fn rows_at(batch: &RecordBatch, numbers: &[u32]) -> Result<RecordBatch> {
    let places = UInt32Array::from(numbers.to_vec());
    let columns = batch.columns().iter().map(|column| take(column, &places, None));
    let columns = columns.collect::<std::result::Result<Vec<_>, _>>().map_err(Error::internal_by(UNFIT))?;
    let options = RecordBatchOptions::new().with_row_count(Some(numbers.len()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options).map_err(Error::internal_by(UNFIT))
}

#[cfg(test)]
mod tests {
    use super::super::testing::batch;
    use super::*;

    #[test]
    fn rows_without_columns_are_counted() {
        let rows = batch(&[("a", "x", 1.0, 1), ("b", "x", 2.0, 2), ("c", "x", 3.0, 3)]);
        let none = with_columns(&rows, |_| false).unwrap();
        assert_eq!((none.num_columns(), rows_at(&none, &[2, 2]).unwrap().num_rows()), (0, 2));
        let marks = BooleanBuffer::from(vec![true, false, true]);
        let sides = only_of(&alone(TARGET, none), &marks).unwrap();
        assert_eq!(sides.get(TARGET).map(RecordBatch::num_rows), Some(2));
        assert_eq!(rows_at(&rows, &[1]).unwrap(), rows.slice(1, 1));
    }
}
