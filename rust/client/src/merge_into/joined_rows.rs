//! Rows to write, made of given rows beside the stored rows that they match.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, new_null_array};
use arrow_buffer::BooleanBuffer;
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, FieldRef};
use arrow_select::filter::filter_record_batch;
use arrow_select::zip::zip;

use super::key_text::key_text;
use super::ordering::{LateRows, late_rows};
use super::plan::MergePlan;
use super::repeated_keys::repeated_key;
use super::table_types::batch_of;
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
pub use mortice_write::rows::{DELETES_KEY as DELETES_COLUMN, UPDATES_KEY as UPDATES_COLUMN};

/// Given rows, each beside the stored row that it matches, if any.
#[derive(Debug, Clone)]
pub struct JoinedRows {
    /// The given rows.
    pub given: RecordBatch,
    /// The stored rows, with their partition paths. Rows that match nothing may have any values.
    pub stored: RecordBatch,
    /// Which given rows match a stored one.
    pub is_matched: BooleanArray,
    /// Which of them delete it.
    pub is_deleted: BooleanArray,
}

impl JoinedRows {
    /// The pairs that match.
    fn matched(&self) -> Result<Self> {
        let only = |rows: &RecordBatch| filter_record_batch(rows, &self.is_matched).map_err(unfit);
        let is_deleted = arrow_select::filter::filter(&self.is_deleted, &self.is_matched).map_err(unfit)?;
        let is_deleted = is_deleted.as_any().downcast_ref::<BooleanArray>().cloned();
        let (given, stored) = (only(&self.given)?, only(&self.stored)?);
        Ok(Self {
            is_matched: BooleanArray::from(BooleanBuffer::new_set(given.num_rows())),
            is_deleted: is_deleted.ok_or_else(|| Error::internal("marks of deletes that are no booleans"))?,
            given,
            stored,
        })
    }

    /// Which rows match and delete.
    fn deletes(&self) -> BooleanBuffer {
        &set_values(&self.is_matched) & &set_values(&self.is_deleted)
    }
}

impl MergePlan {
    /// The rows that the merge writes, with the marks [`DELETES_COLUMN`] and [`UPDATES_COLUMN`] behind the table's
    /// columns, in the types that the columns of `rows` have. It is for rows that another engine has joined; several of
    /// one key are not found.
    ///
    /// # Errors
    /// `InvalidArgument` for an ordering value that is less than the stored one; `Unsupported` for stored rows that
    /// would be written to another partition.
    pub fn merge_joined(&self, rows: &JoinedRows) -> Result<RecordBatch> {
        let matched = rows.matched()?;
        self.check_paths(&matched)?;
        let ordering = self.updated_ordering();
        let mut late = LateRows::default();
        if !ordering.is_empty() {
            let is_late = self.late(&ordering, &matched)?;
            late.add(&(&is_late & &!&matched.deletes()), &matched.given, &self.on)?;
        }
        late.refuse(&ordering)?;
        self.rows_to_write(rows)
    }

    /// Refuses inserted rows over which a deleted row of a base file would win. `rows` are rows that match no stored
    /// row, beside rows of base files with the same key.
    ///
    /// # Errors
    /// `InvalidArgument` if a stored ordering value is greater.
    pub fn check_shadowed(&self, rows: &JoinedRows) -> Result<()> {
        let (matched, ordering) = (rows.matched()?, self.shadow_ordering());
        let mut late = LateRows::default();
        late.add(&self.late(ordering, &matched)?, &matched.given, &self.shadow_columns())?;
        late.refuse(ordering)
    }

    /// Refuses rows that another engine has found to have a key of another row. They have the columns by which rows are
    /// matched.
    ///
    /// # Errors
    /// `InvalidArgument` if there are some.
    pub fn refuse_repeated(&self, rows: &RecordBatch) -> Result<()> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        key_text(rows, &self.on, 0)?;
        Err(repeated_key(rows, &self.on, 0))
    }

    fn late(&self, ordering: &[String], rows: &JoinedRows) -> Result<BooleanBuffer> {
        let typed = |rows: &RecordBatch| self.columns_in_table_types(rows, ordering);
        late_rows(ordering, &typed(&rows.given)?, &typed(&rows.stored)?)
    }

    fn check_paths(&self, matched: &JoinedRows) -> Result<()> {
        if matched.given.num_rows() == 0 || self.by_path() || self.kept_partitions().is_empty() {
            return Ok(());
        }
        let path = [meta_columns::PARTITION_PATH.to_owned()];
        let names: Vec<String> = self.partitions.iter().chain(&path).cloned().collect();
        let matching: Vec<String> = self.partitions.iter().filter(|name| self.on.contains(name)).cloned().collect();
        let stored = self.columns_in_table_types(&matched.stored, &names)?;
        let given = self.columns_in_table_types(&matched.given, &matching)?;
        match self.in_their_partitions(&self.given_keys()?, &given, &stored)? {
            Some(is_match) if is_match.true_count() < is_match.len() => {
                Err(Error::internal("rows of different partitions are joined as those of one"))
            }
            _ => Ok(()),
        }
    }

    /// As [`Self::merge_joined`], without its checks.
    pub(super) fn rows_to_write(&self, rows: &JoinedRows) -> Result<RecordBatch> {
        let (mut fields, mut columns): (Vec<FieldRef>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
        for field in self.columns.fields() {
            let column = self.merged_column(field, rows)?;
            let kept = field.as_ref().clone().with_nullable(true).with_data_type(column.data_type().clone());
            fields.push(Arc::new(kept));
            columns.push(column);
        }
        let (is_matched, is_deleted) = (set_values(&rows.is_matched), rows.deletes());
        let is_updated = &is_matched & &!&is_deleted;
        let mut is_written = if self.update.is_empty() { is_deleted.clone() } else { is_matched.clone() };
        if self.inserts {
            is_written = &is_written | &!&is_matched;
        }
        for (name, marks) in [(DELETES_COLUMN, is_deleted), (UPDATES_COLUMN, is_updated)] {
            fields.push(Arc::new(Field::new(name, DataType::Boolean, true)));
            columns.push(Arc::new(BooleanArray::from(marks)));
        }
        let merged = batch_of(fields, columns, rows.given.num_rows())?;
        if is_written.count_set_bits() == merged.num_rows() {
            return Ok(merged);
        }
        filter_record_batch(&merged, &BooleanArray::from(is_written)).map_err(unfit)
    }

    fn merged_column(&self, field: &Field, rows: &JoinedRows) -> Result<ArrayRef> {
        let name = field.name();
        let given = rows.given.column_by_name(name).filter(|_| self.given.contains(name));
        if let Some(given) = given.filter(|_| self.takes_given(name)) {
            return Ok(Arc::clone(given));
        }
        let (matched, stored) = (rows.is_matched.true_count(), rows.stored.column_by_name(name));
        if matched == 0 {
            let kind = stored.map_or_else(|| field.data_type(), |stored| stored.data_type());
            return Ok(given.map_or_else(|| new_null_array(kind, rows.given.num_rows()), Arc::clone));
        }
        let missing = || Error::internal(format!("stored rows of a merge without column {name:?}"));
        let stored = stored.ok_or_else(missing)?;
        if matched == rows.is_matched.len() {
            return Ok(Arc::clone(stored));
        }
        let other = match given {
            None => new_null_array(stored.data_type(), stored.len()),
            Some(given) if given.data_type() == stored.data_type() => Arc::clone(given),
            // Of the same type, but for the nullability of what is nested in it.
            Some(given) => cast(given, stored.data_type()).map_err(unfit)?,
        };
        zip(&rows.is_matched, stored, &other).map_err(unfit)
    }
}

/// Where values are true, and not null.
pub(crate) fn set_values(flags: &BooleanArray) -> BooleanBuffer {
    match flags.nulls() {
        None => flags.values().clone(),
        Some(valid) => flags.values() & valid.inner(),
    }
}

fn unfit(error: ArrowError) -> Error {
    Error::internal("joined rows of a merge do not fit each other").caused_by(error)
}

#[cfg(test)]
mod tests {
    use arrow_array::StringArray;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type};

    use super::super::clauses::MergeClauses;
    use super::super::clauses::NotMatched;
    use super::super::testing::Row;
    use super::super::testing::TestTable;
    use super::super::testing::batch;
    use super::super::testing::names;
    use super::super::testing::options;
    use super::*;

    const GIVEN: [Row; 3] = [("a", "oslo", 5.0, 9), ("b", "oslo", 6.0, 2), ("c", "oslo", 7.0, 3)];
    const STORED: [Row; 3] = [("a", "oslo", 1.0, 1), ("", "", 0.0, 0), ("c", "oslo", 3.0, 3)];

    fn plan(update: Option<&[&str]>, not_matched: NotMatched) -> MergePlan {
        let clauses = MergeClauses { on: None, update: update.map(names), not_matched };
        MergePlan::new(&TestTable::new().open(), &names(&["id", "city", "fare", "ts"]), &clauses, &options(&[]))
            .unwrap()
    }

    fn joined(given: &[Row], stored: &[Row], is_matched: &[bool], is_deleted: &[bool]) -> JoinedRows {
        JoinedRows {
            given: batch(given),
            stored: batch(stored),
            is_matched: is_matched.to_vec().into(),
            is_deleted: is_deleted.to_vec().into(),
        }
    }

    /// Key, fare, ordering value, whether it deletes, whether it updates.
    fn written(plan: &MergePlan, rows: &JoinedRows) -> Vec<(String, f64, i64, bool, bool)> {
        let merged = plan.merge_joined(rows).unwrap();
        let column = |name: &str| merged.column_by_name(name).unwrap();
        (0..merged.num_rows())
            .map(|row| {
                (
                    column("id").as_string::<i32>().value(row).to_owned(),
                    column("fare").as_primitive::<Float64Type>().value(row),
                    column("ts").as_primitive::<Int64Type>().value(row),
                    column(DELETES_COLUMN).as_boolean().value(row),
                    column(UPDATES_COLUMN).as_boolean().value(row),
                )
            })
            .collect()
    }

    #[test]
    fn matched_rows_are_updated_or_deleted_and_others_inserted() {
        let rows = joined(&GIVEN, &STORED, &[true, false, true], &[false, true, true]);
        let row = |key: &str, fare, ts, deletes, updates| (key.to_owned(), fare, ts, deletes, updates);
        let (a, b, c) = (row("a", 5.0, 1, false, true), row("b", 6.0, 2, false, false), row("c", 7.0, 3, true, false));
        let fare = Some(["fare"].as_slice());
        assert_eq!(written(&plan(fare, NotMatched::Insert), &rows), [a.clone(), b.clone(), c.clone()]);
        assert_eq!(written(&plan(fare, NotMatched::Ignore), &rows), [a, c]);
        // Without updates only deletes are left of the matched rows.
        let c = row("c", 3.0, 3, true, false);
        assert_eq!(written(&plan(Some(&[]), NotMatched::Insert), &rows), [b, c.clone()]);
        assert_eq!(written(&plan(Some(&[]), NotMatched::Ignore), &rows), [c]);
    }

    #[test]
    fn late_updates_are_refused_and_late_deletes_are_not() {
        let late: [Row; 1] = [("a", "oslo", 5.0, 0)];
        let stored = STORED.get(..1).unwrap();
        let error = |update: Option<&[&str]>, is_deleted: bool| {
            let rows = joined(&late, stored, &[true], &[is_deleted]);
            plan(update, NotMatched::Insert).merge_joined(&rows).map_or_else(|error| error.text(), |_| String::new())
        };
        assert!(
            error(None, false)
                .starts_with("1 rows, such as that of the key ['a', 'oslo'], have an ordering value (ts)")
        );
        assert_eq!(error(None, true), "");
        assert_eq!(error(Some(&["fare"]), false), "");
        let shadowed = |ts: i64| {
            let rows = joined(&[("a", "oslo", 5.0, ts)], stored, &[true], &[false]);
            plan(None, NotMatched::Insert).check_shadowed(&rows)
        };
        assert!(shadowed(1).is_ok());
        assert!(shadowed(0).is_err());
    }

    #[test]
    fn a_stored_value_is_null_where_nothing_matches() {
        // Another engine may have any value in a row that it has not found.
        let mut rows = joined(&GIVEN, &STORED, &[true, false, true], &[false; 3]);
        rows.given = rows.given.project(&[0, 1]).unwrap();
        let clauses = MergeClauses { on: None, update: Some(Vec::new()), not_matched: NotMatched::Insert };
        let plan = MergePlan::new(&TestTable::new().open(), &names(&["id", "city"]), &clauses, &options(&[])).unwrap();
        let merged = plan.merge_joined(&rows).unwrap();
        assert_eq!(merged.num_rows(), 1);
        assert_eq!(merged.column_by_name("fare").unwrap().null_count(), 1);
    }

    #[test]
    fn repeated_keys_are_refused_by_name() {
        let plan = plan(None, NotMatched::Insert);
        let keys = |ids: &[&str]| {
            let column = |values: &[&str]| Arc::new(StringArray::from(values.to_vec())) as ArrayRef;
            RecordBatch::try_from_iter([("id", column(ids)), ("city", column(&vec!["x"; ids.len()]))]).unwrap()
        };
        assert!(plan.refuse_repeated(&keys(&[])).is_ok());
        assert!(plan.refuse_repeated(&keys(&["k"])).unwrap_err().text().contains("key ['k', 'x']"));
    }
}
