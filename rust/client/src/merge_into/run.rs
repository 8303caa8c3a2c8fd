//! A merge from given rows to the commit.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, FieldRef, Schema};

use super::chosen_rows::{DELETES_COLUMN, UPDATES_COLUMN};
use super::clauses::MergeClauses;
use super::merged_rows::RowMerge;
use super::plan::MergePlan;
use crate::WriteInput;
use crate::write::write_rows;
use mortice_base::error::Result;
use mortice_commit::commit::CommitValidator;
use mortice_commit::writable_table::{TableLocation, WritableTable, read_options};
use mortice_formats::filter::Filter;
use mortice_merge::config::ReadOptions;
use mortice_services::transaction::WriteResult;
use mortice_table::plan::OpenTable;
use mortice_table::timeline::WriteOperation;

/// Merges rows into a table, in the state in which it was opened, as one commit.
///
/// `delete` says which matched rows are deleted, by columns of the given row, or else of the stored one.
///
/// # Errors
/// `InvalidArgument` and `Unsupported` for clauses, rows and tables that cannot be merged; `WriteConflict` if another
/// writer has committed since the table was opened; as for [`crate::write`].
pub fn merge_into(
    table: &Arc<OpenTable>,
    clauses: &MergeClauses,
    delete: Option<&Filter>,
    input: WriteInput<'_>,
) -> Result<WriteResult> {
    let table = &read_for_changes(table, input.options)?;
    let names: Vec<String> = input.schema.fields().iter().map(|field| field.name().clone()).collect();
    let (options, validator) = (input.options, input.validator.clone());
    let plan = MergePlan::new(table, &names, clauses, options)?;
    let given = plan.read_given(input, delete)?;
    let merged = RowMerge::new(table, &plan, delete)?.run(&given)?;
    drop(given);
    write_merged(table, &plan, merged, options, validator)
}

/// The table as a change of rows reads it: with what options of the write say of damaged files.
pub(crate) fn read_for_changes(table: &OpenTable, options: &BTreeMap<String, String>) -> Result<Arc<OpenTable>> {
    let read = ReadOptions { on_damage: read_options(options)?.on_damage, ..table.options.for_changes() };
    table.with_read_options(read).map(Arc::new)
}

/// Writes merged rows, if the table is still as it was opened.
pub(super) fn write_merged(
    table: &Arc<OpenTable>,
    plan: &MergePlan,
    merged: Vec<RecordBatch>,
    options: &BTreeMap<String, String>,
    validator: Option<Arc<dyn CommitValidator>>,
) -> Result<WriteResult> {
    let mut batches = merged.into_iter().map(Ok);
    let input = WriteInput {
        schema: Arc::new(written_columns(plan)),
        batches: &mut batches,
        is_in_memory: true,
        options,
        validator,
    };
    let location = TableLocation::new(&table.uri, &table.storage_options);
    let target = WritableTable::of_table(&location, Arc::clone(table), options, "upsert")?;
    write_rows(target, WriteOperation::Upsert, input, Some(plan.source()))
}

pub(super) fn written_columns(plan: &MergePlan) -> Schema {
    let marks = [DELETES_COLUMN, UPDATES_COLUMN].map(|name| Arc::new(Field::new(name, DataType::Boolean, true)));
    Schema::new(plan.columns().fields().iter().cloned().chain(marks).collect::<Vec<FieldRef>>())
}

#[cfg(test)]
mod tests {
    use super::super::clauses::NotMatched;
    use super::super::testing::Row;
    use super::super::testing::TestTable;
    use super::super::testing::batch;
    use super::super::testing::names;
    use super::super::testing::options;
    use super::*;
    use mortice_base::ErrorKind;
    use mortice_formats::filter::{Literal, Operator, Term};

    const STORED: [Row; 3] = [("a", "oslo", 1.0, 10), ("b", "oslo", 2.0, 10), ("c", "rome", 3.0, 10)];

    fn merge(
        table: &Arc<OpenTable>,
        rows: &RecordBatch,
        clauses: &MergeClauses,
        delete: Option<&Filter>,
    ) -> Result<()> {
        let (schema, mut batches) = (rows.schema(), std::iter::once(Ok(rows.clone())));
        let options = options(&[]);
        let input =
            WriteInput { schema, batches: &mut batches, is_in_memory: true, options: &options, validator: None };
        merge_into(table, clauses, delete, input).map(drop)
    }

    fn updating(names_of: &[&str]) -> MergeClauses {
        MergeClauses { on: None, update: Some(names(names_of)), not_matched: NotMatched::Insert }
    }

    fn stored() -> TestTable {
        let table = TestTable::new();
        table.upsert(&STORED);
        table
    }

    fn found(table: &TestTable) -> Vec<(String, f64, i64)> {
        table.rows().into_iter().map(|(id, _, fare, ts)| (id, fare, ts)).collect()
    }

    fn row(id: &str, fare: f64, ts: i64) -> (String, f64, i64) {
        (id.to_owned(), fare, ts)
    }

    #[test]
    fn rows_are_updated_deleted_and_inserted_in_one_commit() {
        let table = stored();
        let rows = batch(&[("a", "oslo", 5.0, 1), ("b", "oslo", 0.0, 1), ("c", "oslo", 7.0, 1)]);
        let free = Term::new("fare", Operator::Eq, vec![Literal::Float(0.0)]).unwrap();
        let free = Filter::any_of(vec![vec![free]]);
        merge(&table.open(), &rows, &updating(&["fare"]), Some(&free)).unwrap();
        // The row of Oslo is another one than that of Rome.
        assert_eq!(found(&table), [row("a", 5.0, 10), row("c", 7.0, 1), row("c", 3.0, 10)]);
        assert_eq!(table.open().timeline.completed_writes().count(), 2);
    }

    #[test]
    fn several_rows_of_a_key_are_refused_given_or_stored() {
        let table = stored();
        let twice = batch(&[("a", "oslo", 5.0, 11), ("x", "oslo", 5.0, 11), ("x", "oslo", 6.0, 11)]);
        let error = merge(&table.open(), &twice, &updating(&["fare"]), None).unwrap_err();
        assert!(error.text().contains("['x', 'oslo']"), "{error}");
        table.write(WriteOperation::BulkInsert, &[("a", "oslo", 8.0, 11)]);
        let given = batch(&[("a", "oslo", 5.0, 12)]);
        let error = merge(&table.open(), &given, &updating(&["fare"]), None).unwrap_err();
        assert!(error.text().contains("several rows of the key \"a\" in partition \"oslo\""), "{error}");
        assert_eq!(table.open().timeline.completed_writes().count(), 2);
        // Rows that become the same are written.
        merge(&table.open(), &given, &updating(&["fare", "ts"]), None).unwrap();
        let of_key = found(&table).into_iter().filter(|found| found.0 == "a");
        assert_eq!(of_key.collect::<Vec<_>>(), [row("a", 5.0, 12), row("a", 5.0, 12)]);
    }

    #[test]
    fn several_given_rows_of_a_key_may_delete_it() {
        let table = stored();
        let cheap = Filter::any_of(vec![vec![Term::new("fare", Operator::Lt, vec![Literal::Float(2.0)]).unwrap()]]);
        let refused = [
            // One of the rows updates.
            batch(&[("a", "oslo", 0.0, 11), ("a", "oslo", 5.0, 11)]),
            // The key is not there.
            batch(&[("x", "oslo", 0.0, 11), ("x", "oslo", 0.0, 11)]),
        ];
        for rows in refused {
            let error = merge(&table.open(), &rows, &updating(&["fare"]), Some(&cheap)).unwrap_err();
            assert!(error.text().contains("several rows have the key"), "{error}");
        }
        let rows = batch(&[("a", "oslo", 0.0, 11), ("b", "oslo", 5.0, 11), ("a", "oslo", 1.0, 11)]);
        merge(&table.open(), &rows, &updating(&["fare"]), Some(&cheap)).unwrap();
        assert_eq!(found(&table), [row("b", 5.0, 10), row("c", 3.0, 10)]);
    }

    #[test]
    fn an_insert_is_not_lost_to_a_row_that_a_log_has_deleted() {
        let table = stored();
        table.write(WriteOperation::Delete, &[("a", "oslo", 1.0, 10)]);
        let late = |ts: i64| merge(&table.open(), &batch(&[("a", "oslo", 5.0, ts)]), &updating(&["fare"]), None);
        let error = late(9).unwrap_err();
        assert!(error.text().contains("until the table is compacted"), "{error}");
        late(10).unwrap();
        assert_eq!(found(&table).first(), Some(&row("a", 5.0, 10)));
    }

    #[test]
    fn a_commit_since_the_table_was_opened_is_a_conflict() {
        let table = stored();
        let open = table.open();
        table.upsert(&[("b", "oslo", 9.0, 11)]);
        let rows = batch(&[("a", "oslo", 5.0, 1)]);
        let error = merge(&open, &rows, &updating(&["fare"]), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WriteConflict);
        assert!(error.text().contains("merge again"), "{error}");
        assert_eq!(found(&table).first(), Some(&row("a", 1.0, 10)));
        merge(&table.open(), &rows, &updating(&["fare"]), None).unwrap();
        assert_eq!(found(&table), [row("a", 5.0, 10), row("b", 9.0, 11), row("c", 3.0, 10)]);
    }

    #[test]
    fn no_rows_change_nothing() {
        let table = stored();
        merge(&table.open(), &batch(&[]), &updating(&["fare"]), None).unwrap();
        let unknown = Term::new("x", Operator::IsNull, Vec::new()).unwrap();
        let unknown = Filter::any_of(vec![vec![unknown]]);
        assert!(merge(&table.open(), &batch(&[]), &updating(&["fare"]), Some(&unknown)).is_err());
        assert_eq!(found(&table), [row("a", 1.0, 10), row("b", 2.0, 10), row("c", 3.0, 10)]);
    }
}
