//! A merge by a condition, from given rows to the commit.
//!
//! The given rows are in memory. The table is read as a stream of batches. Batches of pairs and of inserted rows have
//! as many rows as take a limited number of bytes.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};

use super::apply::applied;
use super::check::check_once;
use super::clauses::{MatchedBy, RowClause};
use super::given_rows::GivenRows;
use super::made_rows::{MadeRows, table_columns};
use super::merge_plan::{BoundClause, MergePlan};
use super::one_batch::one_batch;
use super::pairs::Pairs;
use super::sides::{SOURCE, TARGET, alone, with_columns};
use super::stored_batches::StoredBatches;
use super::stored_query::query_of_merge;
use super::write::{RowsChanged, write_rows};
use crate::WriteInput;
use crate::merge_into::{check_changes, only, read_for_changes};
use mortice_base::batch_limit::BatchLimit;
use mortice_base::error::{Error, Result};
use mortice_base::row_number::at;
use mortice_merge::spill::row_bytes;
use mortice_storage::check_cancelled;
use mortice_table::plan::OpenTable;

/// Rows that are evaluated at a time.
const BATCH_ROWS: usize = 65_536;

/// Merges rows into a table, in the state in which it was opened, as one commit: a row gets the first clause of its
/// side whose condition is true, and rows without one stay as they are.
///
/// # Errors
/// `InvalidArgument` for clauses and rows that do not fit, for several rows that match a stored one and do not all
/// delete it, and as for [`crate::update_where`].
pub fn merge(
    table: &Arc<OpenTable>,
    on: &MatchedBy,
    clauses: &[RowClause],
    input: WriteInput<'_>,
) -> Result<RowsChanged> {
    merge_within(table, on, clauses, input, BatchLimit::with_rows(BATCH_ROWS))
}

fn merge_within(
    table: &Arc<OpenTable>,
    on: &MatchedBy,
    clauses: &[RowClause],
    input: WriteInput<'_>,
    limit: BatchLimit,
) -> Result<RowsChanged> {
    let WriteInput { schema, batches, options, validator, .. } = input;
    let table = &read_for_changes(table, options)?;
    let columns = table_columns(table)?;
    let plan = MergePlan::new(&columns, &schema, on, clauses)?;
    let updated = plan.updated();
    check_changes(table, &updated, options)?;
    let given = one_batch(&schema, &batches.collect::<Result<Vec<_>>>()?)?;
    let given = GivenRows::new(given, &plan.condition)?;
    let scan = query_of_merge(table, &plan, &given.rows)?;
    // Given rows are looked up once for each batch of stored ones.
    let at_once = BatchLimit::with_rows(limit.rows().max(given.rows.num_rows() / 2)).with_bytes(limit.bytes());
    let made = MadeRows::new(table, &columns, &updated);
    let mut rows = MergedRows {
        plan: &plan,
        keys: &table.config.record_key_fields,
        given: &given,
        made: &made,
        limit,
        stored: StoredBatches::new(scan.as_ref(), at_once),
        is_matched: vec![false; given.rows.num_rows()],
        work: Work::Read,
        ready: VecDeque::new(),
    };
    let written = write_rows(table, Arc::clone(&made.schema), &mut rows, &updated, options, validator)?;
    Ok(RowsChanged { written, damaged: rows.stored.damaged() })
}

/// The rows that a merge writes, made as they are asked for.
struct MergedRows<'a> {
    plan: &'a MergePlan,
    keys: &'a [String],
    given: &'a GivenRows,
    made: &'a MadeRows,
    limit: BatchLimit,
    stored: StoredBatches,
    /// Which given rows match a stored one, of those that were read.
    is_matched: Vec<bool>,
    work: Work,
    /// Batches that were made at once.
    ready: VecDeque<RecordBatch>,
}

/// What is to be done next.
enum Work {
    /// Reads stored rows.
    Read,
    /// Applies clauses to pairs from one on, and then to the stored rows of none.
    Pairs {
        stored: RecordBatch,
        pairs: Pairs,
        start: usize,
    },
    /// Inserts given rows from one on.
    Insert {
        rows: RecordBatch,
        start: usize,
    },
    Done,
}

impl Iterator for MergedRows<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(rows) = self.ready.pop_front() {
                return Some(Ok(rows));
            }
            let work = std::mem::replace(&mut self.work, Work::Done);
            let next = match work {
                Work::Read => self.read(),
                Work::Pairs { stored, pairs, start } => self.change(stored, pairs, start),
                Work::Insert { rows, start } => self.insert(rows, start),
                Work::Done => return None,
            };
            match next {
                Ok(next) => self.work = next,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl MergedRows<'_> {
    fn read(&mut self) -> Result<Work> {
        let Some(stored) = self.stored.next_batch()? else { return self.not_matched() };
        let pairs = Pairs::find(self.plan, &stored, self.given)?;
        for number in &pairs.given {
            let is_matched = self.is_matched.get_mut(at(*number));
            *is_matched.ok_or_else(|| Error::internal("a stored row matches no given row of a merge"))? = true;
        }
        if !self.plan.matched.is_empty() {
            check_once(self.plan, &pairs, &stored, self.given, self.keys, self.limit.rows())?;
        }
        Ok(Work::Pairs { stored, pairs, start: 0 })
    }

    fn change(&mut self, stored: RecordBatch, pairs: Pairs, start: usize) -> Result<Work> {
        check_cancelled()?;
        if self.plan.matched.is_empty() || start >= pairs.len() {
            return self.change_others(&stored, &pairs);
        }
        let names: Vec<&str> = self.plan.matched.iter().flat_map(BoundClause::read_of_source).collect();
        let given = with_columns(&self.given.rows, |name| names.contains(&name))?;
        let at_once = self.limit.rows_of(bytes_of_row(&stored).saturating_add(bytes_of_row(&self.given.rows)));
        let rows = pairs.part(start, at_once).beside(&stored, &given)?;
        self.ready.extend(applied(&self.plan.matched, rows, self.made)?);
        Ok(Work::Pairs { stored, pairs, start: start.saturating_add(at_once) })
    }

    /// Changes the stored rows that no given one matches.
    fn change_others(&mut self, stored: &RecordBatch, pairs: &Pairs) -> Result<Work> {
        let clauses = &self.plan.not_matched_by_source;
        if !clauses.is_empty() {
            let mut is_other = BooleanBufferBuilder::new(stored.num_rows());
            is_other.append_n(stored.num_rows(), true);
            pairs.stored.iter().for_each(|row| is_other.set_bit(at(*row), false));
            let others = only(stored, &is_other.finish())?;
            self.ready.extend(applied(clauses, alone(TARGET, others), self.made)?);
        }
        Ok(Work::Read)
    }

    fn not_matched(&self) -> Result<Work> {
        if self.plan.not_matched.is_empty() {
            return Ok(Work::Done);
        }
        let is_new: BooleanBuffer = self.is_matched.iter().map(|is_matched| !is_matched).collect();
        Ok(Work::Insert { rows: only(&self.given.rows, &is_new)?, start: 0 })
    }

    fn insert(&mut self, rows: RecordBatch, start: usize) -> Result<Work> {
        check_cancelled()?;
        let left = rows.num_rows().saturating_sub(start);
        if left == 0 {
            return Ok(Work::Done);
        }
        let at_once = self.limit.rows_of(bytes_of_row(&rows)).min(left);
        let new = alone(SOURCE, rows.slice(start, at_once));
        self.ready.extend(applied(&self.plan.not_matched, new, self.made)?);
        Ok(Work::Insert { rows, start: start.saturating_add(at_once) })
    }
}

/// Bytes of a row, on average.
fn bytes_of_row(rows: &RecordBatch) -> usize {
    row_bytes(rows) / rows.num_rows().max(1)
}

#[cfg(test)]
mod tests {
    use super::super::clauses::ClauseValues;
    use super::super::testing::{batch, clause, expressions, matched_by};
    use super::*;
    use crate::merge_into::testing::{Row, TestTable, options};
    use mortice_base::ErrorKind;

    const STORED: [Row; 4] =
        [("a", "oslo", 1.0, 1), ("b", "oslo", 2.0, 2), ("c", "rome", 3.0, 3), ("d", "lima", 4.0, 4)];

    fn merged(
        table: &Arc<OpenTable>,
        rows: &[Row],
        on: &str,
        clauses: &[RowClause],
        limit: BatchLimit,
    ) -> Result<bool> {
        let (rows, options) = (batch(rows), options(&[]));
        let parts = rows.num_rows().min(2);
        let mut batches = (0..parts).map(|part| {
            let start = part * rows.num_rows() / 2;
            Ok(rows.slice(start, (part + 1) * rows.num_rows() / 2 - start))
        });
        let input = WriteInput {
            schema: rows.schema(),
            batches: &mut batches,
            is_in_memory: true,
            options: &options,
            validator: None,
        };
        merge_within(table, &matched_by(on), clauses, input, limit).map(|changed| changed.written.is_some())
    }

    fn clauses() -> Vec<RowClause> {
        let named = |values: &[(&str, &str)]| ClauseValues::Named(expressions(values));
        vec![
            clause("matched", "delete", Some("s.fare = 0"), &named(&[])),
            clause("matched", "update", None, &named(&[("fare", "t.fare + s.fare"), ("ts", "s.ts")])),
            clause("not_matched", "insert", Some("fare > 5"), &ClauseValues::All),
            clause("not_matched_by_source", "update", Some("city = 'lima'"), &named(&[("fare", "-1")])),
        ]
    }

    #[test]
    fn rows_do_not_depend_on_the_sizes_of_batches() {
        let given = [
            ("x", "rome", 6.0, 6),
            ("b", "oslo", 0.0, 9),
            ("c", "rome", 10.0, 9),
            ("y", "rome", 1.0, 7),
            ("z", "oslo", 7.0, 8),
        ];
        let limits = [BatchLimit::with_rows(1), BatchLimit::with_rows(100), BatchLimit::with_rows(100).with_bytes(1)];
        for limit in limits {
            let table = TestTable::new();
            table.upsert(&STORED);
            assert!(merged(&table.open(), &given, "id", &clauses(), limit).unwrap());
            let found = table.rows().into_iter().map(|(id, _, fare, ts)| (id, fare, ts)).collect::<Vec<_>>();
            let row = |id: &str, fare: f64, ts: i64| (id.to_owned(), fare, ts);
            let expected = [row("a", 1.0, 1), row("c", 13.0, 9), row("d", -1.0, 4), row("x", 6.0, 6), row("z", 7.0, 8)];
            assert_eq!(found, expected);
            assert_eq!(table.open().timeline.completed_writes().count(), 2);
        }
    }

    #[test]
    fn nothing_is_written_if_no_row_changes() {
        let table = TestTable::new();
        table.upsert(&STORED);
        let limit = BatchLimit::with_rows(100);
        let delete = [clause("matched", "delete", Some("s.fare > 90"), &ClauseValues::Named(Vec::new()))];
        assert!(!merged(&table.open(), &STORED, "id", &delete, limit).unwrap());
        let insert = [clause("not_matched", "insert", None, &ClauseValues::All)];
        assert!(!merged(&table.open(), &[], "id", &insert, limit).unwrap());
        assert_eq!(table.open().timeline.completed_writes().count(), 1);
    }

    #[test]
    fn several_rows_of_a_stored_one_and_a_late_read_are_refused() {
        let table = TestTable::new();
        table.upsert(&STORED);
        let limit = BatchLimit::with_rows(1);
        let twice = [("a", "oslo", 1.0, 5), ("a", "rome", 2.0, 5)];
        let error = merged(&table.open(), &twice, "id", &clauses(), limit).unwrap_err();
        assert!(error.text().contains("several rows match the stored row of the key {'id': 'a'}"), "{error}");
        let open = table.open();
        table.upsert(&[("a", "oslo", 9.0, 9)]);
        let error = merged(&open, &[("a", "oslo", 1.0, 10)], "id", &clauses(), limit).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WriteConflict);
    }
}
