//! Values as bytes that sort as the values do.

use arrow_array::{ArrayRef, BinaryArray};
use arrow_row::{RowConverter, SortField};
use arrow_schema::ArrowError;

use mortice_base::error::{Error, Result};

/// Values as bytes that have their order, nulls first.
pub(super) fn sortable(values: &[ArrayRef]) -> Result<BinaryArray> {
    let unordered =
        |error: ArrowError| Error::invalid_argument("rows cannot be sorted by a column of this type").caused_by(error);
    let fields = values.iter().map(|column| SortField::new(column.data_type().clone())).collect();
    let converter = RowConverter::new(fields).map_err(unordered)?;
    converter.convert_columns(values).and_then(arrow_row::Rows::try_into_binary).map_err(unordered)
}
