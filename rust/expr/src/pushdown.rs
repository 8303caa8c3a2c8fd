//! The part of a condition that a query of the table decides, as terms of filters.

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Schema};
use arrow_select::concat::concat;
use mortice_formats::filter::Operator;

use crate::evaluate::exact_array;
use crate::kinds::{has_zone, is_date, is_text, is_timestamp};
use crate::tree::{Call, Node};

/// A comparison of a column with constants that all rows satisfy for which a condition is true.
#[derive(Debug, Clone)]
pub struct PushedTerm {
    /// The column.
    pub column: String,
    /// The operator of the filter: a comparison, `in` or `is null`.
    pub operator: &'static str,
    /// The constants: one for a comparison, any number for `in`.
    pub values: Option<ArrayRef>,
}

/// The comparisons that terms have, by their names in expressions.
pub(crate) const COMPARISONS: &[(&str, Operator)] = &[
    ("=", Operator::Eq),
    ("!=", Operator::NotEq),
    ("<", Operator::Lt),
    ("<=", Operator::LtEq),
    (">", Operator::Gt),
    (">=", Operator::GtEq),
];

/// Returns terms that all rows satisfy for which a condition is true. They need not be all of the condition.
pub(crate) fn pushed_terms(tree: &Node, side: &str, schema: &Schema) -> Vec<PushedTerm> {
    tree.conjuncts().into_iter().flat_map(|node| terms(node, side, schema)).collect()
}

fn terms(node: &Node, side: &str, schema: &Schema) -> Vec<PushedTerm> {
    match node {
        Node::InList(value, items, _) => in_list(value, items, side, schema).into_iter().collect(),
        Node::Call(Call { name: "is null", arguments, .. }) => {
            let column = arguments.first().and_then(|argument| plain(argument, side));
            let term = |column: &str| PushedTerm { column: column.to_owned(), operator: "is null", values: None };
            column.map(term).into_iter().collect()
        }
        Node::Call(call) => match call.arguments.as_slice() {
            [one, other] => comparison(call.name, one, other, side, schema).into_iter().collect(),
            [value, low, high] if call.name == "between" => {
                let low = comparison(">=", value, low, side, schema);
                low.into_iter().chain(comparison("<=", value, high, side, schema)).collect()
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn comparison(name: &'static str, one: &Node, other: &Node, side: &str, schema: &Schema) -> Option<PushedTerm> {
    let turned = match name {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        "=" | "!=" => name,
        _ => return None,
    };
    let is_turned = matches!(one, Node::Literal(_));
    let (operator, one, other) = if is_turned { (turned, other, one) } else { (name, one, other) };
    let (column, value) = (plain(one, side)?, constant(other)?);
    let kind = schema.field_with_name(column).ok()?.data_type();
    fits(value, kind).then(|| PushedTerm { column: column.to_owned(), operator, values: Some(value.clone()) })
}

fn in_list(value: &Node, items: &[Node], side: &str, schema: &Schema) -> Option<PushedTerm> {
    let column = plain(value, side)?;
    let kind = schema.field_with_name(column).ok()?.data_type();
    let values = items.iter().map(|item| constant(item).filter(|value| fits(value, kind)));
    let values = values.collect::<Option<Vec<_>>>()?;
    let arrays: Vec<&dyn Array> = values.iter().map(|value| value.as_ref()).collect();
    let values = if arrays.is_empty() { arrow_array::new_empty_array(kind) } else { concat(&arrays).ok()? };
    Some(PushedTerm { column: column.to_owned(), operator: "in", values: Some(values) })
}

fn plain<'a>(node: &'a Node, side: &str) -> Option<&'a str> {
    match node {
        Node::Column(column) if column.side == side => match column.path.as_slice() {
            [name] => Some(name),
            _ => None,
        },
        _ => None,
    }
}

fn constant(node: &Node) -> Option<&ArrayRef> {
    match node {
        Node::Literal(value) if value.null_count() == 0 && !value.data_type().is_null() => Some(value),
        _ => None,
    }
}

/// Whether a filter compares as the expression does: values of the same kind.
fn fits(value: &ArrayRef, kind: &DataType) -> bool {
    let own = value.data_type();
    (own.is_integer() && (kind.is_integer() || kind == &DataType::Float64) && exact_array(value, kind).is_ok())
        || (is_text(own) && is_text(kind))
        || (own == &DataType::Boolean && kind == &DataType::Boolean)
        || (is_date(own) && is_date(kind))
        || (is_timestamp(own) && is_timestamp(kind) && has_zone(own) == has_zone(kind))
}
