//! Expressions over the rows that a condition selects.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::assignments::Assignments;
use super::clauses::NewValue;
use super::made_rows::{KEYS, MadeRows, table_columns};
use super::sides::alone;
use super::stored_batches::StoredBatches;
use super::stored_query::snapshot;
use super::write::{RowsChanged, write_rows};
use crate::merge_into::{check_changes, only, read_for_changes, set_values};
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, Result};
use mortice_commit::commit::CommitValidator;
use mortice_expr::{Expression, Sides};
use mortice_formats::filter::Filter;
use mortice_table::plan::OpenTable;

/// The only side.
const ROW: &str = "row";

/// The rows that are updated.
#[derive(Debug, Clone)]
pub enum UpdatedRows {
    /// Those for which an expression is true.
    Condition(String),
    /// Those that a filter selects.
    Filter(Filter),
}

/// Updates the rows of a table that a condition selects, in the state in which it was opened, as one commit.
///
/// # Errors
/// `InvalidArgument` for expressions that do not fit the table, a value that a column does not hold, columns that say
/// where a row is, and ordering values that are less than the stored ones; `Unsupported` for tables and options with
/// which rows cannot be changed; `WriteConflict` if another writer has committed since the table was opened; as for
/// [`crate::write`].
pub fn update_where(
    table: &Arc<OpenTable>,
    values: &[(String, NewValue)],
    rows: &UpdatedRows,
    options: &BTreeMap<String, String>,
    validator: Option<Arc<dyn CommitValidator>>,
) -> Result<RowsChanged> {
    let table = &read_for_changes(table, options)?;
    let columns = table_columns(table)?;
    let sides = Arc::new(Sides { schemas: vec![(ROW.to_owned(), SchemaRef::clone(&columns))], aliases: Vec::new() });
    let (condition, filter) = selection(rows, &sides)?;
    let assignments = Assignments::new(values, &columns, &sides)?;
    let updated: Vec<String> = assignments.names().cloned().collect();
    check_changes(table, &updated, options)?;
    let made = MadeRows::new(table, &columns, &updated);
    let names = columns.fields().iter().map(|field| field.name().clone()).chain(KEYS.map(str::to_owned));
    let scan = snapshot(table, names.collect(), filter)?;
    // A batch as it is read.
    let mut stored = StoredBatches::new(Some(&scan), BatchLimit::with_rows(1));
    let change = |rows: RecordBatch| {
        let rows = match &condition {
            None => rows,
            Some(condition) => only(&rows, &set_values(&condition.selected(&alone(ROW, rows.clone()))?))?,
        };
        made.updates(&rows, &assignments.made(&alone(ROW, rows.clone()))?)
    };
    let mut changed = std::iter::from_fn(|| Some(stored.next_batch().transpose()?.and_then(change)));
    let written = write_rows(table, SchemaRef::clone(&made.schema), &mut changed, &updated, options, validator)?;
    Ok(RowsChanged { written, damaged: stored.damaged() })
}

/// What is evaluated for each row that is read, and the filter by which rows are read.
fn selection(rows: &UpdatedRows, sides: &Arc<Sides>) -> Result<(Option<Expression>, Filter)> {
    match rows {
        UpdatedRows::Filter(filter) if filter.is_empty() => {
            Err(Error::invalid_argument("filters must select rows; the condition 'true' selects all of them"))
        }
        UpdatedRows::Filter(filter) => Ok((None, filter.clone())),
        UpdatedRows::Condition(text) => {
            let condition = Expression::parse(text, sides)?;
            condition.check_condition()?;
            let filter = Filter::all_of(condition.pushed_terms(ROW));
            Ok((Some(condition), filter))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::expressions;
    use super::*;
    use crate::merge_into::testing::{TestTable, options};
    use mortice_formats::filter::{Literal, Operator, Term};

    fn updated(table: &TestTable, values: &[(&str, &str)], rows: &UpdatedRows) -> Result<bool> {
        let changed = update_where(&table.open(), &expressions(values), rows, &options(&[]), None)?;
        Ok(changed.written.is_some())
    }

    #[test]
    fn the_rows_of_a_condition_or_a_filter_are_updated() {
        let table = TestTable::new();
        table.upsert(&[("a", "oslo", 1.0, 1), ("b", "oslo", 2.0, 2), ("c", "rome", 3.0, 3)]);
        let condition = |text: &str| UpdatedRows::Condition(text.to_owned());
        let term = Term::new("id", Operator::Eq, vec![Literal::Text("c".into())]).unwrap();
        let filter = UpdatedRows::Filter(Filter::any_of(vec![vec![term]]));
        assert!(updated(&table, &[("fare", "fare * 10")], &condition("city = 'oslo' AND ts + 0 > 1")).unwrap());
        assert!(updated(&table, &[("fare", "7"), ("ts", "ts + 5")], &filter).unwrap());
        assert!(!updated(&table, &[("fare", "1")], &condition("id = 'z'")).unwrap());
        let found = table.rows().into_iter().map(|(_, _, fare, ts)| (fare, ts)).collect::<Vec<_>>();
        assert_eq!(found, [(1.0, 1), (20.0, 2), (7.0, 8)]);
        let refused = |values: &[(&str, &str)], rows: &UpdatedRows| updated(&table, values, rows).unwrap_err().text();
        assert!(refused(&[("fare", "1")], &UpdatedRows::Filter(Filter::default())).contains("the condition 'true'"));
        assert!(refused(&[("fare", "1")], &condition("fare")).contains("must be boolean"));
        assert!(refused(&[("id", "'x'")], &condition("true")).contains("'id' is part of the record key"));
        assert!(refused(&[("ts", "ts - 1")], &condition("true")).contains("ordering value"));
    }
}
