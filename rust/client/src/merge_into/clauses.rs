//! What a merge is to do, as far as it is known without the table.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use mortice_base::error::{Error, Result};

/// What a clause does to its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClauseAction {
    /// Stored rows get other values.
    Update,
    /// Stored rows are deleted.
    Delete,
    /// New rows are made.
    Insert,
}

impl ClauseAction {
    /// Reads the name of an action.
    ///
    /// # Errors
    /// `InvalidArgument` for another name.
    pub fn parse(name: &str) -> Result<Self> {
        [Self::Update, Self::Delete, Self::Insert]
            .into_iter()
            .find(|action| action.name() == name)
            .ok_or_else(|| Error::invalid_argument(format!("a clause of a merge has no action {name:?}")))
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Insert => "insert",
        }
    }
}

/// What is done to the rows that have its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowAction {
    /// What is done.
    pub action: ClauseAction,
    /// Columns of the table, and the columns of the given rows that have their values. Of the others a new row has
    /// null, and a stored one what it has.
    pub values: BTreeMap<String, String>,
}

/// What a merge is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeClauses {
    /// The columns by which rows are matched; none for the record key, with the partition columns that the rows have.
    pub on: Option<Vec<String>>,
    /// The columns that a matched row gets; none for all that rows and table have in common.
    pub update: Option<Vec<String>>,
    /// What happens to rows that match no stored row.
    pub not_matched: NotMatched,
}

/// What happens to rows that match no stored row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotMatched {
    /// They are inserted, with null in columns that they lack.
    Insert,
    /// They are left out.
    Ignore,
}

impl NotMatched {
    /// Parses `insert` or `ignore`.
    ///
    /// # Errors
    /// `InvalidArgument` for other strings.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "insert" => Ok(Self::Insert),
            "ignore" => Ok(Self::Ignore),
            other => {
                Err(Error::invalid_argument(format!("when_not_matched must be 'insert' or 'ignore', got '{other}'")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_actions_are_refused_by_name() {
        assert_eq!(NotMatched::parse("insert").unwrap(), NotMatched::Insert);
        assert_eq!(NotMatched::parse("ignore").unwrap(), NotMatched::Ignore);
        let error = NotMatched::parse("drop").unwrap_err();
        assert_eq!(error.text(), "when_not_matched must be 'insert' or 'ignore', got 'drop'");
    }
}
