//! The columns that the merge of a slice reads, and the keys and base rows that it needs.

use arrow_schema::{Schema, SchemaRef};

use super::merge_input::MergeInput;
use crate::read::base::row_range::RowRange;
use crate::read::columns::projection::{Projection, select};
use crate::split::{DeleteOutput, Query};
use mortice_base::error::Result;
use mortice_formats::filter::KeyFilter;
use mortice_merge::keys::{KeyColumns, with_row_numbers};
use mortice_merge::merge::DeletedRows;
use mortice_merge::merge_plan::MergePlan;

/// The columns that a merge reads, and the keys and rows that it needs.
pub(super) struct MergeColumns {
    pub(super) keys: KeyColumns,
    /// The record keys that the filter selects. All keys if records are merged by row number.
    pub(super) wanted: KeyFilter,
    pub(super) projection: Projection,
    pub(super) deleted_rows: DeletedRows,
    /// Whether each value of a merged row is that of a record of its key.
    pub(super) keeps_values: bool,
    /// Whether records are merged by row number.
    pub(super) by_number: bool,
    /// Whether records are merged by row number and base rows are filtered before the merge, so that batches have row
    /// numbers.
    pub(super) carries_numbers: bool,
}

impl MergeColumns {
    /// `plan` is `None` if records are returned without merging.
    pub(super) fn new(from: &MergeInput<'_>, keys: KeyColumns, plan: Option<&MergePlan>) -> Result<Self> {
        let (query, types, rows) = (from.query, from.types, from.rows);
        let fold_columns = plan.map_or(Ok(Vec::new()), |plan| plan.record_columns(types, &keys))?;
        let keeps_values = plan.is_none_or(MergePlan::keeps_values);
        let key_column = keys.key.text_column(types).filter(|_| keeps_values);
        let wanted = key_column.map_or(KeyFilter::All, |column| KeyFilter::from_filter(&rows.filter, column));
        let by_number = plan.is_some() && from.has_positions()?;
        let carries_numbers = by_number && from.filters_base_rows(key_column);
        let (keys, wanted) = match by_number {
            true => (keys.by_number(&wanted), KeyFilter::All),
            false => (keys, wanted),
        };
        // Base rows that are not merged need no keys.
        let merge_columns = if query.over_base { keys.base_columns() } else { Vec::new() };
        let needed = [fold_columns, RowRange::columns(query)].concat();
        let projection = Projection::new(types, &rows.columns, &rows.filter, &merge_columns, &needed)?;
        let projection = if carries_numbers { projection.with_row_numbers() } else { projection };
        let deleted_rows =
            if query.deletes == DeleteOutput::LeftOut { DeletedRows::LeftOut } else { DeletedRows::Delivered };
        Ok(Self { keys, wanted, projection, deleted_rows, keeps_values, by_number, carries_numbers })
    }

    /// Returns the same columns without the ordering values of base rows.
    pub(super) fn without_ordering(self, types: &Schema) -> Result<Self> {
        let projection = self.projection.merging_by(types, &self.keys.key.columns())?;
        let projection = if self.carries_numbers { projection.with_row_numbers() } else { projection };
        Ok(Self { projection, ..self })
    }

    /// Returns the columns of base rows that other parts of the slice merge: their keys.
    pub(super) fn key_columns(&self, types: &Schema, query: &Query) -> Result<SchemaRef> {
        self.base_columns(types, &self.keys.key.columns(), query)
    }

    /// Returns the columns of base rows that a pass reads: keys and ordering values.
    pub(super) fn pass_columns(&self, types: &Schema, query: &Query) -> Result<SchemaRef> {
        self.base_columns(types, &self.keys.base_columns(), query)
    }

    fn base_columns(&self, types: &Schema, names: &[String], query: &Query) -> Result<SchemaRef> {
        let columns = select(types, names, &RowRange::columns(query))?;
        Ok(if self.carries_numbers { with_row_numbers(&columns) } else { columns })
    }
}
