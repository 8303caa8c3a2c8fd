//! Stored rows that several given ones match.

use arrow_array::RecordBatch;
use arrow_buffer::BooleanBuffer;

use super::apply::selected;
use super::clauses::ClauseAction;
use super::given_rows::GivenRows;
use super::merge_plan::MergePlan;
use super::pairs::Pairs;
use super::sides::{SOURCE, with_columns};
use crate::merge_into::key_value;
use mortice_base::error::{Error, Result};
use mortice_base::row_number::at;
use mortice_storage::check_cancelled;

/// Refuses stored rows that several given ones match, unless each of these deletes them. `keys` are the columns of the
/// record key, `at_once` the pairs that are looked at at a time.
pub(super) fn check_once(
    plan: &MergePlan,
    pairs: &Pairs,
    stored: &RecordBatch,
    given: &GivenRows,
    keys: &[String],
    at_once: usize,
) -> Result<()> {
    let repeated = pairs.repeated();
    if repeated.count_set_bits() == 0 {
        return Ok(());
    }
    let several = pairs.only(&repeated);
    for start in (0..several.len()).step_by(at_once.max(1)) {
        check_cancelled()?;
        if let Some(row) = not_deleted(plan, several.part(start, at_once), stored, given)? {
            return Err(several_match(stored, row, keys)?);
        }
    }
    Ok(())
}

/// The number of a stored row that a pair does not delete.
fn not_deleted(plan: &MergePlan, pairs: Pairs, stored: &RecordBatch, given: &GivenRows) -> Result<Option<u32>> {
    let mut left = pairs;
    for clause in &plan.matched {
        let names: Vec<&str> = clause.condition.iter().flat_map(|condition| condition.names(SOURCE)).collect();
        let rows = left.beside(stored, &with_columns(&given.rows, |name| names.contains(&name))?)?;
        let is_chosen = selected(clause, &rows)?.unwrap_or_else(|| BooleanBuffer::new_set(left.len()));
        let chosen = left.only(&is_chosen);
        if let (true, Some(row)) = (clause.action != ClauseAction::Delete, chosen.stored.first()) {
            return Ok(Some(*row));
        }
        left = left.only(&!&is_chosen);
    }
    Ok(left.stored.first().copied())
}

fn several_match(stored: &RecordBatch, row: u32, keys: &[String]) -> Result<Error> {
    let key = keys.iter().map(|name| Ok(format!("'{name}': {}", key_value(stored, name, at(row))?)));
    let key = key.collect::<Result<Vec<_>>>()?.join(", ");
    Ok(Error::invalid_argument(format!(
        "several rows match the stored row of the key {{{key}}}: it is not known which of them is to be merged; leave one of each, or make the condition narrower"
    )))
}

#[cfg(test)]
mod tests {
    use super::super::clauses::{ClauseValues, RowClause};
    use super::super::testing::{batch, clause, expressions, plan_of, stored};
    use super::*;

    fn checked(clauses: &[RowClause], given: &RecordBatch) -> String {
        let plan = plan_of("id", clauses).unwrap();
        let rows = GivenRows::new(given.clone(), &plan.condition).unwrap();
        let stored = stored(&[("a", "x", 1.0, 1), ("b", "x", 2.0, 2)]);
        let pairs = Pairs::find(&plan, &stored, &rows).unwrap();
        let check = |at_once| check_once(&plan, &pairs, &stored, &rows, &["id".to_owned(), "ts".to_owned()], at_once);
        let errors = [1, 2, 100].map(|at_once| check(at_once).map_or_else(|error| error.text(), |()| String::new()));
        assert!(errors.iter().all(|error| error == &errors[0]), "{errors:?}");
        errors[0].clone()
    }

    #[test]
    fn several_rows_of_a_stored_one_must_all_delete_it() {
        let twice = batch(&[("a", "x", 5.0, 1), ("b", "x", 5.0, 1), ("b", "x", -5.0, 1)]);
        let none = ClauseValues::Named(Vec::new());
        let update = clause("matched", "update", None, &ClauseValues::Named(expressions(&[("fare", "s.fare")])));
        let refused = checked(std::slice::from_ref(&update), &twice);
        assert!(
            refused.starts_with("several rows match the stored row of the key {'id': 'b', 'ts': 2}: "),
            "{refused}"
        );
        assert_eq!(checked(std::slice::from_ref(&update), &twice.slice(0, 2)), "");
        let delete = |condition: Option<&str>| clause("matched", "delete", condition, &none);
        assert_eq!(checked(&[delete(None)], &twice), "");
        assert_eq!(checked(&[delete(Some("s.ts = 1")), update.clone()], &twice), "");
        assert_ne!(checked(&[delete(Some("s.fare > 0")), update], &twice), "");
        // A pair that no clause is for does not delete.
        assert_ne!(checked(&[delete(Some("s.fare > 0"))], &twice), "");
    }
}
