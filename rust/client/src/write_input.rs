//! What a user gives to a write.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use mortice_base::error::Result;
use mortice_commit::commit::CommitValidator;

/// The rows of a write, as the user gives them.
pub struct WriteInput<'a> {
    /// Their columns.
    pub schema: SchemaRef,
    /// The rows.
    pub batches: &'a mut dyn Iterator<Item = Result<RecordBatch>>,
    /// Whether the caller has all rows in memory, as long as the write takes: then they need not be written to files.
    pub is_in_memory: bool,
    /// Options, by Hudi's names.
    pub options: &'a BTreeMap<String, String>,
    /// Checks the table before the write is completed.
    pub validator: Option<Arc<dyn CommitValidator>>,
}
