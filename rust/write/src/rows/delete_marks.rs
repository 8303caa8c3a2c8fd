//! Which rows of a write are deletes, by the marks of their table.

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};

use super::row_source::RowSource;
use mortice_avro::{ArrowMapping, arrow_schema};
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_merge::config::MergeSemantics;
use mortice_merge::keys::KeyColumns;

/// Finds rows that are marked as deletes.
pub struct DeleteMarks {
    columns: KeyColumns,
}

impl DeleteMarks {
    /// Prepares to look at the rows of a write.
    ///
    /// # Errors
    /// `Unsupported` for ways of merging that this release does not have.
    pub fn new(source: &RowSource<'_>) -> Result<Self> {
        let stored = source.schema.columns.with_leading_nullable_strings(&[meta_columns::RECORD_KEY])?;
        let types = arrow_schema(&stored, ArrowMapping::Table)?;
        let columns = KeyColumns::new(&stored, &types, &source.table.merge, None, MergeSemantics::default())?;
        Ok(Self { columns })
    }

    /// Which rows are deletes.
    ///
    /// # Errors
    /// `InvalidArgument` for marks that cannot be read.
    pub fn of_rows(&self, rows: &RecordBatch) -> Result<BooleanArray> {
        let wants = self.columns.wants();
        // Marks are looked for without the keys.
        let wants = wants.iter().filter(|want| want.name() != meta_columns::RECORD_KEY);
        let column = |name: &str| {
            let missing = || Error::internal(format!("rows of a write without column {name:?}"));
            rows.column_by_name(name).cloned().ok_or_else(missing)
        };
        let columns: Vec<ArrayRef> = wants.map(|want| column(want.name())).collect::<Result<_>>()?;
        let batch = self.columns.batch(&columns, rows.num_rows())?;
        Ok(batch.deleted.unwrap_or_else(|| BooleanArray::from(vec![false; rows.num_rows()])))
    }
}
