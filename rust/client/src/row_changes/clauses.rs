//! The clauses of a merge, as a user gives them.

use arrow_array::ArrayRef;

pub use crate::merge_into::ClauseAction;
use mortice_base::error::{Error, Result};

/// By what given rows match stored ones.
#[derive(Debug, Clone)]
pub enum MatchedBy {
    /// A condition, or the name of a column that both sides have and that is equal.
    Condition(String),
    /// Columns that are equal.
    Columns(Vec<String>),
}

/// The rows that a clause is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClauseSide {
    /// Stored rows, with the given row that each matches.
    Matched,
    /// Given rows that match no stored one.
    NotMatched,
    /// Stored rows that no given one matches.
    NotMatchedBySource,
}

impl ClauseSide {
    /// Reads the name of a side.
    ///
    /// # Errors
    /// `InvalidArgument` for another name.
    pub fn parse(name: &str) -> Result<Self> {
        [Self::Matched, Self::NotMatched, Self::NotMatchedBySource]
            .into_iter()
            .find(|side| side.name() == name)
            .ok_or_else(|| Error::invalid_argument(format!("a merge has no clauses for rows that are {name:?}")))
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Matched => "matched",
            Self::NotMatched => "not_matched",
            Self::NotMatchedBySource => "not_matched_by_source",
        }
    }
}

/// What a column gets.
#[derive(Debug, Clone)]
pub enum NewValue {
    /// The value of an expression.
    Expression(String),
    /// A value for all rows.
    Constant {
        /// An array of this value alone.
        value: ArrayRef,
        /// How messages show it.
        text: String,
    },
}

/// What the columns of the rows of a clause get.
#[derive(Debug, Clone)]
pub enum ClauseValues {
    /// All columns that rows and table have in common get those of the given row.
    All,
    /// Columns, and what each gets; of a delete, none.
    Named(Vec<(String, NewValue)>),
}

/// A clause of a merge. A row gets the first one of its side whose condition is true.
#[derive(Debug, Clone)]
pub struct RowClause {
    side: ClauseSide,
    action: ClauseAction,
    pub(super) condition: Option<String>,
    pub(super) values: ClauseValues,
}

impl RowClause {
    /// A clause; without a condition it is for all rows of its side.
    ///
    /// # Errors
    /// `InvalidArgument` for an action that the rows of the side cannot have.
    pub fn new(
        side: ClauseSide,
        action: ClauseAction,
        condition: Option<String>,
        values: ClauseValues,
    ) -> Result<Self> {
        if (side == ClauseSide::NotMatched) != (action == ClauseAction::Insert) {
            let (side, action) = (side.name(), action.name());
            return Err(Error::invalid_argument(format!("rows that are {side} have no action {action}")));
        }
        Ok(Self { side, action, condition, values })
    }

    pub(super) const fn side(&self) -> ClauseSide {
        self.side
    }

    pub(super) const fn action(&self) -> ClauseAction {
        self.action
    }

    /// The clause in messages: `when_matched_update`.
    pub(super) fn name(&self) -> String {
        format!("when_{}_{}", self.side.name(), self.action.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_sides_and_actions() {
        let clause = |side: &str, action: &str| {
            let values = ClauseValues::Named(Vec::new());
            RowClause::new(ClauseSide::parse(side)?, ClauseAction::parse(action)?, None, values)
        };
        assert_eq!(clause("not_matched_by_source", "delete").unwrap().name(), "when_not_matched_by_source_delete");
        for (side, action) in [("matched", "insert"), ("not_matched", "update"), ("x", "update"), ("matched", "x")] {
            assert!(clause(side, action).is_err());
        }
    }
}
