//! The trait of a column's writer, and the writers that deal with null.

use arrow_buffer::NullBuffer;

use crate::binary::write_long;

/// Why a value cannot be written.
#[derive(Debug)]
pub(super) struct RefusedValue {
    /// The field.
    pub(super) path: String,
    /// What is wrong with the value.
    pub(super) why: String,
}

impl RefusedValue {
    pub(super) fn new(path: &str, why: impl Into<String>) -> Box<Self> {
        Box::new(Self { path: path.to_owned(), why: why.into() })
    }
}

/// What came of writing a value.
pub(super) type WriteResult = Result<(), Box<RefusedValue>>;

/// Writes the values of one column.
pub(super) trait ColumnWriter {
    /// Appends the value of a row. Null is not asked for, but of writers that say so.
    fn write(&self, row: usize, out: &mut Vec<u8>) -> WriteResult;
}

/// A writer of any kind.
pub(super) type BoxedWriter = Box<dyn ColumnWriter>;

/// The same bytes for every row: what stands for a column that is not there.
pub(super) struct ConstantWriter(pub(super) Vec<u8>);

impl ColumnWriter for ConstantWriter {
    fn write(&self, _: usize, out: &mut Vec<u8>) -> WriteResult {
        out.extend_from_slice(&self.0);
        Ok(())
    }
}

/// A column whose type has no null. Asked for null, it refuses the row.
pub(super) struct RequiredWriter {
    pub(super) nulls: Option<NullBuffer>,
    pub(super) inner: BoxedWriter,
    pub(super) path: String,
}

impl ColumnWriter for RequiredWriter {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> WriteResult {
        if is_null(self.nulls.as_ref(), row) {
            return Err(RefusedValue::new(&self.path, "null, but the schema requires a value"));
        }
        self.inner.write(row, out)
    }
}

/// A branch of a union, and the branch null if it has one. Asked for null, it writes that, or refuses the row.
pub(super) struct BranchWriter {
    pub(super) nulls: Option<NullBuffer>,
    pub(super) null_index: Option<i64>,
    pub(super) index: i64,
    pub(super) inner: BoxedWriter,
    pub(super) path: String,
}

impl ColumnWriter for BranchWriter {
    fn write(&self, row: usize, out: &mut Vec<u8>) -> WriteResult {
        if !is_null(self.nulls.as_ref(), row) {
            write_long(self.index, out);
            return self.inner.write(row, out);
        }
        let Some(null_index) = self.null_index else {
            return Err(RefusedValue::new(&self.path, "null, which is not a branch of the union"));
        };
        write_long(null_index, out);
        Ok(())
    }
}

/// Whether a row has no value.
pub(super) fn is_null(nulls: Option<&NullBuffer>, row: usize) -> bool {
    nulls.is_some_and(|nulls| nulls.is_null(row))
}
