//! Rows to write, made of given rows beside the stored rows that they match, by the actions that are chosen for them.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, new_null_array};
use arrow_buffer::BooleanBuffer;
use arrow_cast::cast;
use arrow_schema::{DataType, Field, FieldRef};
use arrow_select::zip::zip;

use super::clauses::ClauseAction;
use super::plan::MergePlan;
use super::set_rows::only;
use super::table_types::batch_of;
use mortice_base::error::{Error, Result};
pub use mortice_write::rows::{DELETES_KEY as DELETES_COLUMN, UPDATES_KEY as UPDATES_COLUMN};

/// Given rows, each beside the stored row that it matches, if any.
#[derive(Debug, Clone)]
pub(super) struct ChosenRows {
    /// The given rows, or the values that were computed of them.
    pub(super) given: RecordBatch,
    /// The stored rows. Rows that match nothing may have any values; there may be no columns if nothing matches.
    pub(super) stored: RecordBatch,
    /// The rows of each action of the plan.
    pub(super) masks: Vec<BooleanBuffer>,
}

impl MergePlan {
    /// The rows of each action, of given rows of which some match, and some of these delete.
    pub(super) fn masks(&self, is_matched: &BooleanBuffer, is_deleted: &BooleanBuffer) -> Vec<BooleanBuffer> {
        let rows_of = |action: ClauseAction| match action {
            ClauseAction::Delete => is_matched & is_deleted,
            ClauseAction::Update => is_matched & &!is_deleted,
            ClauseAction::Insert => !is_matched,
        };
        self.actions.iter().map(|one| rows_of(one.action)).collect()
    }

    /// The rows of some kind of action.
    pub(super) fn rows_with(&self, rows: &ChosenRows, kinds: &[ClauseAction]) -> BooleanBuffer {
        let chosen = self.actions.iter().zip(&rows.masks).filter(|(one, _)| kinds.contains(&one.action));
        chosen.fold(BooleanBuffer::new_unset(rows.given.num_rows()), |all, (_, mask)| &all | mask)
    }

    /// The rows that the merge writes, with the marks [`DELETES_COLUMN`] and [`UPDATES_COLUMN`] behind the table's
    /// columns, in the types that the columns of `rows` have.
    pub(super) fn rows_to_write(&self, rows: &ChosenRows) -> Result<RecordBatch> {
        let all = [ClauseAction::Update, ClauseAction::Delete, ClauseAction::Insert];
        only(&self.made_rows(rows)?, &self.rows_with(rows, &all))
    }

    /// The same, with any values in rows for which no action is chosen.
    pub(super) fn made_rows(&self, rows: &ChosenRows) -> Result<RecordBatch> {
        let (mut fields, mut columns): (Vec<FieldRef>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
        for field in self.columns.fields() {
            let column = self.made_column(field, rows)?;
            let kept = field.as_ref().clone().with_nullable(true).with_data_type(column.data_type().clone());
            fields.push(Arc::new(kept));
            columns.push(column);
        }
        for (name, kind) in [(DELETES_COLUMN, ClauseAction::Delete), (UPDATES_COLUMN, ClauseAction::Update)] {
            fields.push(Arc::new(Field::new(name, DataType::Boolean, true)));
            columns.push(Arc::new(BooleanArray::from(self.rows_with(rows, &[kind]))));
        }
        batch_of(fields, columns, rows.given.num_rows())
    }

    fn made_column(&self, field: &Field, rows: &ChosenRows) -> Result<ArrayRef> {
        let (name, count) = (field.name(), rows.given.num_rows());
        let mut made = rows.stored.column_by_name(name).cloned();
        for (action, mask) in self.actions.iter().zip(&rows.masks).filter(|(_, mask)| mask.count_set_bits() > 0) {
            let missing = || Error::invalid_argument(format!("rows of a merge without the values of column {name:?}"));
            let value = match action.values.get(name) {
                Some(value) => Some(rows.given.column_by_name(value).cloned().ok_or_else(missing)?),
                None if action.action == ClauseAction::Insert => None,
                None if made.is_some() => continue,
                None => return Err(missing()),
            };
            let known = made.as_ref().or(value.as_ref()).map(|column| column.data_type().clone());
            let kind = &known.unwrap_or_else(|| field.data_type().clone());
            let value = match value {
                None => new_null_array(kind, count),
                Some(value) if value.data_type() == kind => value,
                // Of the same type, but for the nullability of what is nested in it.
                Some(value) => {
                    cast(&value, kind).map_err(Error::internal_by("joined rows of a merge do not fit each other"))?
                }
            };
            made = Some(match made {
                Some(before) if mask.count_set_bits() < count => {
                    zip(&BooleanArray::from(mask.clone()), &value, &before)
                        .map_err(Error::internal_by("joined rows of a merge do not fit each other"))?
                }
                _ => value,
            });
        }
        Ok(made.unwrap_or_else(|| new_null_array(field.data_type(), count)))
    }
}
