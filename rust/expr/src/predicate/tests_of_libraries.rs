//! Expressions of pyarrow and polars as predicates.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, ListArray, NullArray, StringArray, types::Int64Type};
use arrow_schema::{DataType, Field, Schema};
use mortice_formats::filter::Literal;

use super::pyarrow::translated;
use super::pyarrow_form::{PyarrowCall, PyarrowNode, PyarrowOption, tree};
use super::*;

fn schema() -> Schema {
    let field = |name, kind| Field::new(name, kind, true);
    Schema::new(vec![field("n", DataType::Int64), field("x", DataType::Float64), field("s", DataType::Utf8)])
}

fn field(name: &str) -> PyarrowNode {
    PyarrowNode::Field(vec![name.to_owned()])
}

fn literal(literal: Literal) -> PyarrowNode {
    PyarrowNode::Literal(Some(literal))
}

fn call(name: &str, arguments: Vec<PyarrowNode>, options: Vec<(&str, PyarrowOption)>) -> PyarrowNode {
    let options: BTreeMap<_, _> = options.into_iter().map(|(name, option)| (name.to_owned(), option)).collect();
    PyarrowNode::Call(PyarrowCall { name: name.to_owned(), arguments, options })
}

fn one(literal: Literal) -> PyarrowOption {
    PyarrowOption::One(Some(literal))
}

fn is_in(column: &str, values: Vec<Literal>, null_matching: i128) -> PyarrowNode {
    let options = vec![
        ("value_set", PyarrowOption::List(Some(values))),
        ("null_matching_behavior", one(Literal::Int(null_matching))),
    ];
    call("is_in", vec![field(column)], options)
}

/// The filter of an expression, or why it has none.
fn filter(node: &PyarrowNode) -> String {
    let found = translated(node, Some(&schema())).and_then(|found| found.filter(Some(&schema())));
    found.map_or_else(|error| error.to_string(), |filter| filter.to_string())
}

fn inverted(node: PyarrowNode) -> PyarrowNode {
    call("invert", vec![node], vec![])
}

#[test]
fn comparisons_of_pyarrow() {
    let (three, nan) = (|| literal(Literal::Int(3)), || literal(Literal::Float(f64::NAN)));
    let compared = |name: &str, left, right| call(name, vec![left, right], vec![]);
    assert_eq!(filter(&compared("less", three(), field("n"))), "n > 3");
    assert_eq!(filter(&inverted(compared("less", field("n"), three()))), "n >= 3");
    assert_eq!(filter(&compared("greater", field("x"), three())), "x > 3 and x != NaN");
    assert_eq!(filter(&inverted(compared("greater", field("x"), three()))), "x = NaN or x <= 3");
    assert_eq!(filter(&compared("equal", field("x"), nan())), "x in");
    assert_eq!(filter(&compared("not_equal", field("x"), nan())), "x not in");
    assert_eq!(filter(&compared("equal", field("n"), literal(Literal::Null))), "n in");
    assert!(filter(&compared("equal", field("n"), field("x"))).contains("Table.dataset()"));
    assert!(filter(&compared("equal", field("n"), PyarrowNode::Literal(None))).contains("no literal"));
}

#[test]
fn lists_of_pyarrow_and_null() {
    let listed = |values: &[i128]| values.iter().map(|value| Literal::Int(*value)).collect::<Vec<_>>();
    let with_null = || vec![Literal::Int(1), Literal::Null];
    assert_eq!(filter(&is_in("n", with_null(), 1)), "n in 1 and n is not null");
    assert_eq!(filter(&inverted(is_in("n", listed(&[1, 2]), 0))), "n not in (1, 2) or n is null");
    assert!(filter(&inverted(is_in("n", with_null(), 0))).starts_with("n not in 1 and n is not null or "));
    assert!(filter(&is_in("n", with_null(), 2)).contains("INCONCLUSIVE"));
    assert!(filter(&is_in("x", listed(&[0]), 0)).contains("zero"));
    assert!(filter(&is_in("x", vec![Literal::Float(f64::NAN)], 0)).contains("NaN"));
    let is_valid = |column: &str| call("is_valid", vec![field(column)], vec![]);
    let of_duckdb = |column: &str, of: &str| {
        let null = literal(Literal::Null);
        call("if_else", vec![is_valid(column), is_in(of, with_null(), 0), null], vec![])
    };
    assert_eq!(filter(&of_duckdb("n", "n")), "n in 1");
    assert!(filter(&of_duckdb("n", "s")).contains("if_else"));
}

#[test]
fn functions_of_pyarrow() {
    let of_text = |name: &str, ignore_case| {
        let options =
            vec![("pattern", one(Literal::Text("10%".into()))), ("ignore_case", one(Literal::Bool(ignore_case)))];
        call(name, vec![field("s")], options)
    };
    assert!(filter(&of_text("ends_with", false)).starts_with(r#"s like "%10\\%""#));
    assert!(filter(&of_text("match_like", false)).starts_with(r#"s like "10%" and s >= "10""#));
    assert!(filter(&of_text("starts_with", true)).contains("cannot have starts_with"));
    let is_null = |column: &str| call("is_null", vec![field(column)], vec![("nan_is_null", one(Literal::Bool(true)))]);
    assert_eq!(filter(&is_null("n")), "n is null");
    assert_eq!(filter(&is_null("x")), "x is null or x = NaN and x is not null");
    assert!(filter(&call("add", vec![field("n"), field("n")], vec![])).contains("cannot have add"));
    assert!(filter(&literal(Literal::Int(1))).contains("a literal that is not a boolean"));
    assert_eq!(filter(&field("s")), "s = true");
}

#[test]
fn other_bytes_are_no_expression() {
    for bytes in [&b""[..], b"ARROW1", b"ARROW1\0\0\xff\xff\xff\x7fARROW1", &[0; 64]] {
        assert_eq!(tree(bytes), None);
        assert_eq!(pyarrow_columns(bytes), None);
    }
    let found = pyarrow_predicate(b"ARROW1", None, || "x + 1".to_owned()).unwrap();
    assert!(matches!(found, Predicate::Unknown(reason) if reason.contains("cannot have x + 1;")));
}

/// Evaluates what the tests have as literals.
fn evaluated(part: &str) -> Option<ArrayRef> {
    Some(match part {
        r#"{"Literal":1}"# => Arc::new(Int64Array::from(vec![1])),
        r#"{"Literal":"o%"}"# => Arc::new(StringArray::from(vec!["o%"])),
        r#"{"Literal":null}"# => Arc::new(NullArray::new(1)),
        r#"{"Literal":[1,2]}"# => {
            Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([Some([Some(1), Some(2)])]))
        }
        _ => return None,
    })
}

fn of_polars(json: &str) -> String {
    let found = polars_predicate(json, Some(&schema()), &evaluated, || "shown".to_owned());
    found.filter(Some(&schema())).map_or_else(|error| error.to_string(), |filter| filter.to_string())
}

fn binary(left: &str, operator: &str, right: &str) -> String {
    format!(r#"{{"BinaryExpr":{{"left":{left},"op":"{operator}","right":{right}}}}}"#)
}

fn function(inputs: &[&str], function: &str) -> String {
    format!(r#"{{"Function":{{"input":[{}],"function":{function}}}}}"#, inputs.join(","))
}

#[test]
fn expressions_of_polars() {
    let (n, s, one, text) = (r#"{"Column":"n"}"#, r#"{"Column":"s"}"#, r#"{"Literal":1}"#, r#"{"Literal":"o%"}"#);
    let greater = binary(n, "Gt", one);
    assert_eq!(of_polars(&greater), "n > 1");
    assert_eq!(of_polars(&binary(one, "Gt", n)), "n < 1");
    assert_eq!(of_polars(&binary(&greater, "And", s)), "n > 1 and s = true");
    assert_eq!(of_polars(&binary(n, "Eq", r#"{"Literal":null}"#)), "n in");
    assert_eq!(of_polars(&function(&[&greater], r#"{"Boolean":"Not"}"#)), "n <= 1");
    let is_in = |nulls_equal| format!(r#"{{"Boolean":{{"IsIn":{{"nulls_equal":{nulls_equal}}}}}}}"#);
    assert_eq!(of_polars(&function(&[n, r#"{"Literal":[1,2]}"#], &is_in(false))), "n in (1, 2)");
    assert!(of_polars(&function(&[n, r#"{"Literal":[1,2]}"#], &is_in(true))).contains("the function IsIn"));
    let between = r#"{"Boolean":{"IsBetween":{"closed":"Left"}}}"#;
    assert_eq!(of_polars(&function(&[n, one, one], between)), "n >= 1 and n < 1");
    let starts = function(&[s, text], r#"{"StringExpr":"StartsWith"}"#);
    assert!(of_polars(&starts).starts_with(r#"s like "o\\%%" and s >= "o%""#));
    let nested = function(&[r#"{"Column":"r"}"#], r#"{"StructExpr":{"FieldByName":"k"}}"#);
    assert_eq!(of_polars(&binary(&nested, "Eq", one)), "r.k = 1");
    for (json, message) in [
        (binary(n, "Plus", one), "the operator Plus"),
        (binary(n, "Eq", n), "other than that of a column with a literal"),
        (function(&[n], r#"{"Boolean":"IsDuplicated"}"#), "the function IsDuplicated"),
        (function(&[s, text], r#"{"StringExpr":"Split"}"#), "the function Split"),
        (binary(n, "Eq", r#"{"Literal":2}"#), "cannot have shown;"),
        (r#"{"Window":{}}"#.to_owned(), "cannot have Window;"),
        ("no JSON".to_owned(), "cannot have shown;"),
    ] {
        assert!(of_polars(&json).contains(message), "{json}: {}", of_polars(&json));
    }
}
