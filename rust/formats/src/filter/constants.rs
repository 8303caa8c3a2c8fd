//! A filter simplified by columns that have one value in all rows.

use arrow_array::{BooleanArray, RecordBatch};

use super::evaluate::BoundFilter;
use super::expr::{Filter, Term};
use mortice_base::error::{Error, Result};

impl Filter {
    /// Returns the filter that remains for rows in which the columns of `constants` have the values of its only row.
    /// `None` if no such row passes.
    ///
    /// # Errors
    /// `InvalidArgument` for a literal that is not a value of its column's type; `Internal` if `constants` does not
    /// have one row.
    pub fn with_constants(&self, constants: &RecordBatch) -> Result<Option<Self>> {
        if self.is_empty() {
            return Ok(Some(self.clone()));
        }
        if constants.num_rows() != 1 {
            return Err(Error::internal(format_args!("constants of {} rows", constants.num_rows())));
        }
        let mut remaining = Vec::new();
        for list in self.lists() {
            let is_constant = |term: &&Term| constants.schema_ref().fields().find(term.column()).is_some();
            let (decided, others): (Vec<&Term>, Vec<&Term>) = list.iter().partition(is_constant);
            let decided = Self::any_of(vec![decided.into_iter().cloned().collect()]);
            let mask: BooleanArray = BoundFilter::bind(&decided, constants.schema_ref())?.mask(constants)?;
            if mask.true_count() == 0 {
                continue;
            }
            remaining.push(others.into_iter().cloned().collect());
        }
        // No list would be every row, and so is a list without terms.
        Ok((!remaining.is_empty()).then(|| Self::any_of(remaining)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int32Array, StringArray};

    use super::super::expr::{Literal, Operator};
    use super::*;

    fn constants() -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable([
            ("area", Arc::new(StringArray::from(vec!["north"])) as ArrayRef, true),
            ("day", Arc::new(Int32Array::from(vec![None])) as ArrayRef, true),
        ])
        .unwrap()
    }

    fn term(column: &str, operator: Operator, literals: &[&str]) -> Term {
        let literals = literals.iter().map(|text| Literal::Text((*text).to_owned())).collect();
        Term::new(column, operator, literals).unwrap()
    }

    fn remaining(lists: Vec<Vec<Term>>) -> Option<String> {
        Filter::any_of(lists).with_constants(&constants()).unwrap().map(|filter| filter.to_string())
    }

    #[test]
    fn terms_of_constants_are_decided() {
        let area = |text| term("area", Operator::Eq, &[text]);
        let name = |text| term("name", Operator::Eq, &[text]);
        let none = Some("none".to_owned());
        assert_eq!(remaining(vec![]), none);
        assert_eq!(remaining(vec![vec![area("north")]]), none);
        assert_eq!(remaining(vec![vec![area("south")]]), None);
        assert_eq!(remaining(vec![vec![name("a"), area("north")]]).unwrap(), "name = \"a\"");
        assert_eq!(remaining(vec![vec![name("a"), area("south")], vec![name("b")]]).unwrap(), "name = \"b\"");
        assert_eq!(remaining(vec![vec![name("a")], vec![area("north")]]), none);
        assert_eq!(remaining(vec![vec![name("a"), area("south")]]), None);
    }

    #[test]
    fn null_passes_only_the_test_for_null() {
        let day = |operator| vec![Term::new("day", operator, vec![Literal::Int(1)]).unwrap()];
        assert_eq!(remaining(vec![vec![term("day", Operator::IsNull, &[])]]).as_deref(), Some("none"));
        for list in [day(Operator::Eq), day(Operator::NotEq), vec![term("day", Operator::NotIn, &[])]] {
            assert_eq!(remaining(vec![list]), None);
        }
        let misfit = Filter::any_of(vec![vec![term("day", Operator::Eq, &["x"])]]).with_constants(&constants());
        assert_eq!(misfit.unwrap_err().kind(), mortice_base::ErrorKind::InvalidArgument);
    }
}
