//! Which given rows match which stored ones.

use arrow_array::RecordBatch;
use arrow_buffer::BooleanBuffer;

use super::given_rows::GivenRows;
use super::merge_plan::MergePlan;
use super::sides::{SOURCE, TARGET, only_of, rows_at, with_columns};
use crate::merge_into::set_values;
use mortice_base::error::Result;
use mortice_expr::Batches;
use mortice_storage::check_cancelled;

/// Pairs whose condition is evaluated at a time.
const PAIRS: usize = 1 << 18;

/// The numbers of stored rows and of the given ones that match them, pair by pair, ordered by the stored ones.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Pairs {
    pub(super) stored: Vec<u32>,
    pub(super) given: Vec<u32>,
}

impl Pairs {
    /// Finds the pairs for which the condition of a merge is true.
    pub(super) fn find(plan: &MergePlan, stored: &RecordBatch, given: &GivenRows) -> Result<Self> {
        Self::find_in_parts(plan, stored, given, PAIRS)
    }

    fn find_in_parts(plan: &MergePlan, stored: &RecordBatch, given: &GivenRows, most: usize) -> Result<Self> {
        let (mut found, mut part) = (Self::default(), Self::default());
        given.for_each_pair(stored, &plan.condition, |row, number| {
            part.stored.push(row);
            part.given.push(number);
            if part.len() < most {
                return Ok(());
            }
            check_cancelled()?;
            found.add(std::mem::take(&mut part).with_rest(plan, stored, &given.rows)?);
            Ok(())
        })?;
        found.add(part.with_rest(plan, stored, &given.rows)?);
        Ok(found)
    }

    pub(super) fn len(&self) -> usize {
        self.stored.len()
    }

    fn add(&mut self, other: Self) {
        self.stored.extend(other.stored);
        self.given.extend(other.given);
    }

    /// The pairs for which all of the condition is true that is no equality.
    fn with_rest(self, plan: &MergePlan, stored: &RecordBatch, given: &RecordBatch) -> Result<Self> {
        let condition = &plan.condition;
        if condition.rest.is_empty() || self.len() == 0 {
            return Ok(self);
        }
        let (target, source) = (condition.expression.names(TARGET), condition.expression.names(SOURCE));
        let stored = with_columns(stored, |name| target.contains(&name))?;
        let given = with_columns(given, |name| source.contains(&name))?;
        let mut sides = self.beside(&stored, &given)?;
        let mut pairs = self;
        for condition in &condition.rest {
            let is_true = set_values(&condition.selected(&sides)?);
            pairs = pairs.only(&is_true);
            sides = only_of(&sides, &is_true)?;
        }
        Ok(pairs)
    }

    /// The rows of the pairs beside each other.
    pub(super) fn beside(&self, stored: &RecordBatch, given: &RecordBatch) -> Result<Batches> {
        let (stored, given) = (rows_at(stored, &self.stored)?, rows_at(given, &self.given)?);
        Ok(Batches::from([(TARGET.to_owned(), stored), (SOURCE.to_owned(), given)]))
    }

    /// Some of the pairs.
    pub(super) fn only(&self, pairs: &BooleanBuffer) -> Self {
        let some = |numbers: &[u32]| pairs.set_indices().filter_map(|pair| numbers.get(pair).copied()).collect();
        Self { stored: some(&self.stored), given: some(&self.given) }
    }

    /// At most so many of the pairs from one on.
    pub(super) fn part(&self, start: usize, most: usize) -> Self {
        let some = |numbers: &[u32]| numbers.iter().skip(start).take(most).copied().collect();
        Self { stored: some(&self.stored), given: some(&self.given) }
    }

    /// Which pairs have a stored row that others have, too.
    pub(super) fn repeated(&self) -> BooleanBuffer {
        let rows = &self.stored;
        let is_same = |one: Option<usize>, row: u32| one.and_then(|one| rows.get(one)) == Some(&row);
        let pairs = rows.iter().enumerate();
        pairs.map(|(pair, row)| is_same(pair.checked_sub(1), *row) || is_same(pair.checked_add(1), *row)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{batch, plan_of};
    use super::*;

    fn found(on: &str, stored: &RecordBatch, given: &RecordBatch, most: usize) -> Vec<(u32, u32)> {
        let plan = plan_of(on, &[]).unwrap();
        let rows = GivenRows::new(given.clone(), &plan.condition).unwrap();
        let pairs = Pairs::find_in_parts(&plan, stored, &rows, most).unwrap();
        pairs.stored.into_iter().zip(pairs.given).collect()
    }

    #[test]
    fn pairs_do_not_depend_on_their_parts() {
        let stored = batch(&[("a", "x", 1.0, 1), ("b", "x", 2.0, 2), ("c", "x", 3.0, 3)]);
        let given = batch(&[("c", "x", 1.0, 9), ("b", "x", 2.0, 1), ("b", "x", 3.0, 5)]);
        for most in [1, 2, 3, 100] {
            assert_eq!(found("id", &stored, &given, most), [(1, 1), (1, 2), (2, 0)]);
            assert_eq!(found("t.id = s.id AND s.ts > t.ts", &stored, &given, most), [(1, 2), (2, 0)]);
            // Without an equality, and with several conditions.
            assert_eq!(found("t.fare < s.fare AND s.id = 'b'", &stored, &given, most), [(0, 1), (0, 2), (1, 2)]);
            assert_eq!(found("1 = 2", &stored, &given, most), []);
        }
        assert_eq!(found("id", &stored.slice(0, 0), &given, 1), []);
        assert_eq!(found("1 = 1", &stored, &given.slice(0, 0), 1), []);
    }

    #[test]
    fn a_row_of_several_pairs_is_repeated() {
        let pairs = Pairs { stored: vec![1, 2, 2, 3, 5, 5, 5], given: vec![0; 7] };
        let expected = [false, true, true, false, true, true, true];
        assert_eq!(pairs.repeated(), BooleanBuffer::from(expected.to_vec()));
        assert_eq!(pairs.only(&pairs.repeated()).stored, [2, 2, 5, 5, 5]);
        assert_eq!(pairs.part(5, 9).stored, [5, 5]);
    }
}
