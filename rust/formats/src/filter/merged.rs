//! A filter asked of bounds of files whose rows become others: which groups of files can give a merged row that passes.
//!
//! A merged row may have each of its columns from a file of its own, where newer records fill up older ones. So of one
//! column's terms it takes one file whose values can pass them all, and of each column such a file; not one file for
//! all of them.

use std::collections::BTreeMap;
use std::ops::Range;

use super::evaluate::{BoundFilter, BoundTerm};
use super::prune::{ColumnBounds, and};
use mortice_base::error::Result;

impl BoundFilter {
    /// Which of several groups of files can give a row that passes. `bounds` are those of a column, by its ordinal, in
    /// all files, and how many rows each file has (`u64::MAX` where that is not known); none where nothing is known of
    /// the column. Groups are ranges of files.
    ///
    /// # Errors
    /// `InvalidArgument` where bounds cannot be compared.
    pub fn may_pass_merged(
        &self,
        files: usize,
        groups: &[Range<usize>],
        bounds: &BTreeMap<usize, (ColumnBounds, Vec<u64>)>,
    ) -> Result<Vec<bool>> {
        if self.any.is_empty() {
            return Ok(vec![true; groups.len()]);
        }
        let mut any = vec![false; groups.len()];
        for list in &self.any {
            let mut by_column: BTreeMap<usize, Vec<&BoundTerm>> = BTreeMap::new();
            for term in list.iter().filter(|term| term.fields.is_empty()) {
                by_column.entry(term.column).or_default().push(term);
            }
            let mut all = vec![true; groups.len()];
            for (column, terms) in by_column {
                let Some((bounds, rows)) = bounds.get(&column) else { continue };
                let mut passing = vec![true; files];
                for term in terms {
                    and(&mut passing, &term.may_pass(rows, bounds)?);
                }
                let of_group = |group: &Range<usize>| {
                    passing.get(group.clone()).is_none_or(|some| some.is_empty() || some.contains(&true))
                };
                and(&mut all, &groups.iter().map(of_group).collect::<Vec<_>>());
            }
            any.iter_mut().zip(all).for_each(|(any, all)| *any |= all);
        }
        Ok(any)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int32Array, UInt64Array};
    use arrow_schema::{DataType, Field, Schema};

    use super::super::expr::{Filter, Literal, Operator, Term};
    use super::*;

    fn bounds(of: &[(i32, i32)]) -> (ColumnBounds, Vec<u64>) {
        let ints = |some: Vec<i32>| Arc::new(Int32Array::from(some)) as ArrayRef;
        let (least, greatest) = of.iter().copied().unzip();
        let nulls = UInt64Array::from(vec![0; of.len()]);
        (ColumnBounds { least: ints(least), greatest: ints(greatest), nulls }, vec![u64::MAX; of.len()])
    }

    /// Of two groups, two files and one, whether each may pass.
    fn may_pass(lists: &[&[(&str, Operator, i128)]]) -> Vec<bool> {
        let schema = Schema::new(vec![Field::new("a", DataType::Int32, true), Field::new("b", DataType::Int32, true)]);
        let term = |(column, operator, value): &(&str, Operator, i128)| {
            Term::new(*column, *operator, vec![Literal::Int(*value)]).unwrap()
        };
        let lists = lists.iter().map(|list| list.iter().map(term).collect()).collect();
        let filter = BoundFilter::bind(&Filter::any_of(lists), &schema).unwrap();
        let known = BTreeMap::from([(0, bounds(&[(1, 2), (8, 9), (1, 9)])), (1, bounds(&[(5, 5), (1, 1), (1, 1)]))]);
        filter.may_pass_merged(3, &[0..2, 2..3], &known).unwrap()
    }

    #[test]
    fn columns_of_a_merged_row_may_come_from_different_files() {
        use Operator::{Eq, GtEq, LtEq};
        assert_eq!(may_pass(&[&[("a", Eq, 9), ("b", Eq, 5)]]), [true, false]);
        assert_eq!(may_pass(&[&[("a", Eq, 7)]]), [false, true]);
        assert_eq!(may_pass(&[&[("a", GtEq, 3), ("a", LtEq, 7)]]), [false, true]);
        assert_eq!(may_pass(&[&[("a", Eq, 7)], &[("b", Eq, 5)]]), [true, true]);
        assert_eq!(may_pass(&[&[("a", Eq, 0)], &[("b", Eq, 0)]]), [false, false]);
        assert_eq!(may_pass(&[]), [true, true]);
    }

    #[test]
    fn what_is_not_known_speaks_for_the_rows() {
        let schema = Schema::new(vec![Field::new("a", DataType::Int32, true)]);
        let term = Term::new("a", Operator::Eq, vec![Literal::Int(1)]).unwrap();
        let filter = BoundFilter::bind(&Filter::any_of(vec![vec![term]]), &schema).unwrap();
        let one: Vec<Range<usize>> = std::iter::once(0..1).collect();
        assert_eq!(filter.may_pass_merged(1, &one, &BTreeMap::new()).unwrap(), [true]);
        let unknown: ArrayRef = Arc::new(Int32Array::new_null(1));
        let nulls = UInt64Array::from(vec![7]);
        let bounds = ColumnBounds { least: Arc::clone(&unknown), greatest: unknown, nulls };
        let known = |rows| BTreeMap::from([(0, (bounds.clone(), vec![rows]))]);
        let of = |rows| filter.may_pass_merged(1, &one, &known(rows)).unwrap();
        assert_eq!([of(u64::MAX), of(7)], [[true], [false]]);
    }
}
