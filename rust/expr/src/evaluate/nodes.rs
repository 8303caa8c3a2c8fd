//! The values of a tree, over batches of rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::builder::BooleanBufferBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StructArray, UInt64Array, make_array, new_null_array};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use arrow_select::concat::concat;
use arrow_select::filter::{filter, filter_record_batch};
use arrow_select::take::take;
use mortice_base::{Error, Result};

use super::arithmetic::{absolute, arithmetic, negated};
use super::cast::{cast, exact_array};
use super::choices::{coalesce, extreme, nullif};
use super::compare::{compared, decided, filled, inverted, joined, nulls, unified};
use super::membership::among;
use super::rounding::{round, whole};
use super::strings;
use super::times;
use super::value::{Value, booleans, downcast, failed};
use crate::literals;
use crate::tree::{Call, Case, ColumnNode, Node};

/// The rows of each side, beside each other.
pub type Batches = BTreeMap<String, RecordBatch>;

const RISKY: &[&str] = &["+", "-", "*", "/", "%", "negate", "abs", "ceil", "ceiling", "floor"];

/// The number of rows of batches beside each other.
pub(crate) fn row_count(batches: &Batches) -> usize {
    batches.values().next().map_or(0, RecordBatch::num_rows)
}

/// Returns the value of a node for each row, or a constant.
pub(crate) fn evaluate(node: &Node, batches: &Batches) -> Result<Value> {
    match node {
        Node::Literal(value) => Ok(Value::constant(value.clone())),
        Node::Number(_) => Err(Error::internal("a filter is not evaluated")),
        Node::Column(column) => Ok(Value::rows(stored(column, batches)?)),
        Node::Cast(value, kind) => cast(&evaluate(value, batches)?, kind),
        Node::InList(value, items, _) => {
            let items: Result<Vec<_>> = items.iter().map(|item| evaluate(item, batches)).collect();
            among(&evaluate(value, batches)?, &items?)
        }
        Node::Case(case) => choose(case, batches),
        Node::Call(call) if matches!(call.name, "and" | "or") => conditions(call, batches),
        Node::Call(Call { name: "between", arguments, .. }) => match arguments.as_slice() {
            [value, low, high] => between(value, low, high, batches),
            _ => Err(Error::internal("BETWEEN has three arguments")),
        },
        Node::Call(call) => {
            let arguments: Result<Vec<_>> = call.arguments.iter().map(|argument| evaluate(argument, batches)).collect();
            called(call.name, &arguments?)
        }
    }
}

fn stored(column: &ColumnNode, batches: &Batches) -> Result<ArrayRef> {
    let missing = || Error::invalid_argument(format!("the rows have no column {:?}", column.path.join(".")));
    let (first, fields) = column.path.split_first().ok_or_else(missing)?;
    let batch = batches.get(&column.side).ok_or_else(missing)?;
    let mut array = decoded(batch.column_by_name(first).ok_or_else(missing)?)?;
    for name in fields {
        let parent = downcast::<StructArray>(&array)?;
        let child = decoded(parent.column_by_name(name).ok_or_else(missing)?)?;
        // A field of a struct that is null is null.
        array = match NullBuffer::union(parent.nulls(), child.nulls()) {
            Some(nulls) if !child.data_type().is_null() => {
                let data = child.to_data().into_builder().nulls(Some(nulls)).build();
                make_array(data.map_err(|error| failed(&error))?)
            }
            _ => child,
        };
    }
    Ok(array)
}

fn decoded(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Dictionary(_, kind) => arrow_cast::cast(array, kind).map_err(|error| failed(&error)),
        _ => Ok(array.clone()),
    }
}

/// Computes a function or an operator.
fn called(name: &str, arguments: &[Value]) -> Result<Value> {
    match (name, arguments) {
        ("=" | "!=" | "<" | "<=" | ">" | ">=" | "<=>", [one, other]) => compared(name, one, other),
        ("+" | "-" | "*" | "/" | "%", [one, other]) => arithmetic(name, one, other),
        ("not", [value]) => inverted(value),
        ("is null", [value]) => nulls(value),
        ("is true", [value]) => decided(value, true),
        ("is false", [value]) => decided(value, false),
        ("negate", [value]) => negated(value),
        ("abs", [value]) => absolute(value),
        ("ceil" | "ceiling" | "floor", [value]) => whole(name, value),
        ("round", [value]) => round(value, 0),
        ("round", [value, digits]) => match strings::constant_integer("round", digits)? {
            Some(digits) => round(value, digits),
            None => Ok(value.with(new_null_array(value.kind(), value.array.len()))),
        },
        ("like" | "contains" | "startswith" | "endswith", [value, part]) => strings::searched(name, value, part),
        ("lower" | "upper" | "trim" | "ltrim" | "rtrim", [value]) => strings::mapped(name, value),
        ("length", [value]) => strings::length(value),
        ("substring" | "substr", _) => strings::substring(arguments),
        ("replace", [value, old, new]) => strings::replace(value, old, new),
        ("concat", _) => strings::concat(arguments),
        ("coalesce" | "ifnull", _) => coalesce(arguments),
        ("nullif", [value, other]) => nullif(value, other),
        ("greatest" | "least", _) => extreme(name, arguments),
        ("year" | "month" | "day" | "hour" | "minute" | "second", [value]) => times::part(name, value),
        _ => Err(Error::internal(format!("{name} is computed with {} arguments", arguments.len()))),
    }
}

/// Computes AND and OR: a condition that may fail for the rows only that those before it do not decide.
fn conditions(call: &Call, batches: &Batches) -> Result<Value> {
    let Some((first, rest)) = call.arguments.split_first() else {
        return Err(Error::internal("a chain has conditions"));
    };
    let mut found = cast(&evaluate(first, batches)?, &DataType::Boolean)?;
    for node in rest {
        let next = if may_fail(node) {
            let decides = call.name == "or";
            let is_open = undecided(&found, decides, batches)?;
            let some = for_rows(node, batches, &is_open)?;
            let some = cast(&Value::rows(some), &DataType::Boolean)?;
            Value::rows(Arc::new(spread(booleans(&some)?, &is_open, decides)?))
        } else {
            evaluate(node, batches)?
        };
        found = joined(call.name, &found, &next)?;
    }
    Ok(found)
}

/// Returns the rows for which a condition is not what decides a chain: true for OR, false for AND.
fn undecided(found: &Value, decides: bool, batches: &Batches) -> Result<BooleanArray> {
    let all = Value::rows(found.expanded(row_count(batches))?);
    match decides {
        true => not(&filled(booleans(&all)?, false)),
        false => Ok(filled(booleans(&all)?, true)),
    }
}

/// Computes BETWEEN: the upper limit for the rows only that the lower one does not decide, if it may fail.
fn between(value: &Node, low: &Node, high: &Node, batches: &Batches) -> Result<Value> {
    let value = evaluate(value, batches)?;
    let is_above = compared(">=", &value, &evaluate(low, batches)?)?;
    if !may_fail(high) {
        return joined("and", &is_above, &compared("<=", &value, &evaluate(high, batches)?)?);
    }
    let is_open = undecided(&is_above, false, batches)?;
    let high = Value::rows(for_rows(high, batches, &is_open)?);
    let some = match value.is_constant {
        true => value,
        false => Value::rows(filter(&value.array, &is_open).map_err(|error| failed(&error))?),
    };
    let is_below = compared("<=", &some, &high)?;
    joined("and", &is_above, &Value::rows(Arc::new(spread(booleans(&is_below)?, &is_open, false)?)))
}

fn not(array: &BooleanArray) -> Result<BooleanArray> {
    arrow_arith::boolean::not(array).map_err(|error| failed(&error))
}

/// Returns values that were computed for the rows of a mask, and another one for the other rows.
fn spread(values: &BooleanArray, mask: &BooleanArray, otherwise: bool) -> Result<BooleanArray> {
    let (mut bits, mut valid) = (BooleanBufferBuilder::new(mask.len()), BooleanBufferBuilder::new(mask.len()));
    let mut values = values.iter();
    for row in 0..mask.len() {
        let value = match mask.value(row) {
            true => values.next().ok_or_else(|| Error::internal("there is a value for each row of the mask"))?,
            false => Some(otherwise),
        };
        bits.append(value.unwrap_or(false));
        valid.append(value.is_some());
    }
    Ok(BooleanArray::new(bits.finish(), Some(NullBuffer::new(valid.finish()))))
}

/// Each value is computed for the rows that get it only: it may not be defined for others.
fn choose(case: &Case, batches: &Batches) -> Result<Value> {
    let rows = row_count(batches);
    let operand = case.operand.as_ref().map(|operand| evaluate(operand, batches)).transpose()?;
    let mut is_left = BooleanArray::from(vec![true; rows]);
    let (mut values, mut places, mut start) = (Vec::new(), vec![0_u64; rows], 0_u64);
    let always = Node::Literal(literals::boolean(true));
    let last = (None, &always, &case.otherwise);
    let branches = case.branches.iter().map(|(condition, value)| (operand.as_ref(), condition, value));
    for (operand, condition, value) in branches.chain([last]) {
        let is_true = is_true(operand, condition, batches, &is_left)?;
        let is_chosen = arrow_arith::boolean::and(&is_left, &is_true).map_err(|error| failed(&error))?;
        values.push(Value::rows(for_rows(value, batches, &is_chosen)?));
        for row in is_chosen.values().set_indices() {
            if let Some(place) = places.get_mut(row) {
                *place = start;
            }
            start = start.saturating_add(1);
        }
        is_left = arrow_arith::boolean::and(&is_left, &not(&is_chosen)?).map_err(|error| failed(&error))?;
    }
    let values = unified(&values)?;
    let arrays: Vec<&dyn Array> = values.iter().map(|value| value.array.as_ref()).collect();
    let all = concat(&arrays).map_err(|error| failed(&error))?;
    Ok(Value::rows(take(&all, &UInt64Array::from(places), None).map_err(|error| failed(&error))?))
}

/// Returns where a condition is true, computed for some of the rows only if it may fail.
fn is_true(operand: Option<&Value>, condition: &Node, batches: &Batches, among: &BooleanArray) -> Result<BooleanArray> {
    let some_only = may_fail(condition);
    let value =
        if some_only { Value::rows(for_rows(condition, batches, among)?) } else { evaluate(condition, batches)? };
    let value = match operand {
        Some(operand) if some_only && !operand.is_constant => {
            let operand = filter(&operand.array, among).map_err(|error| failed(&error))?;
            compared("=", &Value::rows(operand), &value)?
        }
        Some(operand) => compared("=", operand, &value)?,
        None => value,
    };
    let value = decided(&value, true)?;
    if some_only {
        return spread(booleans(&value)?, among, false);
    }
    Ok(value.expanded(among.len())?.as_boolean().clone())
}

/// Returns the value of a node for the rows of a mask.
fn for_rows(node: &Node, batches: &Batches, rows: &BooleanArray) -> Result<ArrayRef> {
    let some = |(side, batch): (&String, &RecordBatch)| Ok((side.clone(), filter_record_batch(batch, rows)?));
    let some: std::result::Result<Batches, arrow_schema::ArrowError> = batches.iter().map(some).collect();
    let some = some.map_err(|error| failed(&error))?;
    evaluate(node, &some)?.expanded(row_count(&some))
}

/// Whether a value is not defined for some rows: of arithmetic and casts.
fn may_fail(node: &Node) -> bool {
    let is_risky = match node {
        Node::Cast(..) => true,
        Node::Call(call) => RISKY.contains(&call.name),
        _ => false,
    };
    is_risky || node.children().into_iter().any(may_fail)
}

/// Returns values as those of a key, which are equal only if their bytes are.
pub(crate) fn as_key(value: &Value, kind: &DataType) -> Result<ArrayRef> {
    let array = super::cast::as_type(value, kind)?.array;
    if !crate::kinds::is_float(array.data_type()) {
        return Ok(array);
    }
    let zero = exact_array(&literals::float(0.0), array.data_type())?;
    let zero = arrow_array::Scalar::new(zero);
    // There are two zeros.
    arrow_arith::numeric::add(&array, &zero).map_err(|error| failed(&error))
}
