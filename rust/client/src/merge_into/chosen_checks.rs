//! Rows of a merge that another engine has joined: what is written of them, checked against what was stored. Several of
//! one key are not found here, as the rows of a key may be in several batches.

use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch, StringArray};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, Field};
use arrow_select::zip::zip;

use super::changed_rows::{first_other, other_place};
use super::chosen_columns::refuse_misfits;
use super::chosen_rows::ChosenRows;
use super::clauses::ClauseAction;
use super::key_text::key_text;
use super::matching::strings;
use super::ordering::{LateRows, late_rows};
use super::plan::MergePlan;
use super::repeated_keys::repeated_key;
use super::set_rows::only;
use super::table_types::batch_of;
use mortice_base::error::{Error, Result};
use mortice_base::names::meta_columns;
use mortice_merge::keys::RowKeys;

/// SQL's condition on groups of pairs of given and stored rows, by the numbers of all, `pairs`, and of those that
/// delete nothing, `kept`: of which groups it is not known which pair is to be merged.
pub const REPEATED: &str = "pairs > 1 and kept > 0";

const ALL: [ClauseAction; 3] = [ClauseAction::Update, ClauseAction::Delete, ClauseAction::Insert];
const STORED: [ClauseAction; 2] = [ClauseAction::Update, ClauseAction::Delete];

/// The error of several given rows that match a stored row, which has this key.
#[must_use]
pub fn matched_twice(key: &str) -> Error {
    Error::invalid_argument(format!(
        "several rows of the source match the row of the key '{key}'; make the source distinct"
    ))
}

impl MergePlan {
    /// The rows that the merge writes, with the marks [`DELETES_COLUMN`](super::DELETES_COLUMN) and
    /// [`UPDATES_COLUMN`](super::UPDATES_COLUMN) behind the table's columns, in the types that the columns of `rows`
    /// have. These have [`ACTION_COLUMN`](super::ACTION_COLUMN), the columns of the table and record keys and partition
    /// paths behind [`STORED_PREFIX`](super::STORED_PREFIX), and the values of actions behind
    /// [`GIVEN_PREFIX`](super::GIVEN_PREFIX).
    ///
    /// # Errors
    /// `InvalidArgument` for an ordering value that is less than the stored one, and for values that do not fit their
    /// columns ([`MISFIT_COLUMN`](super::MISFIT_COLUMN)); `Unsupported` for rows that would be written to another place
    /// than that where they are stored.
    pub fn merge_chosen(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        refuse_misfits(rows)?;
        let chosen = ChosenRows::from_columns(rows, self.actions.len())?;
        let made = self.made_rows(&chosen)?;
        self.check_stored(&chosen, &made)?;
        let made = if self.keys.is_empty() { self.with_stored_keys(&chosen, &made)? } else { made };
        only(&made, &self.rows_with(&chosen, &ALL))
    }

    /// The rows with the record keys that they have, which are generated, and with their partition paths. New rows have
    /// no record key.
    fn with_stored_keys(&self, rows: &ChosenRows, made: &RecordBatch) -> Result<RecordBatch> {
        let meta = [meta_columns::RECORD_KEY, meta_columns::PARTITION_PATH];
        let stored = self.columns_in_table_types(&rows.stored, &meta.map(str::to_owned))?;
        let partitions = self.columns_in_table_types(made, &self.partitions)?;
        let new = [StringArray::new_null(made.num_rows()), self.paths_of(&self.given_keys()?, &partitions)?];
        let is_stored = BooleanArray::from(self.rows_with(rows, &STORED));
        let (mut fields, mut columns) = (made.schema().fields().to_vec(), made.columns().to_vec());
        for (name, new) in meta.into_iter().zip(new) {
            let kept = zip(&is_stored, strings(&stored, name)?, &new);
            fields.push(Arc::new(Field::new(name, DataType::Utf8, true)));
            columns.push(kept.map_err(|error| Error::internal("keys of stored rows").caused_by(error))?);
        }
        batch_of(fields, columns, made.num_rows())
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

    fn check_stored(&self, rows: &ChosenRows, made: &RecordBatch) -> Result<()> {
        let is_stored = self.rows_with(rows, &STORED);
        if is_stored.count_set_bits() == 0 {
            return Ok(());
        }
        let located: Vec<String> = self.keys.iter().chain(self.partitions_beside_keys()).cloned().collect();
        let mut names = located.clone();
        names.extend(self.updated_ordering().into_iter().filter(|name| !located.contains(name)));
        let meta = [meta_columns::RECORD_KEY, meta_columns::PARTITION_PATH].map(str::to_owned);
        let stored_names: Vec<String> = names.iter().chain(&meta).cloned().collect();
        let made = self.columns_in_table_types(&only(made, &is_stored)?, &names)?;
        let stored = self.columns_in_table_types(&only(&rows.stored, &is_stored)?, &stored_names)?;
        let assigns = |name: &String| only_bits(&self.assigning(rows, name), &is_stored);
        let is_located =
            located.iter().map(assigns).fold(BooleanBuffer::new_unset(made.num_rows()), |all, one| &all | &one);
        self.check_places(&made, &stored, &located, &is_located)?;
        self.check_ordering(&made, &stored, &only_bits(&self.rows_with(rows, &[ClauseAction::Update]), &is_stored))
    }

    fn partitions_beside_keys(&self) -> impl Iterator<Item = &String> {
        self.partitions.iter().filter(|name| !self.keys.contains(name))
    }

    /// The rows whose action gives a column a value.
    fn assigning(&self, rows: &ChosenRows, name: &str) -> BooleanBuffer {
        let assigning = self.actions.iter().zip(&rows.masks).filter(|(one, _)| one.values.contains_key(name));
        assigning.fold(BooleanBuffer::new_unset(rows.given.num_rows()), |all, (_, mask)| &all | mask)
    }

    /// Makes sure that rows are written to where they are stored, unless the index of the write moves them.
    /// `is_assigned` are the rows of which the merge changes columns that say where they are.
    fn check_places(
        &self,
        made: &RecordBatch,
        stored: &RecordBatch,
        located: &[String],
        is_assigned: &BooleanBuffer,
    ) -> Result<()> {
        let maker = self.given_keys()?;
        let kept = strings(stored, meta_columns::RECORD_KEY)?.clone();
        let RowKeys { record_keys, partitions } = if self.keys.is_empty() {
            RowKeys { record_keys: kept.clone(), partitions: self.paths_of(&maker, made)? }
        } else {
            self.keys_of(&maker, made, located, 0)?
        };
        let all = BooleanBuffer::new_set(made.num_rows());
        let mut places = vec![RowPlace { name: meta_columns::RECORD_KEY, read: kept, new: &record_keys, rows: &all }];
        if !self.is_global {
            let read = strings(stored, meta_columns::PARTITION_PATH)?.clone();
            places.push(RowPlace { name: meta_columns::PARTITION_PATH, read, new: &partitions, rows: &all });
        } else if !self.moves && is_assigned.count_set_bits() > 0 {
            // A row may be in another partition than its columns say. It stays there.
            let read = self.paths_of(&maker, stored)?;
            places.push(RowPlace { name: meta_columns::PARTITION_PATH, read, new: &partitions, rows: is_assigned });
        }
        for place in places {
            if let Some(row) = first_other(&place.read, place.new, place.rows) {
                return Err(self.moved(made, stored, &place, row, is_assigned.value(row))?);
            }
        }
        Ok(())
    }

    /// The error of a row that would be written to another place.
    fn moved(
        &self,
        made: &RecordBatch,
        stored: &RecordBatch,
        place: &RowPlace<'_>,
        row: usize,
        is_assigned: bool,
    ) -> Result<Error> {
        if is_assigned {
            return Ok(Error::unsupported(format!(
                "the statement changes the record key or the partition of a row ('{}' to '{}'); delete the row and insert another",
                place.read.value(row),
                place.new.value(row)
            )));
        }
        if place.name == meta_columns::PARTITION_PATH && !self.kept_partitions().is_empty() {
            return Ok(self.unmatched_path(place.read.value(row)));
        }
        other_place(self, made, stored, place.name, place.new, row)
    }

    fn check_ordering(&self, made: &RecordBatch, stored: &RecordBatch, updates: &BooleanBuffer) -> Result<()> {
        let (ordering, mut late) = (self.updated_ordering(), LateRows::default());
        let is_late = &late_rows(&ordering, made, stored)? & updates;
        if self.keys.is_empty() && is_late.count_set_bits() > 0 {
            return Err(Error::unsupported(
                "the statement lessens the ordering value of a row; delete the row and insert another",
            ));
        }
        late.add(&is_late, made, &self.on)?;
        late.refuse(&ordering)
    }
}

/// What says where rows are: a meta column as it is read, and as the changed rows make it.
struct RowPlace<'a> {
    name: &'static str,
    read: StringArray,
    new: &'a StringArray,
    /// The rows in which both have to be equal.
    rows: &'a BooleanBuffer,
}

/// Some bits of others.
fn only_bits(bits: &BooleanBuffer, rows: &BooleanBuffer) -> BooleanBuffer {
    rows.set_indices().map(|row| bits.value(row)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type};
    use arrow_array::{ArrayRef, Int32Array};

    use super::super::chosen_columns::{ACTION_COLUMN, GIVEN_PREFIX, STORED_PREFIX};
    use super::super::chosen_rows::{DELETES_COLUMN, UPDATES_COLUMN};
    use super::super::clauses::{MergeClauses, NotMatched, RowAction};
    use super::super::testing::{Row, TestTable, batch, names, options};
    use super::*;

    const GIVEN: [Row; 3] = [("a", "oslo", 5.0, 9), ("b", "oslo", 6.0, 2), ("c", "oslo", 7.0, 3)];
    const STORED_ROWS: [Row; 3] = [("a", "oslo", 1.0, 1), ("", "", 0.0, 0), ("c", "oslo", 3.0, 3)];
    const GLOBAL: (&str, &str) = ("hoodie.index.type", "GLOBAL_SIMPLE");

    fn plan(update: Option<&[&str]>, not_matched: NotMatched) -> MergePlan {
        let clauses = MergeClauses { on: None, update: update.map(names), not_matched };
        MergePlan::new(&TestTable::new().open(), &names(&["id", "city", "fare", "ts"]), &clauses, &options(&[]))
            .unwrap()
    }

    fn plan_of(table: &TestTable, actions: &[(&str, &[(&str, &str)])], with: &[(&str, &str)]) -> MergePlan {
        let values = |values: &[(&str, &str)]| -> BTreeMap<String, String> {
            values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let action = |(action, of): &(&str, &[(&str, &str)])| RowAction {
            action: ClauseAction::parse(action).unwrap(),
            values: values(of),
        };
        MergePlan::of_actions(&table.open(), actions.iter().map(action).collect(), &options(with)).unwrap()
    }

    /// Rows as another engine joins them; the stored rows are in the partitions and have the keys that their columns
    /// say.
    fn joined(given: &[Row], stored: &[Row], actions: &[Option<i32>]) -> RecordBatch {
        let (given, stored) = (batch(given), batch(stored));
        let mut columns: Vec<(String, ArrayRef)> = Vec::new();
        for (prefix, rows) in [(GIVEN_PREFIX, &given), (STORED_PREFIX, &stored)] {
            let fields =
                rows.schema().fields().iter().map(|field| format!("{prefix}{}", field.name())).collect::<Vec<_>>();
            columns.extend(fields.into_iter().zip(rows.columns().iter().cloned()));
        }
        for (name, column) in [meta_columns::RECORD_KEY, meta_columns::PARTITION_PATH].into_iter().zip(stored.columns())
        {
            columns.push((format!("{STORED_PREFIX}{name}"), Arc::clone(column)));
        }
        columns.push((ACTION_COLUMN.to_owned(), Arc::new(Int32Array::from(actions.to_vec()))));
        let columns = columns.into_iter().map(|(name, column)| (name, column, true));
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    }

    /// Key, fare, ordering value, whether it deletes, whether it updates.
    fn written(plan: &MergePlan, rows: &RecordBatch) -> Vec<(String, f64, i64, bool, bool)> {
        let merged = plan.merge_chosen(rows).unwrap();
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
        let row = |key: &str, fare, ts, deletes, updates| (key.to_owned(), fare, ts, deletes, updates);
        let (a, b, c) = (row("a", 5.0, 1, false, true), row("b", 6.0, 2, false, false), row("c", 7.0, 3, true, false));
        let fare = Some(["fare"].as_slice());
        let all = joined(&GIVEN, &STORED_ROWS, &[Some(1), Some(2), Some(0)]);
        assert_eq!(written(&plan(fare, NotMatched::Insert), &all), [a.clone(), b.clone(), c.clone()]);
        let without = joined(&GIVEN, &STORED_ROWS, &[Some(1), None, Some(0)]);
        assert_eq!(written(&plan(fare, NotMatched::Ignore), &without), [a, c]);
        // Without updates the second action is the insert.
        let c = row("c", 3.0, 3, true, false);
        let rows = joined(&GIVEN, &STORED_ROWS, &[None, Some(1), Some(0)]);
        assert_eq!(written(&plan(Some(&[]), NotMatched::Insert), &rows), [b, c]);
    }

    #[test]
    fn late_updates_are_refused_and_late_deletes_are_not() {
        let late: [Row; 1] = [("a", "oslo", 5.0, 0)];
        let error = |update: Option<&[&str]>, action: i32| {
            let rows = joined(&late, STORED_ROWS.get(..1).unwrap(), &[Some(action)]);
            plan(update, NotMatched::Insert).merge_chosen(&rows).map_or_else(|error| error.text(), |_| String::new())
        };
        assert!(
            error(None, 1).starts_with("1 rows, such as that of the key ['a', 'oslo'], have an ordering value (ts)")
        );
        assert_eq!(error(None, 0), "");
        assert_eq!(error(Some(&["fare"]), 1), "");
    }

    #[test]
    fn columns_without_a_value_are_those_that_are_stored_and_null_in_new_rows() {
        let actions: [(&str, &[(&str, &str)]); 3] = [
            ("update", &[("fare", "ts")]),
            ("insert", &[("id", "id"), ("city", "city")]),
            ("update", &[("ts", "ts"), ("id", "id")]),
        ];
        let plan = plan_of(&TestTable::new(), &actions, &[]);
        assert_eq!(plan.update, ["fare", "ts"]);
        let stored: [Row; 3] = [("a", "oslo", 1.0, 1), ("", "", 0.0, 0), ("c", "oslo", 3.0, 3)];
        let merged = plan.merge_chosen(&joined(&GIVEN, &stored, &[Some(0), Some(1), Some(2)])).unwrap();
        let fares = merged.column_by_name("fare").unwrap().as_primitive::<Float64Type>();
        assert_eq!(fares.iter().collect::<Vec<_>>(), [Some(9.0), None, Some(3.0)]);
        let times = merged.column_by_name("ts").unwrap().as_primitive::<Int64Type>();
        assert_eq!(times.iter().collect::<Vec<_>>(), [Some(1), None, Some(3)]);
        assert_eq!(merged.column_by_name("id").unwrap().as_string::<i32>().value(1), "b");
    }

    #[test]
    fn rows_stay_where_they_are() {
        let moving: [(&str, &[(&str, &str)]); 1] = [("update", &[("id", "id"), ("city", "city")])];
        let error = |plan: &MergePlan, given: Row, stored: Row| {
            let merged = plan.merge_chosen(&joined(&[given], &[stored], &[Some(0)]));
            merged.map_or_else(|error| error.text(), |_| String::new())
        };
        let (stored, same): (Row, Row) = (("a", "oslo", 1.0, 1), ("a", "oslo", 5.0, 9));
        let (renamed, moved): (Row, Row) = (("b", "oslo", 5.0, 9), ("a", "rome", 5.0, 9));
        let plan = plan_of(&TestTable::new(), &moving, &[]);
        assert_eq!(error(&plan, same, stored), "");
        assert!(
            error(&plan, renamed, stored).contains("changes the record key or the partition of a row ('a' to 'b')")
        );
        assert!(error(&plan, moved, stored).contains("('oslo' to 'rome')"));
        let stays = ("hoodie.simple.index.update.partition.path", "false");
        let plan = plan_of(&TestTable::new(), &moving, &[GLOBAL, stays]);
        assert!(error(&plan, moved, stored).contains("('oslo' to 'rome')"));
        let moves = ("hoodie.simple.index.update.partition.path", "true");
        let plan = plan_of(&TestTable::new(), &moving, &[GLOBAL, moves]);
        assert_eq!((error(&plan, moved, stored).as_str(), plan.update.as_slice()), ("", names(&["city"]).as_slice()));
        assert!(error(&plan, renamed, stored).contains("('a' to 'b')"));
    }

    #[test]
    fn rows_with_generated_keys_keep_them() {
        let table = TestTable::with_properties(&[("hoodie.table.recordkey.fields", "")]);
        let actions: [(&str, &[(&str, &str)]); 2] =
            [("update", &[("ts", "ts"), ("city", "city")]), ("insert", &[("city", "city")])];
        let plan = plan_of(&table, &actions, &[]);
        let stored: [Row; 2] = [("k", "oslo", 1.0, 1), ("", "", 0.0, 0)];
        let given: [Row; 2] = [("x", "oslo", 5.0, 9), ("y", "rome", 6.0, 2)];
        let merged = plan.merge_chosen(&joined(&given, &stored, &[Some(0), Some(1)])).unwrap();
        let values = |name: &str| {
            let column = merged.column_by_name(name).unwrap().as_string::<i32>();
            column.iter().map(|text| text.map(str::to_owned)).collect::<Vec<_>>()
        };
        assert_eq!(values(meta_columns::RECORD_KEY), [Some("k".to_owned()), None]);
        assert_eq!(values(meta_columns::PARTITION_PATH), [Some("oslo".to_owned()), Some("rome".to_owned())]);
        let error = |given: Row| {
            let rows = joined(&[given], stored.get(..1).unwrap(), &[Some(0)]);
            plan.merge_chosen(&rows).unwrap_err().text()
        };
        assert!(error(("x", "rome", 5.0, 9)).contains("changes the record key or the partition"));
        assert!(error(("x", "oslo", 5.0, 0)).contains("lessens the ordering value"));
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
