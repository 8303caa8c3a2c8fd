//! The text of a filter, written as the condition of SQL's WHERE, as a predicate.
//!
//! The grammar is that of expressions, of which a filter is a condition that compares columns, or fields of structs,
//! with literals. In three ways it is meant for people who type it. A name where a literal is expected is a string,
//! unless it names a column, so that `city = oslo` works in a shell; a date needs no quotes; and a number is an exact
//! decimal.

use arrow_schema::Schema;
use mortice_base::{Error, Result};
use mortice_formats::filter::{Literal, Operator};

use super::misuse::Misuse;
use super::paths::{resolved, type_at};
use super::tree::Predicate;
use super::values::literal_at;
use crate::decimals::{MOST_DIGITS, parse_decimal};
use crate::kinds::is_text;
use crate::parse::parse;
use crate::pushdown::COMPARISONS;
use crate::text::{ExpressionText, Grammar, quoted};
use crate::tree::{Call, ColumnNode, Node};

const NULL_SAFE: &str = "<=>";

/// Returns the predicate that a text describes.
///
/// # Arguments
/// * `text` - The text.
/// * `schema` - The columns that it is about, if they are known.
///
/// # Errors
/// `InvalidArgument`, with the place in the text if it cannot be parsed.
pub fn condition(text: &str, schema: Option<&Schema>) -> Result<Predicate> {
    let text = ExpressionText::new(text, Grammar::Filter);
    let tree = parse(&text)?;
    Conditions { text: &text, schema }.predicate(&tree)
}

/// What a column is compared with.
enum Operand<'n> {
    Value(Literal),
    /// A number as it was written.
    Number(&'n str),
    /// A name: a string, unless it names a column.
    Word(&'n [String]),
}

struct Conditions<'a> {
    text: &'a ExpressionText,
    schema: Option<&'a Schema>,
}

impl Conditions<'_> {
    fn predicate(&self, node: &Node) -> Result<Predicate> {
        let no_operator = "has no operator (=, !=, <, in, between, like, is null)";
        match node {
            Node::Column(column) => Predicate::compared(&self.path(column), Operator::Eq, vec![Literal::Bool(true)]),
            Node::Literal(value) => match literal_at(value, 0) {
                Some(Literal::Null) => Ok(Predicate::Constant(None)),
                Some(Literal::Bool(value)) => Ok(Predicate::Constant(Some(value))),
                _ => self.fail(self.text.chars.len(), no_operator),
            },
            Node::Number(_) => self.fail(self.text.chars.len(), no_operator),
            Node::InList(value, items, at) => self.membership(value, items, *at),
            Node::Call(Call { name, arguments, .. }) if matches!(*name, "and" | "or") => {
                let parts = arguments.iter().map(|part| self.predicate(part)).collect::<Result<_>>()?;
                Ok(if *name == "and" { Predicate::AllOf(parts) } else { Predicate::AnyOf(parts) })
            }
            Node::Call(Call { name: "not", arguments, .. }) => match arguments.as_slice() {
                [part] => Ok(Predicate::Negation(Box::new(self.predicate(part)?))),
                _ => Err(Error::internal("a negation has one part")),
            },
            Node::Call(call) => self.test(call),
            Node::Cast(..) | Node::Case(_) => Err(Error::internal("filters compare columns with literals")),
        }
    }

    fn test(&self, call: &Call) -> Result<Predicate> {
        match (call.name, call.arguments.as_slice()) {
            (name @ ("is true" | "is false"), [value]) => {
                let path = self.column(value, call.at)?;
                Predicate::never_null(&path, Operator::Eq, vec![Literal::Bool(name == "is true")])
            }
            ("is null", [value]) => Predicate::null_test(&self.column(value, call.at)?, Operator::IsNull),
            ("between", [value, low, high]) => Ok(Predicate::AllOf(vec![
                self.comparison(">=", value, low, call.at)?,
                self.comparison("<=", value, high, call.at)?,
            ])),
            ("like", [value, pattern]) => {
                let Operand::Value(pattern @ Literal::Text(_)) = self.operand(pattern, call.at)? else {
                    return self.fail(call.at, "has LIKE without a pattern in single quotes");
                };
                Predicate::compared(&self.column(value, call.at)?, Operator::Like, vec![pattern])
            }
            (name, [one, other]) if name == NULL_SAFE || COMPARISONS.iter().any(|(known, _)| *known == name) => {
                self.comparison(name, one, other, call.at)
            }
            (name, _) => {
                let what = format!("computes a value ({name}), and filters compare columns with literals");
                self.fail(call.at, &what)
            }
        }
    }

    fn comparison(&self, name: &str, one: &Node, other: &Node, at: usize) -> Result<Predicate> {
        let is_turned = !matches!(one, Node::Column(_));
        let (one, other) = if is_turned { (other, one) } else { (one, other) };
        let (path, operand) = (self.column(one, at)?, self.operand(other, at)?);
        let literal = self.literal(operand, &path, name)?;
        if name == NULL_SAFE {
            return match literal {
                Literal::Null => Predicate::null_test(&path, Operator::IsNull),
                literal => Predicate::never_null(&path, Operator::Eq, vec![literal]),
            };
        }
        let known = COMPARISONS.iter().find(|(known, _)| *known == name);
        let (_, operator) = known.ok_or_else(|| Error::internal("a comparison is known"))?;
        match literal {
            Literal::Null => Ok(Predicate::Constant(None)),
            literal => Predicate::compared(&path, if is_turned { operator.turned() } else { *operator }, vec![literal]),
        }
    }

    fn membership(&self, value: &Node, items: &[Node], at: usize) -> Result<Predicate> {
        let path = self.column(value, at)?;
        let literals = items.iter().map(|item| self.literal(self.operand(item, at)?, &path, "in"));
        let mut literals = literals.collect::<Result<Vec<_>>>()?;
        let given = literals.len();
        literals.retain(|literal| *literal != Literal::Null);
        let is_whole = literals.len() == given;
        let found = Predicate::compared(&path, Operator::In, literals)?;
        // Null may be the value that is looked for.
        Ok(if is_whole { found } else { Predicate::AnyOf(vec![found, Predicate::Constant(None)]) })
    }

    fn path(&self, column: &ColumnNode) -> Vec<String> {
        resolved(&column.path, self.schema)
    }

    fn column(&self, node: &Node, at: usize) -> Result<Vec<String>> {
        match node {
            Node::Column(column) => Ok(self.path(column)),
            _ => self.fail(at, "compares no column with a literal: a column is expected"),
        }
    }

    fn operand<'n>(&self, node: &'n Node, at: usize) -> Result<Operand<'n>> {
        match node {
            Node::Column(column) => Ok(Operand::Word(&column.path)),
            Node::Number(text) => Ok(Operand::Number(text)),
            Node::Literal(value) => {
                literal_at(value, 0).map(Operand::Value).ok_or_else(|| Error::internal("a constant is a literal"))
            }
            _ => self.fail(at, "compares a column with no literal: a literal is expected"),
        }
    }

    /// Returns what a column is compared with, as its type has it.
    fn literal(&self, operand: Operand<'_>, path: &[String], operator: &str) -> Result<Literal> {
        match operand {
            Operand::Value(literal) => Ok(literal),
            Operand::Number(text) => {
                // `month = 3` would not find '03', and `day > 9` not '10'.
                if self.schema.and_then(|schema| type_at(path, schema)).is_some_and(is_text) {
                    return Err(Error::invalid_argument(format!(
                        "a filter compares the strings of column {} with the number {text}; the string is '{text}'",
                        path.join(".")
                    )));
                }
                number(text).ok_or_else(|| {
                    let term = format!("({}, '{operator}', {text})", quoted(&path.join(".")));
                    Misuse::Unusable(text, "int", Misuse::TOO_MANY_DIGITS).error(&term)
                })
            }
            Operand::Word(names) => {
                let word = names.join(".");
                let first = names.first().map_or("", String::as_str);
                if self.schema.is_some_and(|schema| schema.fields().find(first).is_some()) {
                    return Err(Error::invalid_argument(format!(
                        "a filter compares a column with a literal, not with the column {word}; the string is '{word}'"
                    )));
                }
                Ok(Literal::Text(word))
            }
        }
    }

    fn fail<T>(&self, at: usize, what: &str) -> Result<T> {
        Err(self.text.refused(at, what))
    }
}

/// Returns a number: an integer, an exact decimal, or a float if it has too many digits for a decimal. None for an
/// integer of too many digits.
fn number(text: &str) -> Option<Literal> {
    let decimal = parse_decimal(text);
    if text.bytes().all(|byte| matches!(byte, b'+' | b'-' | b'0'..=b'9')) {
        return decimal.map(|decimal| Literal::Int(decimal.value));
    }
    let scale = decimal.and_then(|decimal| i8::try_from(decimal.scale).ok());
    match (decimal, scale) {
        (Some(decimal), Some(scale)) if (0..=i8::try_from(MOST_DIGITS).ok()?).contains(&scale) => {
            Some(Literal::Decimal { unscaled: decimal.value, scale })
        }
        _ => text.parse().ok().map(Literal::Float),
    }
}
