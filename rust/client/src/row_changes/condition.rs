//! By which values rows match, and what is left to be evaluated for each pair.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::clauses::MatchedBy;
use super::sides::{SOURCE, TARGET};
use mortice_base::error::{Error, Result};
use mortice_expr::{Expression, Sides};

/// An equality of a value of the stored row and one of the given row.
#[derive(Debug)]
pub(super) struct JoinKey {
    pub(super) target: Expression,
    pub(super) source: Expression,
}

/// The condition by which rows match.
#[derive(Debug)]
pub(super) struct MergeCondition {
    pub(super) expression: Expression,
    /// Its equalities of both sides.
    pub(super) keys: Vec<JoinKey>,
    /// What must be true besides.
    pub(super) rest: Vec<Expression>,
}

impl MergeCondition {
    /// Binds a condition to the columns of both sides.
    pub(super) fn new(on: &MatchedBy, sides: &Arc<Sides>) -> Result<Self> {
        let is_column = |name: &String| sides.schemas.iter().all(|(_, schema)| schema.index_of(name).is_ok());
        let text = match on {
            MatchedBy::Condition(name) if is_column(name) => equalities(std::slice::from_ref(name)),
            MatchedBy::Condition(text) => text.clone(),
            MatchedBy::Columns(names) if names.is_empty() => {
                return Err(Error::invalid_argument("on must be a condition or a list of columns, got []"));
            }
            MatchedBy::Columns(names) => equalities(names),
        };
        let expression = Expression::parse(&text, sides)?;
        expression.check_condition()?;
        let (mut keys, mut rest) = (Vec::new(), Vec::new());
        for condition in expression.conjuncts()? {
            match condition.equality(TARGET, SOURCE)? {
                Some((target, source)) => keys.push(JoinKey { target, source }),
                None => rest.push(condition),
            }
        }
        Ok(Self { expression, keys, rest })
    }

    /// The columns of the table that equal a value of the given row, and that value.
    pub(super) fn key_columns(&self) -> BTreeMap<&str, &Expression> {
        let named = self.keys.iter().filter_map(|key| Some((key.target.plain_column()?.1, &key.source)));
        named.collect()
    }
}

fn equalities(names: &[String]) -> String {
    let equality = |name: &String| {
        let name = column(name);
        format!("target.{name} = source.{name}")
    };
    names.iter().map(equality).collect::<Vec<_>>().join(" AND ")
}

/// The name of a column as expressions have it, with any characters.
pub(super) fn column(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

#[cfg(test)]
mod tests {
    use super::super::sides::sides_of;
    use super::super::testing::{batch, matched_by};
    use super::*;

    #[test]
    fn equalities_are_what_rows_are_joined_by() {
        let schema = batch(&[]).schema();
        let sides = sides_of([(TARGET, Arc::clone(&schema)), (SOURCE, schema)]);
        let bound = |on: &MatchedBy| MergeCondition::new(on, &sides);
        let condition = bound(&matched_by("s.id = t.id AND lower(t.city) = s.city AND t.fare < s.fare")).unwrap();
        assert_eq!((condition.keys.len(), condition.rest.len()), (2, 1));
        let columns = condition.key_columns();
        assert_eq!(columns.keys().copied().collect::<Vec<_>>(), ["id"]);
        assert_eq!(columns.get("id").and_then(|source| source.plain_column()), Some((SOURCE, "id")));
        let condition = bound(&MatchedBy::Columns(vec!["id".into(), "city".into()])).unwrap();
        assert_eq!((condition.keys.len(), condition.rest.len()), (2, 0));
        assert_eq!(bound(&matched_by("id")).unwrap().keys.len(), 1);
        let refused = |on: &MatchedBy| bound(on).unwrap_err().text();
        assert!(refused(&matched_by("s.fare")).contains("is double, and must be boolean"));
        assert!(refused(&matched_by("fare > 1")).contains("which both sides have, so write t.fare or s.fare"));
        assert!(refused(&MatchedBy::Columns(Vec::new())).contains("a list of columns, got []"));
    }
}
