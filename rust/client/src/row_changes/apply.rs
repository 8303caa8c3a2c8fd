//! What the first clause whose condition is true makes of each row.

use arrow_array::RecordBatch;
use arrow_buffer::BooleanBuffer;

use super::clauses::ClauseAction;
use super::made_rows::MadeRows;
use super::merge_plan::BoundClause;
use super::sides::{SOURCE, TARGET, only_of};
use crate::merge_into::set_values;
use mortice_base::error::{Error, Result};
use mortice_expr::Batches;

/// The rows that clauses make of rows beside each other: of stored ones updates and deletes, of given ones inserts.
/// Rows that no clause is for make none.
pub(super) fn applied(clauses: &[BoundClause], sides: Batches, made: &MadeRows) -> Result<Vec<RecordBatch>> {
    let (mut left, mut rows) = (sides, Vec::new());
    for clause in clauses {
        if is_empty(&left) {
            break;
        }
        let (chosen, others) = chosen(clause, &left)?;
        if !is_empty(&chosen) {
            rows.push(changed(clause, &chosen, made)?);
        }
        left = others;
    }
    Ok(rows)
}

/// The rows for which the condition of a clause is true, and the others.
fn chosen(clause: &BoundClause, rows: &Batches) -> Result<(Batches, Batches)> {
    let Some(is_chosen) = selected(clause, rows)? else {
        return Ok((rows.clone(), Batches::new()));
    };
    Ok((only_of(rows, &is_chosen)?, only_of(rows, &!&is_chosen)?))
}

/// For which rows the condition of a clause is true; none if it has no condition.
pub(super) fn selected(clause: &BoundClause, rows: &Batches) -> Result<Option<BooleanBuffer>> {
    let selected = clause.condition.as_ref().map(|condition| condition.selected(rows)).transpose()?;
    Ok(selected.map(|selected| set_values(&selected)))
}

fn changed(clause: &BoundClause, rows: &Batches, made: &MadeRows) -> Result<RecordBatch> {
    let side = |name: &str| rows.get(name).ok_or_else(|| Error::internal("rows of a clause without their side"));
    match clause.action {
        ClauseAction::Update => made.updates(side(TARGET)?, &clause.values.made(rows)?),
        ClauseAction::Delete => made.deletes(side(TARGET)?),
        ClauseAction::Insert => made.inserts(side(SOURCE)?.num_rows(), &clause.values.made(rows)?),
    }
}

fn is_empty(rows: &Batches) -> bool {
    rows.values().all(|rows| rows.num_rows() == 0)
}

#[cfg(test)]
mod tests {
    use super::super::sides::alone;
    use super::super::testing::{batch, clause, expressions, made, plan_of, row_of, stored};
    use super::*;
    use crate::row_changes::{ClauseValues, RowClause};

    fn named(values: &[(&str, &str)]) -> ClauseValues {
        ClauseValues::Named(expressions(values))
    }

    fn applied_to(clauses: &[RowClause], sides: Batches) -> Vec<String> {
        let plan = plan_of("id", clauses).unwrap();
        let bound = [plan.matched, plan.not_matched, plan.not_matched_by_source].into_iter().flatten();
        let rows = applied(&bound.collect::<Vec<_>>(), sides, &made()).unwrap();
        rows.iter().flat_map(|rows| (0..rows.num_rows()).map(|row| row_of(rows, row)).collect::<Vec<_>>()).collect()
    }

    #[test]
    fn a_row_gets_the_first_clause_whose_condition_is_true() {
        let clauses = [
            clause("matched", "delete", Some("s.fare < 0"), &named(&[])),
            clause("matched", "update", Some("s.ts > 5"), &named(&[("fare", "t.fare + s.fare")])),
            clause("matched", "update", Some("s.fare = 7"), &named(&[("ts", "99")])),
        ];
        let target = stored(&[("a", "x", 1.0, 1), ("b", "x", 2.0, 1), ("c", "x", 3.0, 1), ("d", "x", 4.0, 1)]);
        let source = batch(&[("a", "x", -1.0, 9), ("b", "x", 7.0, 9), ("c", "x", 7.0, 1), ("d", "x", 0.0, 0)]);
        let sides = Batches::from([(TARGET.to_owned(), target), (SOURCE.to_owned(), source)]);
        assert_eq!(applied_to(&clauses, sides), ["a 1 1 delete", "b 9 1 update", "c 3 99 update"]);
    }

    #[test]
    fn a_clause_without_a_condition_is_for_all_rows_that_are_left() {
        let rows = stored(&[("a", "x", 1.0, 1), ("b", "x", 2.0, 2)]);
        let clauses = [
            clause("not_matched_by_source", "update", Some("fare / (ts - 2) < 0"), &named(&[("fare", "5")])),
            clause("not_matched_by_source", "delete", None, &named(&[])),
        ];
        let of_first = alone(TARGET, rows.slice(0, 1));
        assert_eq!(applied_to(&clauses, of_first), ["a 5 1 update"]);
        // A condition is evaluated for the rows only that no clause before it is for.
        let clauses = [
            clause("not_matched_by_source", "update", Some("ts = 2"), &named(&[("fare", "6")])),
            clause("not_matched_by_source", "update", Some("fare / (ts - 2) < 0"), &named(&[("fare", "5")])),
        ];
        assert_eq!(applied_to(&clauses, alone(TARGET, rows)), ["b 6 2 update", "a 5 1 update"]);
    }

    #[test]
    fn given_rows_become_new_ones() {
        let clauses = [
            clause("not_matched", "insert", Some("fare > 1"), &named(&[("id", "concat(id, '!')"), ("fare", "fare")])),
            clause("not_matched", "insert", Some("fare < 0"), &ClauseValues::All),
        ];
        let given = batch(&[("a", "x", 1.0, 1), ("b", "x", 2.0, 2), ("c", "x", -3.0, 3)]);
        assert_eq!(applied_to(&clauses, alone(SOURCE, given)), ["b! 2 null insert", "c -3 3 insert"]);
        assert!(applied_to(&clauses, alone(SOURCE, batch(&[]))).is_empty());
    }
}
