//! Expressions of `pyarrow.compute` as predicates.
//!
//! Comparisons of floats are pyarrow's: NaN is equal to nothing, not even to itself, and neither less nor greater.

use std::collections::BTreeSet;

use arrow_schema::Schema;
use mortice_base::Result;
use mortice_formats::filter::{Literal, Operator};

use super::paths::{resolved, type_at};
use super::pyarrow_form::{PyarrowCall, PyarrowNode, PyarrowOption, tree};
use super::tree::Predicate;
use super::values::like_pattern;
use crate::kinds::is_float;

/// The values of the option that says what null in a list is.
const NULL_MATCHES: Literal = Literal::Int(0);
const NULL_IS_SKIPPED: Literal = Literal::Int(1);

/// Returns the predicate that an expression is; `Unknown` in place of what readers cannot evaluate.
///
/// # Arguments
/// * `serialised` - The expression, as pyarrow serialises it.
/// * `schema` - The columns of the table, if they are known.
/// * `shown` - Returns the expression as pyarrow shows it.
///
/// # Errors
/// `Internal` if a term cannot be made.
pub fn pyarrow_predicate(
    serialised: &[u8],
    schema: Option<&Schema>,
    shown: impl FnOnce() -> String,
) -> Result<Predicate> {
    match tree(serialised) {
        Some(tree) => translated(&tree, schema),
        None => Ok(unknown(&shown())),
    }
}

/// Returns the predicate of the structure of an expression.
pub(super) fn translated(tree: &PyarrowNode, schema: Option<&Schema>) -> Result<Predicate> {
    Translator { schema }.predicate(tree)
}

/// Returns the columns that a serialised expression refers to. None if its structure is not recognised.
#[must_use]
pub fn pyarrow_columns(serialised: &[u8]) -> Option<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    add_columns(&tree(serialised)?, &mut found);
    Some(found)
}

fn add_columns(node: &PyarrowNode, found: &mut BTreeSet<String>) {
    match node {
        PyarrowNode::Field(names) => found.extend(names.first().cloned()),
        PyarrowNode::Call(call) => call.arguments.iter().for_each(|argument| add_columns(argument, found)),
        PyarrowNode::Literal(_) => {}
    }
}

fn unknown(what: &str) -> Predicate {
    Predicate::Unknown(format!(
        "a filter of a query cannot have {what}; it can compare columns with literals (=, <, isin, is_null, \
         match_like, and, or, not). Table.dataset() accepts any expression of pyarrow, mortice.scan_polars() any of \
         polars"
    ))
}

/// Returns a comparison by the name of pyarrow's function.
fn comparison(name: &str) -> Option<Operator> {
    match name {
        "equal" => Some(Operator::Eq),
        "not_equal" => Some(Operator::NotEq),
        "less" => Some(Operator::Lt),
        "less_equal" => Some(Operator::LtEq),
        "greater" => Some(Operator::Gt),
        "greater_equal" => Some(Operator::GtEq),
        _ => None,
    }
}

struct Translator<'a> {
    schema: Option<&'a Schema>,
}

impl Translator<'_> {
    fn predicate(&self, node: &PyarrowNode) -> Result<Predicate> {
        let call = match node {
            PyarrowNode::Literal(Some(Literal::Null)) => return Ok(Predicate::Constant(None)),
            PyarrowNode::Literal(Some(Literal::Bool(value))) => return Ok(Predicate::Constant(Some(*value))),
            PyarrowNode::Literal(_) => return Ok(unknown("a literal that is not a boolean")),
            PyarrowNode::Field(names) => {
                return Predicate::compared(&self.path(names), Operator::Eq, vec![Literal::Bool(true)]);
            }
            PyarrowNode::Call(call) => call,
        };
        let all = || call.arguments.iter().map(|one| self.predicate(one)).collect::<Result<Vec<_>>>();
        let found = comparison(&call.name);
        match (call.name.as_str(), call.arguments.as_slice()) {
            ("invert", [part]) => Ok(Predicate::Negation(Box::new(self.predicate(part)?))),
            ("and_kleene", _) => Ok(Predicate::AllOf(all()?)),
            ("or_kleene", _) => Ok(Predicate::AnyOf(all()?)),
            ("if_else", [condition, found, otherwise]) => self.null_where_null(condition, found, otherwise),
            (_, [PyarrowNode::Field(names), PyarrowNode::Literal(literal)]) if found.is_some() => {
                self.comparison(found, names, literal.as_ref())
            }
            (_, [PyarrowNode::Literal(literal), PyarrowNode::Field(names)]) if found.is_some() => {
                self.comparison(found.map(Operator::turned), names, literal.as_ref())
            }
            _ if found.is_some() => Ok(unknown("a comparison other than that of a column with a literal")),
            (_, [PyarrowNode::Field(names)]) => self.of_column(call, names),
            (name, _) => Ok(unknown(name)),
        }
    }

    fn of_column(&self, call: &PyarrowCall, names: &[String]) -> Result<Predicate> {
        let path = self.path(names);
        let nan = || vec![Literal::Float(f64::NAN)];
        let is_option = |name: &str| call.options.get(name) == Some(&PyarrowOption::One(Some(Literal::Bool(true))));
        match call.name.as_str() {
            "is_valid" => return Predicate::null_test(&path, Operator::IsNotNull),
            "is_null" => {
                let is_null = Predicate::null_test(&path, Operator::IsNull)?;
                if !is_option("nan_is_null") || !self.is_float(names) {
                    return Ok(is_null);
                }
                return Ok(Predicate::AnyOf(vec![is_null, Predicate::never_null(&path, Operator::Eq, nan())?]));
            }
            // Null where the value is.
            "is_nan" => return Predicate::compared(&path, Operator::Eq, nan()),
            "is_in" => return self.membership(call, names, &path),
            _ => {}
        }
        let ignores_case = call.options.get("ignore_case") != Some(&PyarrowOption::One(Some(Literal::Bool(false))));
        let pattern = match call.options.get("pattern") {
            Some(PyarrowOption::One(Some(Literal::Text(pattern)))) if !ignores_case => pattern,
            _ => return Ok(unknown(&call.name)),
        };
        let pattern = match call.name.as_str() {
            "match_like" => pattern.clone(),
            "starts_with" => format!("{}%", like_pattern(pattern)),
            "ends_with" => format!("%{}", like_pattern(pattern)),
            "match_substring" => format!("%{}%", like_pattern(pattern)),
            name => return Ok(unknown(name)),
        };
        Predicate::compared(&path, Operator::Like, vec![Literal::Text(pattern)])
    }

    /// `DuckDB`'s `in`: `if_else(is_valid(a), is_in(a, …), null)`.
    fn null_where_null(
        &self,
        condition: &PyarrowNode,
        found: &PyarrowNode,
        otherwise: &PyarrowNode,
    ) -> Result<Predicate> {
        let (PyarrowNode::Call(condition), PyarrowNode::Call(found)) = (condition, found) else {
            return Ok(unknown("if_else"));
        };
        let is_membership = condition.name == "is_valid" && found.name == "is_in";
        let is_null = otherwise == &PyarrowNode::Literal(Some(Literal::Null));
        match (found.arguments.as_slice(), values_of(found)) {
            ([PyarrowNode::Field(names)], Some(values))
                if is_membership && is_null && condition.arguments == found.arguments && !self.is_float(names) =>
            {
                Predicate::compared(&self.path(names), Operator::In, without_null(values))
            }
            _ => Ok(unknown("if_else")),
        }
    }

    /// `is_in` is never null: null is in a list that has null.
    fn membership(&self, call: &PyarrowCall, names: &[String], path: &[String]) -> Result<Predicate> {
        let null_matching = match call.options.get("null_matching_behavior") {
            Some(PyarrowOption::One(Some(one))) if *one == NULL_MATCHES || *one == NULL_IS_SKIPPED => one,
            _ => return Ok(unknown("is_in with INCONCLUSIVE or EMIT_NULL")),
        };
        let Some(values) = values_of(call) else { return Ok(unknown("is_in with values that are no literals")) };
        if self.is_float(names) && values.iter().any(is_zero) {
            return Ok(unknown("is_in with zero, of which pyarrow has two"));
        }
        if self.is_float(names) && values.iter().any(is_nan) {
            return Ok(unknown("is_in with NaN"));
        }
        let has_null = values.contains(&Literal::Null) && *null_matching == NULL_MATCHES;
        let found = Predicate::never_null(path, Operator::In, without_null(values))?;
        if !has_null {
            return Ok(found);
        }
        Ok(Predicate::AnyOf(vec![found, Predicate::null_test(path, Operator::IsNull)?]))
    }

    fn comparison(&self, operator: Option<Operator>, names: &[String], literal: Option<&Literal>) -> Result<Predicate> {
        let path = self.path(names);
        let (Some(operator), Some(literal)) = (operator, literal) else {
            return Ok(unknown("a comparison with a value that is no literal"));
        };
        if *literal == Literal::Null {
            return Ok(Predicate::Constant(None));
        }
        if self.is_float(names) && is_nan(literal) {
            // Nothing compares with NaN; everything is unlike it.
            let operator = if operator == Operator::NotEq { Operator::NotIn } else { Operator::In };
            return Predicate::compared(&path, operator, Vec::new());
        }
        let compared = Predicate::compared(&path, operator, vec![literal.clone()])?;
        if !self.is_float(names) || !matches!(operator, Operator::Gt | Operator::GtEq) {
            return Ok(compared);
        }
        // Readers order NaN above all numbers.
        let is_number = Predicate::compared(&path, Operator::NotEq, vec![Literal::Float(f64::NAN)])?;
        Ok(Predicate::AllOf(vec![compared, is_number]))
    }

    fn path(&self, names: &[String]) -> Vec<String> {
        resolved(names, self.schema)
    }

    /// Whether a column may have floats: if its type is not known, too.
    fn is_float(&self, names: &[String]) -> bool {
        self.schema.and_then(|schema| type_at(names, schema)).is_none_or(is_float)
    }
}

fn values_of(call: &PyarrowCall) -> Option<&[Literal]> {
    match call.options.get("value_set")? {
        PyarrowOption::List(values) => values.as_deref(),
        PyarrowOption::One(_) => None,
    }
}

fn without_null(values: &[Literal]) -> Vec<Literal> {
    values.iter().filter(|value| **value != Literal::Null).cloned().collect()
}

fn is_nan(literal: &Literal) -> bool {
    matches!(literal, Literal::Float(value) if value.is_nan())
}

fn is_zero(literal: &Literal) -> bool {
    match literal {
        Literal::Float(value) => *value == 0.0,
        Literal::Int(value) | Literal::Decimal { unscaled: value, .. } => *value == 0,
        _ => false,
    }
}
