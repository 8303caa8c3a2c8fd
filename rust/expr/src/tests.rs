//! Values, types and errors of expressions, and bounds of the parser. Many cases are those in which an engine on
//! pyarrow's kernels gave other answers.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, Date32Array, Decimal128Array, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray, StructArray, TimestampMillisecondArray,
};
use arrow_schema::{DataType, Field};

use crate::parse::parse;
use crate::text::{ExpressionText, Grammar};
use crate::tree::Node;
use crate::{Batches, Expression, Sides};

fn rows() -> RecordBatch {
    let decimals = Decimal128Array::from(vec![Some(125), None, Some(9_999_999_999)]).with_precision_and_scale(10, 2);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new(Int32Array::from(vec![Some(1), None, Some(i32::MIN)]))),
        ("l", Arc::new(Int64Array::from(vec![Some(2), None, Some(i64::MAX)]))),
        ("f", Arc::new(Float32Array::from(vec![Some(0.1), None, Some(f32::NAN)]))),
        ("x", Arc::new(Float64Array::from(vec![Some(-0.0), None, Some(f64::NAN)]))),
        ("d", Arc::new(decimals.unwrap())),
        ("s", Arc::new(StringArray::from(vec![Some("Ab"), None, Some("1.5")]))),
        ("day", Arc::new(Date32Array::from(vec![Some(-1), None, Some(19_753)]))),
        ("m", Arc::new(TimestampMillisecondArray::from(vec![Some(0), None, Some(-1)]).with_timezone("UTC"))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn sides() -> Arc<Sides> {
    let aliases = [("t", "target"), ("s", "source")].map(|(alias, side)| (alias.to_owned(), side.to_owned()));
    Arc::new(Sides { schemas: vec![("row".to_owned(), rows().schema())], aliases: aliases.to_vec() })
}

fn batches() -> Batches {
    Batches::from([("row".to_owned(), rows())])
}

/// The values as strings, `null` for null; or the error.
fn computed(text: &str) -> Result<Vec<String>, String> {
    let expression = Expression::parse(text, &sides()).map_err(|error| error.text())?;
    let values = expression.evaluate(&batches()).map_err(|error| error.text())?;
    assert_eq!(values.data_type(), expression.kind(), "{text}");
    let shown = |row| match values.is_null(row) {
        true => "null".to_owned(),
        false => arrow_cast::display::array_value_to_string(&values, row).unwrap(),
    };
    Ok((0..values.len()).map(shown).collect())
}

#[test]
fn values_are_those_of_sql() {
    let cases: &[(&str, [&str; 3])] = &[
        ("x = 0.0", ["true", "null", "false"]),
        ("x = x", ["true", "null", "false"]),
        ("x <> x", ["false", "null", "true"]),
        ("x <=> NULL", ["false", "true", "false"]),
        ("f = 0.1", ["true", "null", "false"]),
        ("greatest(x, 1e0)", ["1.0", "1.0", "1.0"]),
        ("least(i, l)", ["1", "null", "-2147483648"]),
        ("ceil(d)", ["2", "null", "100000000"]),
        ("CAST(i AS DECIMAL(12, 1))", ["1.0", "null", "-2147483648.0"]),
        ("CAST(d AS DECIMAL(10, 1))", ["1.3", "null", "100000000.0"]),
        ("round(0.1)", ["0.0", "0.0", "0.0"]),
        ("d * 1.10", ["1.3750", "null", "109999999.9890"]),
        ("i % 2 IS NULL", ["false", "true", "false"]),
        ("s || '!' IN ('Ab!', NULL)", ["true", "null", "null"]),
        ("substring(s, -2, 1)", ["A", "null", "."]),
        ("s LIKE '%.5' OR s IS NULL", ["false", "true", "true"]),
        ("m = '1970-01-01'", ["true", "null", "false"]),
        ("CAST(m AS STRING)", ["1970-01-01 00:00:00.000Z", "null", "1969-12-31 23:59:59.999Z"]),
        ("CAST(m AS DATE) = day", ["false", "null", "false"]),
        ("year(day)", ["1969", "null", "2024"]),
        ("day + INTERVAL '1' DAY = DATE '1970-01-01'", ["true", "null", "false"]),
        ("CASE i WHEN 1 THEN 10 / (l - 1) ELSE 0 END", ["10.0", "0.0", "0.0"]),
        ("i <> 1 AND 1 / (i - 1) < 0 OR i = 1", ["true", "null", "true"]),
        ("CAST(1e21 AS STRING)", ["1e+21", "1e+21", "1e+21"]),
        ("if(i > 0, NULL, day) IS NULL", ["true", "true", "false"]),
        ("5--3", ["8", "8", "8"]),
        ("i BETWEEN 0 AND abs(i)", ["true", "null", "false"]),
    ];
    for (text, expected) in cases {
        assert_eq!(computed(text).as_ref().map(Vec::as_slice), Ok(&expected.map(str::to_owned)[..]), "{text}");
    }
}

#[test]
fn what_is_not_defined_is_an_error() {
    for (text, message) in [
        ("-i", "overflow"),
        ("abs(i)", "overflow"),
        ("l + 1", "overflow"),
        ("l % 0", "divide by zero"),
        ("l / 2", "double does not hold 9223372036854775807 exactly"),
        ("i / 0", "divide by zero"),
        ("round(d, -1)", "overflow"),
        ("CAST(d AS DECIMAL(5, 1))", "overflow"),
        ("CAST(l AS INT)", "9223372036854775807"),
        ("CAST(x AS INT)", "NaN"),
        ("CAST(s AS DOUBLE)", "Failed to parse string: 'Ab'"),
        ("CAST('2024-02-30' AS DATE)", "Failed to parse string"),
        ("CAST('2024-01-01 25:00:00' AS TIMESTAMP)", "Failed to parse string"),
        ("9".repeat(39).as_str(), "more than 38 digits"),
        ("99999999999999999999999999999999999999 + 1", "more than 38 digits"),
        ("s = 1", "string and int64 have no type in common"),
        ("s.y = 1", "no field 'y'"),
        ("hour(day)", "takes timestamps"),
        ("x'0'", "which is not one"),
        ("a.", "has a point where no name follows"),
    ] {
        let error = computed(text).unwrap_err();
        assert!(error.contains(message), "{text}: {error}");
    }
}

#[test]
fn deep_and_long_expressions_are_refused_or_computed_on_a_small_stack() {
    let parsed = |text: String, grammar| parse(&ExpressionText::new(&text, grammar)).map_err(|error| error.text());
    for (text, message) in [
        (format!("{}i{}", "(".repeat(300), ")".repeat(300)), "more than 200 levels"),
        (format!("{}true", "NOT ".repeat(300)), "more than 200 levels"),
        (vec!["i"; 2_000].join(" + "), "is too long"),
        (format!("{}i{}", "abs(".repeat(300), ")".repeat(300)), "more than 200 levels"),
        (format!("{}i", "-(".repeat(100_000)), "more than 200 levels"),
        (format!("{}1{}", "CASE i WHEN ".repeat(300), " THEN 1 END".repeat(300)), "more than 200 levels"),
    ] {
        assert!(parsed(text, Grammar::Expression).unwrap_err().contains(message));
    }
    let many = vec!["i = 1"; 50_000].join(" OR ");
    let Ok(Node::Call(chain)) = parsed(many, Grammar::Filter) else { panic!("a chain of conditions is one node") };
    assert_eq!(chain.arguments.len(), 50_000);
    assert_eq!(computed(&vec!["i"; 450].join(" + ")).map_err(|error| error.contains("overflow")), Err(true));
    assert_eq!(computed(&format!("{}l{}", "(0 + ".repeat(190), ")".repeat(190))).unwrap()[0], "2");
}

#[test]
fn values_are_assigned_exactly_or_refused() {
    let assigned = |text: &str, kind: DataType| {
        let expression = Expression::parse(text, &sides()).map_err(|error| error.text())?;
        let found =
            expression.assigned(&batches(), &Field::new("c", kind.clone(), true)).map_err(|error| error.text())?;
        assert_eq!((found.data_type(), found.len()), (&kind, 3), "{text}");
        Ok::<_, String>(found)
    };
    let seconds = DataType::Timestamp(arrow_schema::TimeUnit::Second, None);
    for (text, kind) in [
        ("i + 0", DataType::Int32),
        ("NULL", DataType::Binary),
        ("0.1", DataType::Float32),
        ("'2024-01-31'", DataType::Date32),
        ("'2024-01-31 10:00:00'", seconds.clone()),
        ("1.50", DataType::Decimal128(3, 1)),
    ] {
        assigned(text, kind).unwrap();
    }
    for (text, kind) in [
        ("l", DataType::Int32),
        ("1.5", DataType::Int64),
        ("0.1e0", DataType::Float32),
        ("16777217", DataType::Float32),
        ("x", DataType::Decimal128(10, 2)),
        ("'2024-01-31 10:00:00'", DataType::Date32),
        ("'2024-01-31 10:00:00Z'", seconds.clone()),
        ("m", seconds),
        ("1.55", DataType::Decimal128(3, 1)),
        ("1", DataType::Utf8),
    ] {
        let error = assigned(text, kind).unwrap_err();
        assert!(error.contains("column 'c' is"), "{text}: {error}");
    }
}

#[test]
fn terms_are_pushed_that_readers_compare_alike() {
    let pushed = |text: &str| {
        let terms = Expression::parse(text, &sides()).unwrap().pushed_terms("row");
        terms.into_iter().map(|term| format!("{} {}", term.column(), term.operator().text())).collect::<Vec<_>>()
    };
    assert_eq!(pushed("3 > i AND i BETWEEN 0 AND 1 AND s IN ('x')"), ["i <", "i >=", "i <=", "s in"]);
    assert_eq!(pushed("i = 2147483648 OR i = 1"), Vec::<String>::new());
    assert_eq!(pushed("i < 2147483648 AND d = 1 AND f = 1 AND day = '2024-01-01'"), Vec::<String>::new());
    assert_eq!(pushed("x = 9007199254740992"), ["x ="]);
}

#[test]
fn an_equality_of_two_sides_is_a_key() {
    let schema = rows().schema();
    let schemas = vec![("target".to_owned(), Arc::clone(&schema)), ("source".to_owned(), schema)];
    let sides = Arc::new(Sides { schemas, aliases: sides().aliases.clone() });
    let condition = Expression::parse("S.i + 1 = t.l AND t.x = s.x AND t.s < s.s", &sides).unwrap();
    let keys: Vec<_> =
        condition.conjuncts().unwrap().iter().map(|part| part.equality("target", "source").unwrap()).collect();
    let (target, source) = keys[0].as_ref().unwrap();
    assert_eq!((target.plain_column(), source.plain_column()), (Some(("target", "l")), None));
    assert!(keys[2].is_none());
    let (target, source) = keys[1].as_ref().unwrap();
    let values = target.key_values(&Batches::from([("target".to_owned(), rows())]), source).unwrap();
    // There is one zero in keys.
    assert_eq!(values.as_primitive::<arrow_array::types::Float64Type>().value(0).to_bits(), 0);
    assert!(Expression::parse("i = 1", &sides).unwrap_err().text().contains("write t.i or s.i"));
}

#[test]
fn a_struct_is_assigned_by_the_names_of_its_fields() {
    let field = |name: &str, kind| Field::new(name, kind, true);
    let values: ArrayRef = Arc::new(StructArray::from(vec![
        (Arc::new(field("k", DataType::Int32)), Arc::new(Int32Array::from(vec![1])) as ArrayRef),
        (Arc::new(field("w", DataType::Utf8)), Arc::new(StringArray::from(vec!["x"])) as ArrayRef),
    ]));
    let constant = Expression::constant(values, "a struct").unwrap();
    let rows = Batches::from([("row".to_owned(), rows())]);
    let assigned = |fields: Vec<Field>| constant.assigned(&rows, &field("c", DataType::Struct(fields.into())));
    let (w, k, new) = (field("w", DataType::Utf8), field("k", DataType::Int64), field("new", DataType::Date32));
    let found = assigned(vec![w.clone(), k.clone(), new]).unwrap();
    assert_eq!(found.as_struct().column_by_name("k").unwrap().as_primitive::<Int64Type>().values(), &[1, 1, 1]);
    assert_eq!(found.as_struct().column_by_name("new").unwrap().null_count(), 3);
    assert!(assigned(vec![w]).unwrap_err().text().contains("does not hold a value exactly"));
    let required = Field::new("new", DataType::Int64, false);
    assert!(assigned(vec![field("w", DataType::Utf8), k, required]).is_err());
}

#[test]
fn a_long_list_is_what_its_comparisons_are() {
    let long = |items: &str| computed(&format!("{items}, 11, 12, 13, 14, 15, 16, 17, 18, 19)")).unwrap();
    assert_eq!(long("i IN (1"), ["true", "null", "false"]);
    assert_eq!(long("l IN (2"), ["true", "null", "false"]);
    assert_eq!(long("d IN (1.25"), ["true", "null", "false"]);
    assert_eq!(long("x IN (0.0"), ["true", "null", "false"]);
    assert_eq!(long("f IN (0.1"), ["true", "null", "false"]);
    assert_eq!(long("i IN (1, NULL"), ["true", "null", "null"]);
    assert_eq!(long("i IN (l - 1"), ["true", "null", "false"]);
    assert_eq!(long("i NOT IN (1"), ["false", "null", "true"]);
    let names: Vec<String> = (0..20).map(|number| format!("'n{number}'")).collect();
    assert_eq!(computed(&format!("s IN ({}, 'Ab')", names.join(", "))).unwrap(), ["true", "null", "false"]);
    let days = (10..20).map(|day| format!("'2024-01-{day}'")).collect::<Vec<_>>().join(", ");
    assert_eq!(computed(&format!("day IN ({days}, '1969-12-31')")).unwrap(), ["true", "null", "false"]);
}
