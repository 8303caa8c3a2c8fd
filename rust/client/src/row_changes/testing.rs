//! Rows and plans for the tests of this folder.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::{Field, Schema};

use super::assignments::Assignments;
use super::clauses::{ClauseAction, ClauseSide, ClauseValues, MatchedBy, NewValue, RowClause};
use super::made_rows::{KEYS, MadeRows};
use super::merge_plan::MergePlan;
use super::sides::{TARGET, sides_of};
use crate::merge_into::testing::TestTable;
pub(super) use crate::merge_into::testing::{Row, batch};
use crate::merge_into::{DELETES_COLUMN, UPDATES_COLUMN};
use mortice_base::error::Result;

pub(super) fn expressions(values: &[(&str, &str)]) -> Vec<(String, NewValue)> {
    let value = |(name, text): &(&str, &str)| ((*name).to_owned(), NewValue::Expression((*text).to_owned()));
    values.iter().map(value).collect()
}

pub(super) fn matched_by(condition: &str) -> MatchedBy {
    MatchedBy::Condition(condition.to_owned())
}

pub(super) fn clause(side: &str, action: &str, condition: Option<&str>, values: &ClauseValues) -> RowClause {
    let (side, action) = (ClauseSide::parse(side).unwrap(), ClauseAction::parse(action).unwrap());
    RowClause::new(side, action, condition.map(str::to_owned), values.clone()).unwrap()
}

/// A merge of rows with the columns of the table.
pub(super) fn plan_of(on: &str, clauses: &[RowClause]) -> Result<MergePlan> {
    let columns = batch(&[]).schema();
    MergePlan::new(&columns, &columns, &matched_by(on), clauses)
}

pub(super) fn assigned(values: &[(&str, &str)]) -> Assignments {
    let columns = batch(&[]).schema();
    Assignments::new(&expressions(values), &columns, &sides_of([(TARGET, Arc::clone(&columns))])).unwrap()
}

pub(super) fn made() -> MadeRows {
    MadeRows::new(&TestTable::new().open(), &batch(&[]).schema(), &[])
}

/// Rows as they are read: with record key and partition path behind their columns.
pub(super) fn stored(rows: &[Row]) -> RecordBatch {
    let rows = batch(rows);
    let fields = rows.schema().fields().iter().cloned().collect::<Vec<_>>();
    let keys = KEYS.map(|name| Arc::new(Field::new(name, arrow_schema::DataType::Utf8, true)));
    let columns = rows.columns().iter().chain(&rows.columns()[..2]).cloned().collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields.into_iter().chain(keys).collect::<Vec<_>>())), columns).unwrap()
}

/// The rows, with null instead of an empty city.
pub(super) fn with_null_cities(rows: &RecordBatch) -> RecordBatch {
    let cities = rows.column(1).as_string::<i32>().iter().map(|city| city.filter(|city| !city.is_empty()));
    let mut columns = rows.columns().to_vec();
    columns[1] = Arc::new(cities.collect::<StringArray>()) as ArrayRef;
    RecordBatch::try_new(rows.schema(), columns).unwrap()
}

/// Whether rows delete, and whether they update.
pub(super) fn marks_of(rows: &RecordBatch) -> Vec<(bool, bool)> {
    let column = |name: &str| rows.column_by_name(name).unwrap().as_boolean().clone();
    let (deletes, updates) = (column(DELETES_COLUMN), column(UPDATES_COLUMN));
    let is_set = |marks: &arrow_array::BooleanArray, row: usize| marks.is_valid(row) && marks.value(row);
    (0..rows.num_rows()).map(|row| (is_set(&deletes, row), is_set(&updates, row))).collect()
}

/// Key, fare, ordering value and kind of a row to write.
pub(super) fn row_of(rows: &RecordBatch, row: usize) -> String {
    let column = |name: &str| rows.column_by_name(name).unwrap();
    let (id, fare) = (column("id").as_string::<i32>(), column("fare").as_primitive::<Float64Type>());
    let ts = column("ts").as_primitive::<Int64Type>();
    let ts = if ts.is_null(row) { "null".to_owned() } else { ts.value(row).to_string() };
    let kind = match marks_of(rows)[row] {
        (true, _) => "delete",
        (_, true) => "update",
        _ => "insert",
    };
    format!("{} {} {ts} {kind}", id.value(row), fare.value(row))
}
