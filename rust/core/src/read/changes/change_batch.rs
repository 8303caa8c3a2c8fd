//! Changes as rows: what happened, the commit, and the images before and after.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, new_null_array};
use arrow_schema::DataType;

use crate::error::{Error, Result};
use crate::names::RequestedTime;
use crate::split::change_schema;

/// What happened to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::read) enum Operation {
    Insert,
    Update,
    Delete,
}

impl Operation {
    pub(in crate::read) const fn text(self) -> &'static str {
        match self {
            Self::Insert => "i",
            Self::Update => "u",
            Self::Delete => "d",
        }
    }
}

/// Changes of one commit. Images are texts, as many as there are operations; none where no change has that one.
pub(in crate::read) struct Changes {
    pub(in crate::read) operations: StringArray,
    pub(in crate::read) before: Option<ArrayRef>,
    pub(in crate::read) after: Option<ArrayRef>,
}

impl Changes {
    /// The same thing happened to all rows: they were inserted, or deleted.
    pub(in crate::read) fn all(operation: Operation, images: StringArray) -> Self {
        let operations = std::iter::repeat_n(Some(operation.text()), images.len()).collect();
        let images: ArrayRef = Arc::new(images);
        match operation {
            Operation::Insert | Operation::Update => Self { operations, before: None, after: Some(images) },
            Operation::Delete => Self { operations, before: Some(images), after: None },
        }
    }

    /// The rows.
    pub(in crate::read) fn into_batch(self, instant: &RequestedTime) -> Result<RecordBatch> {
        let rows = self.operations.len();
        let image = |image: Option<ArrayRef>| image.unwrap_or_else(|| new_null_array(&DataType::Utf8, rows));
        let commits: StringArray = std::iter::repeat_n(Some(instant.as_str()), rows).collect();
        let columns: Vec<ArrayRef> =
            vec![Arc::new(self.operations), Arc::new(commits), image(self.before), image(self.after)];
        RecordBatch::try_new(Arc::new(change_schema()), columns)
            .map_err(|error| Error::invalid_table("changes without all of their images").caused_by(error))
    }
}
