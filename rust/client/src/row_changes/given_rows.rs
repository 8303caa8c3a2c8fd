//! The rows of a merge, by the values that they are joined by.

use std::collections::HashMap;
use std::hash::BuildHasher;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::ArrowError;
use foldhash::fast::RandomState;

use super::condition::{JoinKey, MergeCondition};
use super::sides::{SOURCE, TARGET, alone, without_nulls};
use mortice_base::error::{Error, Result};
use mortice_base::row_number::{at, number_of};

/// The end of a chain.
const NONE: u32 = u32::MAX;

/// The given rows, as one batch, with those of equal values in chains.
pub(super) struct GivenRows {
    pub(super) rows: RecordBatch,
    table: Option<HashTable>,
}

struct HashTable {
    converter: RowConverter,
    values: Rows,
    /// The first row of each hash.
    first: HashMap<u64, u32, RandomState>,
    /// For each row the next one of its hash.
    next: Vec<u32>,
    hasher: RandomState,
}

impl GivenRows {
    /// Rows by the equalities of a condition.
    pub(super) fn new(rows: RecordBatch, condition: &MergeCondition) -> Result<Self> {
        let value = |key: &JoinKey| key.source.key_values(&alone(SOURCE, rows.clone()), &key.target);
        let columns = condition.keys.iter().map(value).collect::<Result<Vec<_>>>()?;
        let table = if columns.is_empty() { None } else { Some(HashTable::new(&columns)?) };
        Ok(Self { rows, table })
    }

    /// Calls a function with the numbers of each stored and each given row whose values are equal, ordered by the
    /// stored one. Without an equality these are all pairs.
    pub(super) fn for_each_pair(
        &self,
        stored: &RecordBatch,
        condition: &MergeCondition,
        mut each: impl FnMut(u32, u32) -> Result<()>,
    ) -> Result<()> {
        let (stored_rows, given_rows) = (number_of(stored.num_rows())?, number_of(self.rows.num_rows())?);
        let Some(table) = &self.table else {
            return (0..stored_rows).try_for_each(|row| (0..given_rows).try_for_each(|given| each(row, given)));
        };
        let value = |key: &JoinKey| key.target.key_values(&alone(TARGET, stored.clone()), &key.source);
        let columns = condition.keys.iter().map(value).collect::<Result<Vec<_>>>()?;
        let values = table.converter.convert_columns(&columns).map_err(uncompared)?;
        let valid = without_nulls(&columns);
        for row in (0..stored_rows).filter(|row| valid.as_ref().is_none_or(|valid| valid.is_valid(at(*row)))) {
            let value = values.row(at(row));
            let mut given = table.first(value.as_ref());
            while given != NONE {
                if table.values.row(at(given)) == value {
                    each(row, given)?;
                }
                given = *table.next.get(at(given)).ok_or_else(lost)?;
            }
        }
        Ok(())
    }
}

impl HashTable {
    fn new(columns: &[ArrayRef]) -> Result<Self> {
        let types = columns.iter().map(|column| SortField::new(column.data_type().clone()));
        let converter = RowConverter::new(types.collect()).map_err(uncompared)?;
        let values = converter.convert_columns(columns).map_err(uncompared)?;
        let mut table = Self {
            next: vec![NONE; values.num_rows()],
            first: HashMap::default(),
            hasher: RandomState::default(),
            converter,
            values,
        };
        let valid = without_nulls(columns);
        // Backwards, so that chains ascend.
        for row in (0..table.values.num_rows()).rev() {
            // Null equals nothing.
            if valid.as_ref().is_some_and(|valid| valid.is_null(row)) {
                continue;
            }
            let hash = table.hasher.hash_one(table.values.row(row).as_ref());
            if let Some(behind) = table.first.insert(hash, number_of(row)?) {
                *table.next.get_mut(row).ok_or_else(lost)? = behind;
            }
        }
        Ok(table)
    }

    fn first(&self, value: &[u8]) -> u32 {
        self.first.get(&self.hasher.hash_one(value)).copied().unwrap_or(NONE)
    }
}

fn lost() -> Error {
    Error::internal("a given row of a merge has no place in its table of values")
}

fn uncompared(error: ArrowError) -> Error {
    Error::unsupported("rows that are matched by values which are not compared").caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{batch, plan_of, with_null_cities};
    use super::*;

    fn pairs(on: &str, stored: &RecordBatch, given: &RecordBatch) -> Vec<(u32, u32)> {
        let plan = plan_of(on, &[]).unwrap();
        let rows = GivenRows::new(given.clone(), &plan.condition).unwrap();
        let mut found = Vec::new();
        rows.for_each_pair(stored, &plan.condition, |row, given| {
            found.push((row, given));
            Ok(())
        })
        .unwrap();
        found
    }

    #[test]
    fn rows_are_joined_by_all_values() {
        let stored = batch(&[("a", "x", 1.0, 1), ("b", "x", -0.0, 2), ("a", "y", f64::NAN, 3)]);
        let given = batch(&[("b", "x", 0.0, 2), ("a", "x", f64::NAN, 3), ("a", "x", 7.0, 1)]);
        assert_eq!(pairs("id", &stored, &given), [(0, 1), (0, 2), (1, 0), (2, 1), (2, 2)]);
        assert_eq!(pairs("t.id = s.id AND t.city = s.city", &stored, &given), [(0, 1), (0, 2), (1, 0)]);
        // Values of two types, and both zeros; what is not a number equals itself.
        assert_eq!(pairs("t.ts = s.fare", &stored, &batch(&[("", "", 2.0, 0)])), [(1, 0)]);
        assert_eq!(pairs("t.fare = s.fare", &stored, &given), [(1, 0), (2, 1)]);
        assert_eq!(pairs("1 = 2", &stored.slice(1, 2), &given.slice(0, 2)), [(0, 0), (0, 1), (1, 0), (1, 1)]);
    }

    #[test]
    fn null_equals_nothing() {
        let rows = with_null_cities(&batch(&[("a", "x", 1.0, 1), ("a", "", 1.0, 1)]));
        assert_eq!(pairs("t.id = s.id AND t.city = s.city", &rows, &rows), [(0, 0)]);
        assert_eq!(pairs("id", &rows, &rows).len(), 4);
    }
}
