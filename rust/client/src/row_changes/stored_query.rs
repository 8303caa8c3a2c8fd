//! Which stored rows a merge reads: those that given rows may match, or all of them if there are clauses for others.

use std::collections::BTreeMap;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, FieldRef, Schema};

use super::literals::literals;
use super::made_rows::KEYS;
use super::merge_plan::MergePlan;
use super::sides::{SOURCE, TARGET, UNFIT, alone, without_nulls};
use crate::merge_into::{only, rows_of_keys};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_expr::Expression;
use mortice_formats::filter::{Filter, Operator, Term};
use mortice_table::plan::{OpenTable, QueryOptions, Scan, SnapshotRows};

/// More values of a partition column than these are no filter.
const MOST_PARTITIONS: usize = 1_000;

/// A query of the stored rows that matter to a merge; none if there are no such rows.
pub(super) fn query_of_merge(table: &OpenTable, plan: &MergePlan, given: &RecordBatch) -> Result<Option<Scan>> {
    let columns = columns_read(plan);
    if !plan.not_matched_by_source.is_empty() {
        return snapshot(table, columns, Filter::default()).map(Some);
    }
    let (config, values) = (&table.config, plan.condition.key_columns());
    let is_known = |name: &String| values.contains_key(name.as_str());
    if !config.record_key_fields.is_empty() && config.record_key_fields.iter().all(is_known) {
        let partitions =
            if config.partition_fields.iter().all(is_known) { config.partition_fields.as_slice() } else { &[] };
        let others = partitions.iter().filter(|name| !config.record_key_fields.contains(name));
        let names: Vec<&String> = config.record_key_fields.iter().chain(others).collect();
        match key_rows(plan, &values, &names, given)? {
            Some(keys) if keys.num_rows() == 0 => return Ok(None),
            Some(keys) => return rows_of_keys(table, &keys, &columns).map(Some),
            None => {}
        }
    }
    let mut terms = plan.condition.expression.pushed_terms(TARGET);
    for name in config.partition_fields.iter().filter(|name| is_known(name)) {
        terms.extend(partition_term(plan, &values, name, given)?);
    }
    snapshot(table, columns, Filter::all_of(terms)).map(Some)
}

/// Plans a query of some columns of the rows that a filter selects.
pub(super) fn snapshot(table: &OpenTable, columns: Vec<String>, filter: Filter) -> Result<Scan> {
    table.snapshot(&QueryOptions { columns: Some(columns), filter, merger: None }, None, SnapshotRows::Merged)
}

/// The columns that are read: all of them, unless rows are inserted only.
fn columns_read(plan: &MergePlan) -> Vec<String> {
    let writes_stored = !plan.matched.is_empty() || !plan.not_matched_by_source.is_empty();
    let used = plan.condition.expression.names(TARGET);
    let names = plan.columns.fields().iter().map(|field| field.name());
    let read = names.filter(|name| writes_stored || used.contains(&name.as_str()));
    read.cloned().chain(KEYS.map(str::to_owned)).collect()
}

/// The values that columns of the table are to have, of given rows that have all of them; none if the table has types
/// that do not hold them.
fn key_rows(
    plan: &MergePlan,
    values: &BTreeMap<&str, &Expression>,
    names: &[&String],
    given: &RecordBatch,
) -> Result<Option<RecordBatch>> {
    let (mut fields, mut columns): (Vec<FieldRef>, Vec<ArrayRef>) = (Vec::new(), Vec::new());
    for name in names {
        let unknown = || Error::internal(format!("no column {name:?} of the key is in the table"));
        let (_, field) = plan.columns.fields().find(name).ok_or_else(unknown)?;
        let value = values.get(name.as_str()).ok_or_else(unknown)?;
        match value.assigned(&alone(SOURCE, given.clone()), field) {
            Ok(column) => columns.push(column),
            // The value itself is defined: rows are joined by it.
            Err(error) if error.kind() == ErrorKind::InvalidArgument => return Ok(None),
            Err(error) => return Err(error),
        }
        fields.push(FieldRef::clone(field));
    }
    let nulls = without_nulls(&columns);
    let rows = RecordBatch::try_new(Schema::new(fields).into(), columns).map_err(Error::internal_by(UNFIT))?;
    nulls.map_or(Ok(rows.clone()), |nulls| only(&rows, nulls.inner())).map(Some)
}

fn partition_term(
    plan: &MergePlan,
    values: &BTreeMap<&str, &Expression>,
    name: &String,
    given: &RecordBatch,
) -> Result<Option<Term>> {
    let Some(rows) = key_rows(plan, values, &[name], given)? else { return Ok(None) };
    let Some(column) = rows.columns().first().filter(|column| is_filtered(column.data_type())) else { return Ok(None) };
    let values = literals(column)?.filter(|values| values.len() <= MOST_PARTITIONS);
    values.map(|values| Term::new(name.as_str(), Operator::In, values)).transpose()
}

fn is_filtered(kind: &DataType) -> bool {
    kind.is_integer() || matches!(kind, DataType::Utf8 | DataType::Date32 | DataType::Date64)
}

#[cfg(test)]
mod tests {
    use super::super::clauses::{ClauseValues, RowClause};
    use super::super::testing::{batch, clause, plan_of, with_null_cities};
    use super::*;
    use crate::merge_into::testing::TestTable;

    fn read(table: &TestTable, on: &str, clauses: &[RowClause], given: &RecordBatch) -> Option<(usize, usize)> {
        let plan = plan_of(on, clauses).unwrap();
        let scan = query_of_merge(&table.open(), &plan, given).unwrap()?;
        let rows = scan.stream().map(|rows| rows.unwrap().num_rows()).sum();
        Some((rows, scan.schema().fields().len()))
    }

    #[test]
    fn rows_are_read_that_given_ones_may_match() {
        let table = TestTable::new();
        table.upsert(&[("a", "oslo", 1.0, 1), ("b", "oslo", 1.0, 2), ("a", "rome", 1.0, 3), ("c", "rome", 2.0, 4)]);
        let none = ClauseValues::Named(Vec::new());
        let (delete, insert) = (clause("matched", "delete", None, &none), clause("not_matched", "insert", None, &none));
        let (delete, insert) = ([delete], [insert]);
        let given = batch(&[("a", "oslo", 2.0, 4), ("x", "oslo", 2.0, 4)]);
        // By key and partition path, by key, by partition, by a term of the condition, and all rows.
        assert_eq!(read(&table, "t.id = s.id AND t.city = s.city", &delete, &given), Some((1, 6)));
        assert_eq!(read(&table, "id", &delete, &given), Some((2, 6)));
        assert_eq!(read(&table, "id", &insert, &given), Some((2, 3)));
        assert_eq!(read(&table, "t.city = s.city AND t.fare < s.fare", &delete, &given), Some((2, 6)));
        assert_eq!(read(&table, "t.city = s.city AND t.id IN ('b', 'c')", &delete, &given), Some((1, 6)));
        assert_eq!(read(&table, "t.ts = s.ts", &insert, &given), Some((4, 3)));
        let by_source = [clause("not_matched_by_source", "delete", None, &none)];
        assert_eq!(read(&table, "id", &by_source, &given), Some((4, 6)));
    }

    #[test]
    fn nulls_match_no_row() {
        let table = TestTable::new();
        table.upsert(&[("a", "oslo", 1.0, 1), ("b", "rome", 1.0, 2)]);
        let delete = [clause("matched", "delete", None, &ClauseValues::Named(Vec::new()))];
        let given = with_null_cities(&batch(&[("a", "", 1.0, 1), ("b", "rome", 1.0, 1)]));
        let on = "t.id = s.id AND t.city = s.city";
        assert_eq!(read(&table, on, &delete, &given), Some((1, 6)));
        assert_eq!(read(&table, on, &delete, &given.slice(0, 1)), None);
        assert_eq!(read(&table, on, &delete, &batch(&[])), None);
    }
}
