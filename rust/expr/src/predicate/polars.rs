//! Expressions of polars as predicates.
//!
//! polars shows the structure of an expression as JSON, whose form may change between releases. Literals are evaluated
//! by polars itself. What is not recognised is `Unknown`. Comparisons are those of readers: NaN is equal to NaN and
//! above all numbers.

use arrow_array::ArrayRef;
use arrow_schema::Schema;
use mortice_formats::filter::{Literal, Operator};

use super::json::{Json, JsonValue};
use super::paths::resolved;
use super::tree::Predicate;
use super::values::{like_pattern, literal_at, literals_at};

/// Returns the predicate that an expression is; `Unknown` in place of what readers cannot evaluate.
///
/// # Arguments
/// * `serialised` - The expression as JSON.
/// * `schema` - The columns of the table, if they are known.
/// * `evaluate` - Returns the value of an expression without columns, as an array of one value. None if polars cannot
///   evaluate it.
/// * `shown` - Returns the expression as polars shows it.
pub fn polars_predicate(
    serialised: &str,
    schema: Option<&Schema>,
    evaluate: &dyn Fn(&str) -> Option<ArrayRef>,
    shown: impl FnOnce() -> String,
) -> Predicate {
    let found = Json::parse(serialised).and_then(|tree| Translator { schema, evaluate }.predicate(&tree));
    found.unwrap_or_else(|| unknown(&shown()))
}

fn unknown(what: &str) -> Predicate {
    Predicate::Unknown(format!(
        "a filter of a query cannot have {what}; it can compare columns with literals (==, <, is_in, is_between, \
         is_null, starts_with, &, |, ~). mortice.scan_polars() accepts any expression of polars"
    ))
}

/// Returns a comparison by its name in polars.
fn comparison(name: &str) -> Option<Operator> {
    match name {
        "Eq" => Some(Operator::Eq),
        "NotEq" => Some(Operator::NotEq),
        "Lt" => Some(Operator::Lt),
        "LtEq" => Some(Operator::LtEq),
        "Gt" => Some(Operator::Gt),
        "GtEq" => Some(Operator::GtEq),
        _ => None,
    }
}

struct Translator<'a> {
    schema: Option<&'a Schema>,
    evaluate: &'a dyn Fn(&str) -> Option<ArrayRef>,
}

/// Each function returns None for what it does not recognise.
impl Translator<'_> {
    fn predicate(&self, node: &Json<'_>) -> Option<Predicate> {
        let (kind, content) = node.variant()?;
        match (kind, content) {
            ("Literal", Some(_)) => Some(match self.value(node)? {
                Literal::Null => Predicate::Constant(None),
                Literal::Bool(value) => Predicate::Constant(Some(value)),
                _ => unknown("such a literal"),
            }),
            ("Column", Some(_)) => self.is_true(node),
            ("Alias", Some(content)) => self.predicate(content.list()?.first()?),
            ("BinaryExpr", Some(content)) => self.binary(content),
            ("Function", Some(content)) => self.function(node, content),
            (kind, _) => Some(unknown(kind)),
        }
    }

    fn is_true(&self, node: &Json<'_>) -> Option<Predicate> {
        Predicate::compared(&self.path(node)?, Operator::Eq, vec![Literal::Bool(true)]).ok()
    }

    fn binary(&self, content: &Json<'_>) -> Option<Predicate> {
        let (left, right, name) = (content.get("left")?, content.get("right")?, content.get("op")?.string()?);
        let both = || Some(vec![self.predicate(left)?, self.predicate(right)?]);
        match name {
            "And" | "LogicalAnd" => return both().map(Predicate::AllOf),
            "Or" | "LogicalOr" => return both().map(Predicate::AnyOf),
            _ => {}
        }
        let Some(operator) = comparison(name) else {
            return Some(unknown(&format!("the operator {name}")));
        };
        if column(left).is_some() {
            self.compared(left, operator, right)
        } else {
            self.compared(right, operator.turned(), left)
        }
    }

    fn compared(&self, left: &Json<'_>, operator: Operator, right: &Json<'_>) -> Option<Predicate> {
        if column(left).is_none() || has_column(right) {
            return Some(unknown("a comparison other than that of a column with a literal"));
        }
        match self.value(right)? {
            Literal::Null => Some(Predicate::Constant(None)),
            literal => Predicate::compared(&self.path(left)?, operator, vec![literal]).ok(),
        }
    }

    fn function(&self, node: &Json<'_>, content: &Json<'_>) -> Option<Predicate> {
        let (inputs, function) = (content.get("input")?.list()?, content.get("function")?);
        if function.get("StructExpr").is_some() {
            return self.is_true(node);
        }
        let (family, kind) = function.variant()?;
        let (name, options) = kind?.variant()?;
        let (first, rest) = inputs.split_first()?;
        if (family, name) == ("Boolean", "Not") {
            return Some(Predicate::Negation(Box::new(self.predicate(first)?)));
        }
        if column(first).is_none() || rest.iter().any(has_column) {
            return Some(unknown(&format!("{name} of other than a column and literals")));
        }
        if family == "Boolean" {
            return self.boolean(name, options, first, rest);
        }
        let (before, after) = match name {
            "StartsWith" => ("", "%"),
            "EndsWith" => ("%", ""),
            "Contains" if is_true(options?.get("literal")?) => ("%", "%"),
            _ => return Some(unknown(&format!("the function {name}"))),
        };
        if family != "StringExpr" {
            return Some(unknown(&format!("the function {name}")));
        }
        let Literal::Text(text) = self.value(rest.first()?)? else { return None };
        let pattern = Literal::Text(format!("{before}{}{after}", like_pattern(&text)));
        Predicate::compared(&self.path(first)?, Operator::Like, vec![pattern]).ok()
    }

    fn boolean(
        &self,
        name: &str,
        options: Option<&Json<'_>>,
        first: &Json<'_>,
        rest: &[Json<'_>],
    ) -> Option<Predicate> {
        let path = self.path(first)?;
        match name {
            "IsNull" => Predicate::null_test(&path, Operator::IsNull).ok(),
            "IsNotNull" => Predicate::null_test(&path, Operator::IsNotNull).ok(),
            "IsNan" => Predicate::compared(&path, Operator::Eq, vec![Literal::Float(f64::NAN)]).ok(),
            "IsBetween" => {
                let (least, greatest) = match options?.get("closed")?.string()? {
                    "Both" => (Operator::GtEq, Operator::LtEq),
                    "Left" => (Operator::GtEq, Operator::Lt),
                    "Right" => (Operator::Gt, Operator::LtEq),
                    "None" => (Operator::Gt, Operator::Lt),
                    _ => return None,
                };
                let [low, high] = rest else { return None };
                Some(Predicate::AllOf(vec![self.compared(first, least, low)?, self.compared(first, greatest, high)?]))
            }
            "IsIn" if !is_true(options?.get("nulls_equal")?) => {
                let values = (self.evaluate)(rest.first()?.text)?;
                let Some(literals) = literals_at(&values, 0) else { return Some(unknown("the function IsIn")) };
                if literals.contains(&Literal::Null) {
                    return Some(unknown("is_in with null"));
                }
                Predicate::compared(&path, Operator::In, literals).ok()
            }
            _ => Some(unknown(&format!("the function {name}"))),
        }
    }

    fn path(&self, node: &Json<'_>) -> Option<Vec<String>> {
        Some(resolved(&column(node)?, self.schema))
    }

    /// Returns the value of an expression without columns.
    fn value(&self, node: &Json<'_>) -> Option<Literal> {
        literal_at(&(self.evaluate)(node.text)?, 0)
    }
}

/// Returns the names of a column, or of a field within one, outermost first. None for other expressions.
fn column(node: &Json<'_>) -> Option<Vec<String>> {
    if let Some(name) = node.get("Column") {
        return Some(vec![name.string()?.to_owned()]);
    }
    let content = node.get("Function")?;
    let field = content.get("function")?.get("StructExpr")?.get("FieldByName")?.string()?;
    let mut names = column(content.get("input")?.list()?.first()?)?;
    names.push(field.to_owned());
    Some(names)
}

fn has_column(node: &Json<'_>) -> bool {
    match &node.value {
        JsonValue::Object(members) => {
            members.iter().any(|(name, part)| matches!(name.as_str(), "Column" | "Selector") || has_column(part))
        }
        JsonValue::List(items) => items.iter().any(has_column),
        _ => false,
    }
}

fn is_true(node: &Json<'_>) -> bool {
    matches!(node.value, JsonValue::Bool(true))
}
