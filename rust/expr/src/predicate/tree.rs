//! Predicates.

use mortice_base::Result;
use mortice_formats::filter::{Filter, Literal, Operator, Term};

/// A condition of columns and literals.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// A comparison of a column with literals, or a test for null.
    Term(Term),
    /// True if all parts are.
    AllOf(Vec<Self>),
    /// True if any of the parts is.
    AnyOf(Vec<Self>),
    /// True if the part is false.
    Negation(Box<Self>),
    /// True, false, or null, which is neither.
    Constant(Option<bool>),
    /// What readers cannot evaluate, with the reason.
    Unknown(String),
}

impl Predicate {
    /// A comparison of a column, or of a field by the names of its column and the fields within it.
    pub(super) fn compared(path: &[String], operator: Operator, literals: Vec<Literal>) -> Result<Self> {
        let (column, fields) = path.split_first().map_or(("", &[][..]), |(column, fields)| (column.as_str(), fields));
        Ok(Self::Term(Term::new(column, operator, literals)?.with_fields(fields.to_vec())))
    }

    /// A test for null.
    pub(super) fn null_test(path: &[String], operator: Operator) -> Result<Self> {
        Self::compared(path, operator, Vec::new())
    }

    /// A comparison that is false for null, so that its negation is true for null.
    pub(super) fn never_null(path: &[String], operator: Operator, literals: Vec<Literal>) -> Result<Self> {
        let compared = Self::compared(path, operator, literals)?;
        Ok(Self::AllOf(vec![compared, Self::null_test(path, Operator::IsNotNull)?]))
    }

    /// The predicate with its comparisons replaced.
    pub(super) fn rewritten(&self, change: &impl Fn(&Term) -> Self) -> Self {
        let all = |parts: &[Self]| parts.iter().map(|part| part.rewritten(change)).collect();
        match self {
            Self::Term(term) => change(term),
            Self::AllOf(parts) => Self::AllOf(all(parts)),
            Self::AnyOf(parts) => Self::AnyOf(all(parts)),
            Self::Negation(part) => Self::Negation(Box::new(part.rewritten(change))),
            Self::Constant(_) | Self::Unknown(_) => self.clone(),
        }
    }
}

impl From<&Filter> for Predicate {
    fn from(filter: &Filter) -> Self {
        if filter.is_empty() {
            return Self::Constant(Some(true));
        }
        let all = |terms: &Vec<Term>| Self::AllOf(terms.iter().cloned().map(Self::Term).collect());
        Self::AnyOf(filter.lists().iter().map(all).collect())
    }
}
