//! The clauses of a merge, checked against the columns of table and source.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};

use super::assignments::Assignments;
use super::clauses::{ClauseAction, ClauseSide, ClauseValues, MatchedBy, NewValue, RowClause};
use super::condition::{MergeCondition, column};
use super::sides::{SOURCE, TARGET, sides_of};
use mortice_base::error::{Error, ErrorKind, Result};
use mortice_expr::Expression;

/// A clause whose expressions are parsed.
#[derive(Debug)]
pub(super) struct BoundClause {
    pub(super) action: ClauseAction,
    pub(super) condition: Option<Expression>,
    pub(super) values: Assignments,
}

impl BoundClause {
    /// The columns of the given rows that it reads.
    pub(super) fn read_of_source(&self) -> impl Iterator<Item = &str> {
        self.values.read(SOURCE).chain(self.condition.iter().flat_map(|condition| condition.names(SOURCE)))
    }
}

/// A merge that is checked.
#[derive(Debug)]
pub(super) struct MergePlan {
    /// The table's columns, any of them nullable.
    pub(super) columns: SchemaRef,
    /// By what rows match.
    pub(super) condition: MergeCondition,
    /// The clauses for rows that match, in their order.
    pub(super) matched: Vec<BoundClause>,
    /// Those for given rows that match none.
    pub(super) not_matched: Vec<BoundClause>,
    /// Those for stored rows that match none.
    pub(super) not_matched_by_source: Vec<BoundClause>,
}

impl MergePlan {
    /// Checks a merge of rows with the columns `given` into a table with `columns`.
    pub(super) fn new(columns: &SchemaRef, given: &SchemaRef, on: &MatchedBy, clauses: &[RowClause]) -> Result<Self> {
        let both = sides_of([(TARGET, Arc::clone(columns)), (SOURCE, Arc::clone(given))]);
        let mut plan = Self {
            columns: Arc::clone(columns),
            condition: MergeCondition::new(on, &both)?,
            matched: Vec::new(),
            not_matched: Vec::new(),
            not_matched_by_source: Vec::new(),
        };
        for clause in clauses {
            let bound = plan.bound(clause, given)?;
            match clause.side() {
                ClauseSide::Matched => plan.matched.push(bound),
                ClauseSide::NotMatched => plan.not_matched.push(bound),
                ClauseSide::NotMatchedBySource => plan.not_matched_by_source.push(bound),
            }
        }
        Ok(plan)
    }

    /// The columns that updates change, each once.
    pub(super) fn updated(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in self.matched.iter().chain(&self.not_matched_by_source).flat_map(|clause| clause.values.names()) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    fn bound(&self, clause: &RowClause, given: &SchemaRef) -> Result<BoundClause> {
        let (target, source) = ((TARGET, Arc::clone(&self.columns)), (SOURCE, Arc::clone(given)));
        let sides = match clause.side() {
            ClauseSide::Matched => sides_of([target, source]),
            ClauseSide::NotMatched => sides_of([source]),
            ClauseSide::NotMatchedBySource => sides_of([target]),
        };
        let all;
        let values = match &clause.values {
            ClauseValues::Named(values) => values,
            ClauseValues::All => {
                all = self.all(clause, given);
                &all
            }
        };
        let bind = || {
            if matches!(clause.values, ClauseValues::All) && values.is_empty() {
                let what = "rows and table have no columns in common; name them in values";
                return Err(Error::invalid_argument(what));
            }
            let condition = clause.condition.as_ref().map(|text| {
                let condition = Expression::parse(text, &sides)?;
                condition.check_condition()?;
                Ok(condition)
            });
            let condition = condition.transpose()?;
            let values = Assignments::new(values, &self.columns, &sides)?;
            Ok(BoundClause { action: clause.action(), condition, values })
        };
        bind().map_err(|error| match error.kind() {
            ErrorKind::InvalidArgument => Error::invalid_argument(format!("{}: {}", clause.name(), error.text())),
            _ => error,
        })
    }

    /// The columns that both sides have; of a matched row those that are not equal already.
    fn all(&self, clause: &RowClause, given: &Schema) -> Vec<(String, NewValue)> {
        let keys = self.condition.key_columns();
        let same = keys.iter().filter(|(name, source)| source.plain_column().is_some_and(|(_, other)| other == **name));
        let equal: BTreeSet<&str> = match clause.side() {
            ClauseSide::Matched => same.map(|(name, _)| *name).collect(),
            _ => BTreeSet::new(),
        };
        let names = self.columns.fields().iter().map(|field| field.name());
        let common = names.filter(|name| given.index_of(name).is_ok() && !equal.contains(name.as_str()));
        common.map(|name| (name.clone(), NewValue::Expression(format!("source.{}", column(name))))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{batch, clause, matched_by, plan_of};
    use super::*;

    #[test]
    fn all_columns_are_those_of_both_sides_that_are_not_equal() {
        let clauses = [clause("matched", "update", None, &ClauseValues::All)];
        let plan = plan_of("t.id = s.id AND t.city = upper(s.city)", &clauses).unwrap();
        assert_eq!(plan.updated(), ["city", "fare", "ts"]);
        let clauses = [clause("not_matched", "insert", None, &ClauseValues::All)];
        let plan = plan_of("id", &clauses).unwrap();
        let names: Vec<&String> = plan.not_matched.iter().flat_map(|clause| clause.values.names()).collect();
        assert_eq!(names, ["id", "city", "fare", "ts"]);
        assert_eq!(plan.updated(), [] as [&str; 0]);
        let columns = batch(&[]).schema();
        let other = Arc::new(Schema::new(vec![arrow_schema::Field::new("k", arrow_schema::DataType::Utf8, true)]));
        let error = MergePlan::new(&columns, &other, &matched_by("t.id = s.k"), &clauses).unwrap_err().text();
        assert!(error.starts_with("when_not_matched_insert: rows and table have no columns in common"), "{error}");
    }

    #[test]
    fn a_clause_sees_the_columns_of_its_side() {
        let refused = |side: &str, action: &str, condition: &str| {
            let values = ClauseValues::Named(Vec::new());
            plan_of("id", &[clause(side, action, Some(condition), &values)]).unwrap_err().text()
        };
        assert!(refused("matched", "delete", "fare > 1").starts_with("when_matched_delete: the expression 'fare > 1'"));
        let text = refused("not_matched_by_source", "delete", "s.fare > 1");
        assert!(text.contains("names 's', which is no column"), "{text}");
        assert!(refused("not_matched", "insert", "s.fare").contains("must be boolean"));
        let values = ClauseValues::Named(Vec::new());
        let clauses = [clause("not_matched", "insert", Some("fare > 1"), &values)];
        assert!(plan_of("id", &clauses).is_ok());
    }
}
