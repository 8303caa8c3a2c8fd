//! A filter asked of bounds: which stretches of rows (row groups, partitions) can hold a row that passes.
//!
//! The bounds of a column are a value that none of its values is below, and one that none is above. They need not be
//! values of it: truncated statistics serve. Nulls and NaN lie outside of them:
//!
//! | test | no row passes where |
//! |---|---|
//! | any comparison | all values are null |
//! | `=`, `in` | no literal lies between the bounds (of floats: nor is NaN) |
//! | `!=`, `not in` | both bounds are one of the literals; floats may always be NaN, which is unlike every other |
//! | `<`, `<=` | the lower bound is not below the literal |
//! | `>`, `>=` | the upper bound is not above the literal; floats may always be NaN, which is greatest |
//! | `is null` | there are no nulls |
//! | `is not null` | there is nothing else |
//!
//! What is not known speaks for the rows.

use std::cmp::Ordering;
use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_ord::ord::{DynComparator, make_comparator};
use arrow_schema::{DataType, SortOptions};

use super::evaluate::{BoundFilter, BoundTerm, canonical, failed};
use super::expr::Operator;
use mortice_base::error::Result;

/// What is known of the values of one column in each of several stretches of rows; null where it is not known.
#[derive(Debug, Clone)]
pub struct ColumnBounds {
    /// Lower bounds, of the column's type.
    pub least: ArrayRef,
    /// Upper bounds.
    pub greatest: ArrayRef,
    /// How many values are null.
    pub nulls: UInt64Array,
}

impl BoundFilter {
    /// Which of several stretches of so many `rows` can hold a row that passes. `bounds` returns of a column, by its
    /// ordinal in the schema that the filter is bound to; none where nothing is known of it.
    pub fn may_pass(&self, rows: &[u64], mut bounds: impl FnMut(usize) -> Option<ColumnBounds>) -> Result<Vec<bool>> {
        if self.any.is_empty() {
            return Ok(vec![true; rows.len()]);
        }
        let mut known: HashMap<usize, Option<ColumnBounds>> = HashMap::new();
        let mut any = vec![false; rows.len()];
        for list in &self.any {
            let mut all = vec![true; rows.len()];
            // Bounds are those of columns, not of fields within them.
            for term in list.iter().filter(|term| term.fields.is_empty()) {
                if let Some(bounds) = known.entry(term.column).or_insert_with(|| bounds(term.column)) {
                    and(&mut all, &term.may_pass(rows, bounds)?);
                }
            }
            any.iter_mut().zip(all).for_each(|(any, all)| *any |= all);
        }
        Ok(any)
    }
}

pub(super) fn and(all: &mut [bool], term: &[bool]) {
    all.iter_mut().zip(term).for_each(|(all, term)| *all &= term);
}

impl BoundTerm {
    /// Which of the stretches can hold a value that passes.
    pub(super) fn may_pass(&self, rows: &[u64], bounds: &ColumnBounds) -> Result<Vec<bool>> {
        let nulls = |at: usize| (at < bounds.nulls.len() && bounds.nulls.is_valid(at)).then(|| bounds.nulls.value(at));
        let stretches = rows.iter().enumerate();
        match self.operator {
            Operator::IsNull => Ok(stretches.map(|(at, _)| nulls(at) != Some(0)).collect()),
            Operator::IsNotNull => Ok(stretches.map(|(at, rows)| nulls(at) != Some(*rows)).collect()),
            _ => {
                let compared = Compared::compare(self, bounds)?;
                let passes = |at| compared.as_ref().is_none_or(|compared| compared.may_pass(at, self.operator));
                Ok(stretches.map(|(at, rows)| nulls(at) != Some(*rows) && passes(at)).collect())
            }
        }
    }
}

/// Bounds compared with sorted literals.
struct Compared {
    /// Lower bound of a stretch, literal.
    least: DynComparator,
    /// Upper bound of a stretch, literal.
    greatest: DynComparator,
    has_least: Vec<bool>,
    has_greatest: Vec<bool>,
    literals: usize,
    /// Whether rows outside the bounds may be NaN.
    is_float: bool,
    /// Whether a literal is.
    seeks_nan: bool,
}

impl Compared {
    /// None where bounds and literals cannot be compared.
    fn compare(term: &BoundTerm, bounds: &ColumnBounds) -> Result<Option<Self>> {
        let kind = term.literals.data_type();
        if bounds.least.data_type() != kind || bounds.greatest.data_type() != kind {
            return Ok(None);
        }
        let (least, greatest) = (canonical(&bounds.least), canonical(&bounds.greatest));
        let upside_down = make_comparator(&least, &greatest, SortOptions::default()).map_err(failed)?;
        let sound: Vec<bool> = (0..least.len().min(greatest.len()))
            .map(|at| {
                let both = least.is_valid(at) && greatest.is_valid(at);
                !(is_nan(&least, at) || is_nan(&greatest, at) || both && upside_down(at, at) == Ordering::Greater)
            })
            .collect();
        let there =
            |array: &ArrayRef| sound.iter().enumerate().map(|(at, sound)| *sound && array.is_valid(at)).collect();
        let (has_least, has_greatest) = (there(&least), there(&greatest));
        let last = term.literals.len().checked_sub(1);
        Ok(Some(Self {
            least: make_comparator(&least, &term.literals, SortOptions::default()).map_err(failed)?,
            greatest: make_comparator(&greatest, &term.literals, SortOptions::default()).map_err(failed)?,
            has_least,
            has_greatest,
            literals: term.literals.len(),
            is_float: kind.is_floating(),
            seeks_nan: last.is_some_and(|last| is_nan(&term.literals, last)),
        }))
    }

    /// The lower bound of a stretch, compared with a literal.
    fn least(&self, at: usize, literal: usize) -> Option<Ordering> {
        self.has_least.get(at).is_some_and(|there| *there).then(|| (self.least)(at, literal))
    }

    fn greatest(&self, at: usize, literal: usize) -> Option<Ordering> {
        self.has_greatest.get(at).is_some_and(|there| *there).then(|| (self.greatest)(at, literal))
    }

    fn may_pass(&self, at: usize, operator: Operator) -> bool {
        use Ordering::{Equal, Greater, Less};
        match operator {
            Operator::Eq | Operator::In => {
                let first = self.first_not_below(at);
                self.seeks_nan || first < self.literals && self.greatest(at, first) != Some(Less)
            }
            Operator::NotEq | Operator::NotIn => {
                let first = self.first_not_below(at);
                let is_one = first < self.literals
                    && self.least(at, first) == Some(Equal)
                    && self.greatest(at, first) == Some(Equal);
                self.is_float || !is_one
            }
            Operator::Lt => self.least(at, 0).is_none_or(|least| least == Less),
            Operator::LtEq => self.least(at, 0) != Some(Greater),
            Operator::Gt => self.is_float || self.greatest(at, 0).is_none_or(|greatest| greatest == Greater),
            Operator::GtEq => self.is_float || self.greatest(at, 0) != Some(Less),
            Operator::Like | Operator::NotLike | Operator::IsNull | Operator::IsNotNull => true,
        }
    }

    /// The first literal that is not below the lower bound.
    fn first_not_below(&self, at: usize) -> usize {
        let (mut from, mut to) = (0, self.literals);
        while from < to {
            let middle = usize::midpoint(from, to);
            if self.least(at, middle) == Some(Ordering::Greater) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }
}

fn is_nan(array: &ArrayRef, at: usize) -> bool {
    array.is_valid(at)
        && match array.data_type() {
            DataType::Float32 => array.as_primitive::<Float32Type>().value(at).is_nan(),
            DataType::Float64 => array.as_primitive::<Float64Type>().value(at).is_nan(),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, StringArray,
        TimestampMicrosecondArray,
    };
    use arrow_schema::{Field, Schema};

    use super::super::expr::{Filter, Literal, Term};
    use super::*;

    /// Stretches of ten rows that may hold a row that passes.
    fn kept(least: ArrayRef, greatest: ArrayRef, nulls: &[Option<u64>], term: (Operator, &[Literal])) -> Vec<usize> {
        let schema = Schema::new(vec![Field::new("c", least.data_type().clone(), true)]);
        let (operator, literals) = term;
        let filter = Filter::any_of(vec![vec![Term::new("c", operator, literals.to_vec()).unwrap()]]);
        let bounds = ColumnBounds { least, greatest, nulls: nulls.iter().copied().collect() };
        let may =
            BoundFilter::bind(&filter, &schema).unwrap().may_pass(&vec![10; nulls.len()], |_| Some(bounds.clone()));
        may.unwrap().iter().enumerate().filter(|(_, may)| **may).map(|(at, _)| at).collect()
    }

    /// Of ints: 1 to 5, 5 alone, unknown, from 7 on, up to 3, all null, upside down.
    fn of_ints(operator: Operator, literals: &[i128]) -> Vec<usize> {
        let least = Int32Array::from(vec![Some(1), Some(5), None, Some(7), None, None, Some(9)]);
        let greatest = Int32Array::from(vec![Some(5), Some(5), None, None, Some(3), None, Some(2)]);
        let literals: Vec<Literal> = literals.iter().map(|one| Literal::Int(*one)).collect();
        let nulls = [Some(0), Some(9), None, Some(1), Some(0), Some(10), Some(0)];
        kept(Arc::new(least), Arc::new(greatest), &nulls, (operator, &literals))
    }

    #[test]
    fn each_operator_by_bounds_that_are_known_and_not() {
        assert_eq!(of_ints(Operator::Eq, &[5]), [0, 1, 2, 6]);
        assert_eq!(of_ints(Operator::Eq, &[0]), [2, 4, 6]);
        assert_eq!(of_ints(Operator::NotEq, &[5]), [0, 2, 3, 4, 6]);
        assert_eq!(of_ints(Operator::Lt, &[1]), [2, 4, 6]);
        assert_eq!(of_ints(Operator::LtEq, &[1]), [0, 2, 4, 6]);
        assert_eq!(of_ints(Operator::Gt, &[5]), [2, 3, 6]);
        assert_eq!(of_ints(Operator::GtEq, &[5]), [0, 1, 2, 3, 6]);
        assert_eq!(of_ints(Operator::In, &[6, 0]), [2, 4, 6]);
        assert_eq!(of_ints(Operator::In, &[9, 4, 0]), [0, 2, 3, 4, 6]);
        assert_eq!(of_ints(Operator::In, &[]), [0_usize; 0]);
        assert_eq!(of_ints(Operator::NotIn, &[4, 5, 6]), [0, 2, 3, 4, 6]);
        assert_eq!(of_ints(Operator::NotIn, &[]), [0, 1, 2, 3, 4, 6]);
        assert_eq!(of_ints(Operator::IsNull, &[]), [1, 2, 3, 5]);
        assert_eq!(of_ints(Operator::IsNotNull, &[]), [0, 1, 2, 3, 4, 6]);
    }

    /// Of doubles: 1 to 2; -0.0 to 0.0; bounds that some writers made of NaN.
    fn of_doubles(operator: Operator, literal: f64) -> Vec<usize> {
        let least = Arc::new(Float64Array::from(vec![1.0, -0.0, f64::NAN, 1.0]));
        let greatest = Arc::new(Float64Array::from(vec![2.0, 0.0, f64::NAN, f64::NAN]));
        kept(least, greatest, &[Some(0); 4], (operator, &[Literal::Float(literal)]))
    }

    #[test]
    fn floats_may_be_nan_outside_of_their_bounds() {
        assert_eq!(of_doubles(Operator::Eq, 3.0), [2, 3]);
        assert_eq!(of_doubles(Operator::Eq, f64::NAN), [0, 1, 2, 3]);
        assert_eq!(of_doubles(Operator::NotEq, 0.0), [0, 1, 2, 3]);
        assert_eq!(of_doubles(Operator::Gt, 9.0), [0, 1, 2, 3]);
        assert_eq!(of_doubles(Operator::GtEq, 9.0), [0, 1, 2, 3]);
        assert_eq!(of_doubles(Operator::Lt, 0.5), [1, 2, 3]);
        assert_eq!(of_doubles(Operator::LtEq, f64::NAN), [0, 1, 2, 3]);
        assert_eq!(of_doubles(Operator::NotIn, 1.0), [0, 1, 2, 3]);
    }

    #[test]
    fn zeros_are_one() {
        let zero = |value: f64| Arc::new(Float64Array::from(vec![value])) as ArrayRef;
        for (bound, literal) in [(0.0, -0.0), (-0.0, 0.0)] {
            let of = |operator| kept(zero(bound), zero(bound), &[Some(0)], (operator, &[Literal::Float(literal)]));
            assert_eq!(of(Operator::Eq), [0]);
            assert_eq!(of(Operator::LtEq), [0]);
            assert_eq!(of(Operator::Lt), [0_usize; 0]);
        }
    }

    #[test]
    fn every_type_that_has_an_order() {
        let text = |text: &str| Literal::Text(text.into());
        let decimal =
            |value| Arc::new(Decimal128Array::from(vec![value]).with_precision_and_scale(10, 2).unwrap()) as ArrayRef;
        let micros = |value| Arc::new(TimestampMicrosecondArray::from(vec![value]).with_timezone("UTC")) as ArrayRef;
        let cases: Vec<(ArrayRef, ArrayRef, Literal, Literal)> = vec![
            (
                Arc::new(BooleanArray::from(vec![false])),
                Arc::new(BooleanArray::from(vec![false])),
                Literal::Bool(false),
                Literal::Bool(true),
            ),
            (
                Arc::new(Int64Array::from(vec![-5])),
                Arc::new(Int64Array::from(vec![5])),
                Literal::Int(0),
                Literal::Int(6),
            ),
            (
                Arc::new(StringArray::from(vec!["a"])),
                Arc::new(StringArray::from(vec!["m"])),
                text("b"),
                // Unsigned bytes: a signed order would have this first of all.
                text("é"),
            ),
            (
                Arc::new(BinaryArray::from_vec(vec![b"a"])),
                Arc::new(BinaryArray::from_vec(vec![b"\x80"])),
                Literal::Bytes(vec![0x7f]),
                Literal::Bytes(vec![0x81]),
            ),
            (
                Arc::new(Date32Array::from(vec![-1])),
                Arc::new(Date32Array::from(vec![1])),
                text("1970-01-01"),
                text("1970-01-03"),
            ),
            (micros(0), micros(1_000_000), text("1970-01-01T00:00:01Z"), text("1970-01-01T00:00:01.000001Z")),
            (decimal(-150), decimal(150), Literal::Float(-1.5), Literal::Float(1.51)),
        ];
        for (least, greatest, inside, outside) in cases {
            let of = |operator, literal: &Literal| {
                kept(least.clone(), greatest.clone(), &[Some(0)], (operator, std::slice::from_ref(literal))).len()
            };
            let kind = least.data_type();
            assert_eq!((of(Operator::Eq, &inside), of(Operator::Eq, &outside)), (1, 0), "{kind}");
            assert_eq!((of(Operator::GtEq, &inside), of(Operator::GtEq, &outside)), (1, 0), "{kind}");
            assert_eq!((of(Operator::Lt, &outside), of(Operator::NotEq, &outside)), (1, 1), "{kind}");
        }
    }

    #[test]
    fn lists_of_terms_and_what_is_not_known() {
        let schema = Schema::new(vec![Field::new("a", DataType::Int32, true), Field::new("b", DataType::Int32, true)]);
        let term = |column: &str, value| Term::new(column, Operator::Eq, vec![Literal::Int(value)]).unwrap();
        let ints = |values: &[i32]| Arc::new(Int32Array::from(values.to_vec())) as ArrayRef;
        let of = |lists, weaken: bool| {
            let filter = BoundFilter::bind(&Filter::any_of(lists), &schema).unwrap();
            let filter = if weaken { filter.weakened(|column, _| column == 0) } else { filter };
            let bounds = |column| {
                let (least, greatest) = (ints(&[1, 10, 20]), ints(&[9, 19, 29]));
                (column == 0).then(|| ColumnBounds { least, greatest, nulls: vec![0, 0, 0].into() })
            };
            filter.may_pass(&[5, 5, 5], bounds).unwrap()
        };
        assert_eq!(of(vec![vec![term("a", 5), term("b", 5)], vec![term("a", 25)]], false), [true, false, true]);
        assert_eq!(of(vec![vec![term("a", 5), term("b", 5)], vec![term("a", 25)]], true), [true, false, true]);
        assert_eq!(of(vec![vec![term("a", 5)], vec![term("b", 5)]], false), [true; 3]);
        assert_eq!(of(vec![vec![term("a", 5)], vec![term("b", 5)]], true), [true; 3]);
        assert_eq!(of(vec![vec![term("a", 5), term("a", 15)]], false), [false; 3]);
        assert_eq!(of(Vec::new(), false), [true; 3]);
    }
}
