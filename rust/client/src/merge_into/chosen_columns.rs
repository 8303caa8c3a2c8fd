//! Rows that another engine has joined, and chosen an action for, as the columns of one batch.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, Int32Array, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;

use super::chosen_rows::ChosenRows;
use super::table_types::batch_of;
use mortice_base::error::{Error, Result};

/// What the names of columns of the given row begin with.
pub const GIVEN_PREFIX: &str = "given:";
/// What the names of columns of the stored row begin with.
pub const STORED_PREFIX: &str = "stored:";
/// The column with the number of the action that is done to the row; null if there is none.
pub const ACTION_COLUMN: &str = "_mortice_action";
/// The column that says what is wrong with a value of the row; null if nothing is.
pub const MISFIT_COLUMN: &str = "_mortice_misfit";

impl ChosenRows {
    /// Reads rows with [`ACTION_COLUMN`], of so many actions.
    ///
    /// # Errors
    /// `InvalidArgument` for numbers of other actions.
    pub(super) fn from_columns(rows: &RecordBatch, actions: usize) -> Result<Self> {
        let unfit = || Error::invalid_argument(format!("column {ACTION_COLUMN:?} must have the numbers of actions"));
        let numbers = rows.column_by_name(ACTION_COLUMN).and_then(|column| column.as_primitive_opt::<Int32Type>());
        let numbers: &Int32Array = numbers.ok_or_else(unfit)?;
        let is_known = |number: i32| usize::try_from(number).is_ok_and(|number| number < actions);
        if !numbers.iter().flatten().all(is_known) {
            return Err(unfit());
        }
        let masks = (0_i32..).take(actions).map(|action| has(numbers, action)).collect();
        Ok(Self { given: side(rows, GIVEN_PREFIX)?, stored: side(rows, STORED_PREFIX)?, masks })
    }
}

fn has(numbers: &Int32Array, action: i32) -> BooleanBuffer {
    numbers.iter().map(|number| number == Some(action)).collect()
}

/// Refuses rows with a value that does not fit its column, as another engine has found. Rows may lack the column.
pub(super) fn refuse_misfits(rows: &RecordBatch) -> Result<()> {
    let Some(found) = rows.column_by_name(MISFIT_COLUMN).filter(|found| found.null_count() < found.len()) else {
        return Ok(());
    };
    let text = match found.data_type() {
        DataType::Utf8 => found.as_string::<i32>().iter().flatten().next(),
        DataType::LargeUtf8 => found.as_string::<i64>().iter().flatten().next(),
        // Of nulls alone.
        _ => None,
    };
    text.map_or(Ok(()), |text| Err(Error::invalid_argument(text.to_owned())))
}

/// The columns whose names begin with a prefix, without it.
pub(super) fn side(rows: &RecordBatch, prefix: &str) -> Result<RecordBatch> {
    let (schema, columns) = (rows.schema(), rows.columns());
    let own = schema.fields().iter().zip(columns).filter_map(|(field, column)| {
        let name = field.name().strip_prefix(prefix)?;
        Some((Arc::new(field.as_ref().clone().with_name(name).with_nullable(true)), Arc::clone(column)))
    });
    let (fields, columns) = own.unzip();
    batch_of(fields, columns, rows.num_rows())
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Int64Array, StringArray};

    use super::*;

    fn actions(numbers: &[Option<i32>]) -> ArrayRef {
        Arc::new(Int32Array::from(numbers.to_vec()))
    }

    #[test]
    fn columns_belong_to_the_side_that_their_names_begin_with() {
        let numbers = |value: i64| Arc::new(Int64Array::from(vec![value, value])) as ArrayRef;
        let rows = RecordBatch::try_from_iter_with_nullable([
            ("given:a", numbers(1), true),
            ("stored:a", numbers(2), true),
            ("stored:given:b", numbers(3), true),
            (ACTION_COLUMN, actions(&[None, Some(1)]), true),
        ]);
        let rows = ChosenRows::from_columns(&rows.unwrap(), 2).unwrap();
        assert_eq!(rows.given.column_by_name("a").unwrap(), &numbers(1));
        assert_eq!(rows.stored.column_by_name("a").unwrap(), &numbers(2));
        assert_eq!(rows.stored.column_by_name("given:b").unwrap(), &numbers(3));
        let masks = [BooleanBuffer::from(vec![false, false]), BooleanBuffer::from(vec![false, true])];
        assert_eq!(rows.masks, masks);
    }

    #[test]
    fn numbers_are_those_of_actions() {
        for (name, numbers) in
            [("x", actions(&[])), (ACTION_COLUMN, actions(&[Some(2)])), (ACTION_COLUMN, actions(&[Some(-1)]))]
        {
            let rows = RecordBatch::try_from_iter([(name, numbers)]).unwrap();
            let error = ChosenRows::from_columns(&rows, 2).err().unwrap();
            assert!(error.text().contains("must have the numbers of actions"), "{error}");
        }
    }

    #[test]
    fn the_first_misfit_is_the_error() {
        let rows = |misfits: &[Option<&str>]| {
            let misfits = Arc::new(StringArray::from(misfits.to_vec())) as ArrayRef;
            RecordBatch::try_from_iter([(MISFIT_COLUMN, misfits)]).unwrap()
        };
        assert!(refuse_misfits(&rows(&[None, None])).is_ok());
        assert_eq!(refuse_misfits(&rows(&[None, Some("no"), Some("x")])).unwrap_err().text(), "no");
        assert!(refuse_misfits(&RecordBatch::try_from_iter([("x", actions(&[]))]).unwrap()).is_ok());
    }
}
