//! Changes as rows: the operation, the commit, and the row before and after.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, new_null_array};
use arrow_schema::DataType;

use crate::split::change_schema;
use mortice_base::error::{Error, Result};
use mortice_base::names::RequestedTime;

/// The operation on a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::read) enum ChangeOperation {
    Insert,
    Update,
    Delete,
}

impl ChangeOperation {
    pub(in crate::read) const fn text(self) -> &'static str {
        match self {
            Self::Insert => "i",
            Self::Update => "u",
            Self::Delete => "d",
        }
    }
}

/// Changes of one commit. Images are strings, one per operation; `None` if no change has that image.
pub(in crate::read) struct ChangeBatch {
    pub(in crate::read) operations: StringArray,
    pub(in crate::read) before: Option<ArrayRef>,
    pub(in crate::read) after: Option<ArrayRef>,
}

impl ChangeBatch {
    /// Returns changes with the same operation for all rows: inserts or deletes.
    pub(in crate::read) fn all(operation: ChangeOperation, images: StringArray) -> Self {
        let operations = std::iter::repeat_n(Some(operation.text()), images.len()).collect();
        let images: ArrayRef = Arc::new(images);
        match operation {
            ChangeOperation::Insert | ChangeOperation::Update => Self { operations, before: None, after: Some(images) },
            ChangeOperation::Delete => Self { operations, before: Some(images), after: None },
        }
    }

    /// Returns the changes as rows.
    pub(in crate::read) fn into_batch(self, instant: &RequestedTime) -> Result<RecordBatch> {
        let rows = self.operations.len();
        let image = |image: Option<ArrayRef>| image.unwrap_or_else(|| new_null_array(&DataType::Utf8, rows));
        let commits: StringArray = std::iter::repeat_n(Some(instant.as_str()), rows).collect();
        let columns: Vec<ArrayRef> =
            vec![Arc::new(self.operations), Arc::new(commits), image(self.before), image(self.after)];
        RecordBatch::try_new(Arc::new(change_schema()), columns)
            .map_err(|error| Error::invalid_table("changes with missing images").caused_by(error))
    }
}
