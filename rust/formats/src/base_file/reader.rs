//! An open base file.

use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Fields, SchemaRef};

use crate::filter::{BoundFilter, ColumnBounds};
use mortice_avro::Schema;
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::Result;
use mortice_base::names::FieldNames;

/// Record batches of a base file, in the file's order.
pub type BaseBatches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// A base file, its footer read.
pub trait BaseFile: Send {
    /// Rows in the file.
    fn row_count(&self) -> u64;

    /// The Avro schema that the writer left in the file, as JSON.
    fn avro_schema(&self) -> Option<String>;

    /// The value of a key that the writer left in the file's footer, if the format has such values.
    fn footer_value(&self, _: &str) -> Option<String> {
        None
    }

    /// Gives mislabelled timestamps the types of the table's schema (`mislabelled`). `names` are the names of the
    /// table's columns in the file.
    fn correct_types(&mut self, _table: &Schema, _names: &FieldNames) -> Result<()> {
        Ok(())
    }

    /// Whether the file has a column of its own under that name.
    fn has_column(&self, name: &str) -> bool;

    /// The columns of the file as it has them; none if they are not known.
    fn fields(&self) -> Option<Fields> {
        None
    }

    /// Rows in each of the parts that can be read apart, in the file's order.
    fn row_groups(&self) -> Vec<u64> {
        vec![self.row_count()]
    }

    /// Decompressed bytes of each requested column in the whole file, if columns can be read independently.
    fn column_bytes(&self, _: &SchemaRef) -> Option<Vec<u64>> {
        None
    }

    /// What the file itself says of a column, for each of [`BaseFile::row_groups`]; none where it says nothing.
    fn bounds(&self, _: &Field) -> Option<ColumnBounds> {
        None
    }

    /// A copy of the file with the same selection, for another reader of some of its columns, if
    /// [`BaseFile::column_bytes`] knows them.
    fn again(&self) -> Option<Box<dyn BaseFile>> {
        None
    }

    /// Reads only some of [`BaseFile::row_groups`]: by their numbers, all of which are there. A file that has one reads
    /// it.
    fn keep_row_groups(&mut self, _: Range<usize>) {}

    /// Leaves out the row groups that hold no row that passes `filter`, which is bound to `wanted`; how many those are.
    /// Among the rows that stay some may fail it. Asked again, it leaves out more.
    fn prune(&mut self, wanted: &SchemaRef, filter: &BoundFilter) -> Result<u64>;

    /// The rows that are left, by their numbers in the file: ranges in order.
    fn kept_rows(&self) -> Vec<Range<u64>>;

    /// Leaves out all rows but these of the file, given as [`BaseFile::kept_rows`] gives them.
    /// [`mortice_base::ErrorKind::Unsupported`] where the format has no numbers of rows.
    fn keep_rows(&mut self, rows: Vec<Range<u64>>) -> Result<()>;

    /// The fewest rows of a batch of these columns, but for the last ones: how wide the widest rows are about.
    fn least_batch_rows(&self, _: &SchemaRef, limit: BatchLimit) -> Result<usize> {
        Ok(limit.rows())
    }

    /// The rows as batches within the limit, with exactly the columns of `wanted`, in its order and types.
    /// Columns that the file has not are null. [`mortice_base::ErrorKind::Unsupported`] where the file's type cannot
    /// become the wanted one.
    fn batches(self: Box<Self>, wanted: &SchemaRef, limit: BatchLimit) -> Result<BaseBatches>;
}
