//! Which rows a filter selects.

use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, Field, TimeUnit};

use super::table_types::batch_of;
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_formats::filter::{BoundFilter, Filter};
use mortice_write::rows::{Rules, ValuePlace};

/// Which matched rows a filter deletes; none if there is no filter. A column is that of the given row, or else of the
/// stored one.
pub(super) fn deleted_rows(filter: Option<&Filter>, given: &RecordBatch, stored: &RecordBatch) -> Result<BooleanArray> {
    let Some(filter) = filter else {
        return Ok(BooleanArray::from(BooleanBuffer::new_unset(given.num_rows())));
    };
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for name in filter.columns() {
        let sides = [given, stored].into_iter();
        let found = sides.filter_map(|side| side.schema_ref().index_of(name).ok().map(|at| (side, at))).next();
        let unknown = || {
            Error::invalid_argument(format!("when_matched_delete names '{name}', which neither rows nor table have"))
        };
        let (side, at) = found.ok_or_else(unknown)?;
        fields.push(Arc::new(side.schema_ref().field(at).clone().with_nullable(true)));
        columns.push(Arc::clone(side.column(at)));
    }
    let columns = batch_of(fields, columns, given.num_rows())?;
    selected_rows(&columns, filter).map_err(|error| {
        let message = format!("when_matched_delete: {}", error.text());
        if error.kind() == ErrorKind::InvalidArgument { Error::invalid_argument(message) } else { error }
    })
}

/// Which rows a filter selects, by the rules of queries. Columns may have other types than those that tables store.
fn selected_rows(batch: &RecordBatch, filter: &Filter) -> Result<BooleanArray> {
    let given = batch.schema();
    let rules = Rules { fills: true, can_evolve: false };
    let mut fields = Vec::with_capacity(batch.num_columns());
    let mut arrays = Vec::with_capacity(batch.num_columns());
    for (field, array) in given.fields().iter().zip(batch.columns()) {
        let stored = Field::new(field.name(), stored_type(field.data_type()), true);
        arrays.push(rules.conform(array, &stored, ValuePlace::column(field.name(), 0))?);
        fields.push(Arc::new(stored));
    }
    let batch = batch_of(fields, arrays, batch.num_rows())?;
    BoundFilter::bind(filter, &batch.schema())?.mask(&batch)
}

/// The type of a column of a table that holds values of another one.
fn stored_type(kind: &DataType) -> DataType {
    use DataType as T;
    match kind {
        T::Int8 | T::Int16 | T::UInt8 | T::UInt16 => T::Int32,
        T::UInt32 | T::UInt64 => T::Int64,
        T::Float16 => T::Float32,
        T::LargeUtf8 | T::Utf8View => T::Utf8,
        T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => T::Binary,
        T::Date64 => T::Date32,
        T::Timestamp(_, zone) => T::Timestamp(TimeUnit::Microsecond, zone.clone()),
        T::Dictionary(_, values) => stored_type(values),
        T::Null => T::Boolean,
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::UInt64Array;

    use super::super::testing::batch;
    use super::*;
    use mortice_formats::filter::{Literal, Operator, Term};

    #[test]
    fn filters_take_columns_that_no_table_has() {
        let filter = Filter::any_of(vec![vec![Term::new("c", Operator::Gt, vec![Literal::Int(1)]).unwrap()]]);
        let rows = RecordBatch::try_from_iter([("c", Arc::new(UInt64Array::from(vec![Some(1), None, Some(2)])) as _)])
            .unwrap();
        assert_eq!(selected_rows(&rows, &filter).unwrap(), BooleanArray::from(vec![false, false, true]));
    }

    #[test]
    fn a_column_is_that_of_the_given_row_or_else_of_the_stored_one() {
        let (given, stored) =
            (batch(&[("a", "x", 1.0, 1), ("b", "x", 9.0, 1)]), batch(&[("a", "x", 9.0, 1), ("b", "x", 9.0, 7)]));
        let given = given.project(&[0, 2]).unwrap();
        let filter = |name: &str, least: i128| {
            Filter::any_of(vec![vec![Term::new(name, Operator::Gt, vec![Literal::Int(least)]).unwrap()]])
        };
        let deleted = |filter: &Filter| deleted_rows(Some(filter), &given, &stored).unwrap();
        assert_eq!(deleted(&filter("fare", 5)), BooleanArray::from(vec![false, true]));
        assert_eq!(deleted(&filter("ts", 5)), BooleanArray::from(vec![false, true]));
        assert_eq!(deleted_rows(None, &given, &stored).unwrap().true_count(), 0);
        let unknown = deleted_rows(Some(&filter("x", 1)), &given, &stored).unwrap_err();
        assert!(unknown.text().contains("'x', which neither"), "{unknown}");
        let unfit = deleted_rows(Some(&filter("id", 1)), &given, &stored).unwrap_err();
        assert!(unfit.text().starts_with("when_matched_delete: "), "{unfit}");
    }
}
