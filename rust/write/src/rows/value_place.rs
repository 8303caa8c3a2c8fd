//! Where a value of a write is, for messages.

use arrow_array::Array;

/// The row that a value of a nested array belongs to; none if a value around it is null.
pub(super) type RowOf<'a> = &'a dyn Fn(usize) -> Option<usize>;

/// Where the values of an array are.
#[derive(Clone, Copy)]
pub struct ValuePlace<'a> {
    /// The column, or the path of a field.
    path: &'a str,
    /// The number of the first row of the batch.
    first_row: u64,
    /// The rows that the values belong to; none if each value is that of a row.
    row_of: Option<RowOf<'a>>,
}

impl<'a> ValuePlace<'a> {
    /// A column of rows of which the first has this number.
    pub const fn column(path: &'a str, first_row: u64) -> Self {
        Self { path, first_row, row_of: None }
    }

    /// The values of a field or of items, which belong to these rows.
    pub(super) const fn nested(self, path: &'a str, row_of: RowOf<'a>) -> Self {
        Self { path, row_of: Some(row_of), ..self }
    }

    /// The values of a field of a struct without nulls.
    pub(super) const fn field(self, path: &'a str) -> Self {
        Self { path, ..self }
    }

    /// The column, or the path of a field.
    pub(super) const fn path(self) -> &'a str {
        self.path
    }

    /// The row of the batch that a value belongs to; none if no row shows it.
    pub(super) fn row(self, value: usize) -> Option<usize> {
        self.row_of.map_or(Some(value), |row_of| row_of(value))
    }

    /// The number of a row of the batch among all rows of the write.
    pub(super) const fn number(self, row: usize) -> u64 {
        self.first_row.saturating_add(row as u64)
    }
}

/// The row of what is in a value; none if the value is null: no row shows what is in it.
pub(super) fn row_of_valid(
    values: &dyn Array,
    row_of: impl Fn(usize) -> Option<usize>,
) -> impl Fn(usize) -> Option<usize> {
    move |at| if values.is_valid(at) { row_of(at) } else { None }
}

/// The row of a value of lists with these offsets; a slice of lists may have values around those of its rows.
pub(super) fn row_of_item<'a>(offsets: &'a [i32], row_of: RowOf<'a>) -> impl Fn(usize) -> Option<usize> + 'a {
    move |item| {
        let item = i32::try_from(item).ok()?;
        let list = offsets.partition_point(|offset| *offset <= item).checked_sub(1)?;
        if list.checked_add(1)? < offsets.len() { row_of(list) } else { None }
    }
}
