//! The part of a condition that a query of the table decides, as terms of filters.

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Schema};
use mortice_formats::filter::{Literal, Operator, Term};

use crate::evaluate::exact_array;
use crate::kinds::{has_zone, is_date, is_text, is_timestamp};
use crate::predicate::literal_at;
use crate::tree::{Call, Node};

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
pub(crate) fn pushed_terms(tree: &Node, side: &str, schema: &Schema) -> Vec<Term> {
    tree.conjuncts().into_iter().flat_map(|node| terms(node, side, schema)).collect()
}

fn terms(node: &Node, side: &str, schema: &Schema) -> Vec<Term> {
    match node {
        Node::InList(value, items, _) => in_list(value, items, side, schema).into_iter().collect(),
        Node::Call(Call { name: "is null", arguments, .. }) => {
            let column = arguments.first().and_then(|argument| plain(argument, side));
            column.and_then(|column| Term::new(column, Operator::IsNull, Vec::new()).ok()).into_iter().collect()
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

fn comparison(name: &'static str, one: &Node, other: &Node, side: &str, schema: &Schema) -> Option<Term> {
    let operator = COMPARISONS.iter().find(|(known, _)| *known == name).map(|(_, operator)| *operator)?;
    let is_turned = matches!(one, Node::Literal(_));
    let (operator, one, other) = if is_turned { (operator.turned(), other, one) } else { (operator, one, other) };
    let column = plain(one, side)?;
    let kind = schema.field_with_name(column).ok()?.data_type();
    Term::new(column, operator, vec![literal(other, kind)?]).ok()
}

fn in_list(value: &Node, items: &[Node], side: &str, schema: &Schema) -> Option<Term> {
    let column = plain(value, side)?;
    let kind = schema.field_with_name(column).ok()?.data_type();
    let literals = items.iter().map(|item| literal(item, kind)).collect::<Option<_>>()?;
    Term::new(column, Operator::In, literals).ok()
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

/// Returns the literal that a constant is, if a filter compares it with values of a type as the expression does.
fn literal(node: &Node, kind: &DataType) -> Option<Literal> {
    match node {
        Node::Literal(value) if value.null_count() == 0 && fits(value, kind) => literal_at(value, 0),
        _ => None,
    }
}

/// Whether values are of the same kind.
fn fits(value: &ArrayRef, kind: &DataType) -> bool {
    let own = value.data_type();
    (own.is_integer() && (kind.is_integer() || kind == &DataType::Float64) && exact_array(value, kind).is_ok())
        || (is_text(own) && is_text(kind))
        || (own == &DataType::Boolean && kind == &DataType::Boolean)
        || (is_date(own) && is_date(kind))
        || (is_timestamp(own) && is_timestamp(kind) && has_zone(own) == has_zone(kind))
}
