//! An open base file.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::error::Result;

/// Record batches of a base file, in the file's order.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// A base file, its footer read.
pub trait BaseFile: Send {
    /// Rows in the file.
    fn row_count(&self) -> u64;

    /// The Avro schema that the writer left in the file, as JSON.
    fn avro_schema(&self) -> Option<String>;

    /// The rows as batches of at most `batch_rows`, with exactly the columns of `wanted`, in its order and types. Columns
    /// that the file has not are null. [`crate::Kind::Unsupported`] where the file's type cannot become the wanted one.
    fn batches(self: Box<Self>, wanted: &SchemaRef, batch_rows: usize) -> Result<Batches>;
}
